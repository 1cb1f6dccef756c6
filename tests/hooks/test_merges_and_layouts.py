"""Merges, linked worktrees, submodules and odd set-ups of a repository, by real commits."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from tests.helpers import Repo

from git_coord.hooks.install import install, status

from .conftest import Pair, assert_allowed, assert_blocked, open_here
from .test_which_paths import commit


def branch_with(repo: Repo, name: str, **files: str) -> None:
    """Commit files on a new branch past the hooks, and return to main."""
    repo.git("checkout", "-q", "-b", name)
    for path, text in files.items():
        repo.write(path.replace("_", "."), text)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-n", "-m", name)
    repo.git("checkout", "-q", "main")


def test_what_a_merge_brings_in_as_it_was_is_no_change_of_the_merger(pair: Pair) -> None:
    branch_with(pair.beta, "other", a_txt="by its holder\n")
    pair.beta.write("b.txt", "here\n")
    pair.beta.git("commit", "-qam", "here")
    assert_allowed(pair.beta.run("git", "merge", "-q", "--no-edit", "other"))


def test_a_merge_that_makes_a_new_version_of_a_claimed_file_is_refused(pair: Pair) -> None:
    beta = pair.beta
    branch_with(beta, "one", a_txt="one\n")
    branch_with(beta, "two", a_txt="two\n")
    beta.git("merge", "-q", "one")
    assert beta.run("git", "merge", "-q", "two").code == 1
    beta.write("a.txt", "both\n")
    beta.git("add", "a.txt")
    done = commit(beta, "-m", "merged")
    assert_blocked(done, "a.txt")
    ask = "next    git coord post --to alpha 'need a.txt'      "
    assert f"{ask}(once it is yours: git merge --continue; to give up: git merge --abort)" in done.err.splitlines()
    assert beta.run("git", "merge", "--abort").code == 0


@pytest.mark.parametrize("extra", ["", "smuggled\n"])
def test_a_clean_merge_is_nobodys_new_work_unless_something_is_added(pair: Pair, extra: str) -> None:
    beta = pair.beta
    lines = [f"{n}\n" for n in range(20)]
    beta.write("a.txt", "".join(lines))
    beta.git("commit", "-q", "-n", "-am", "long")
    branch_with(beta, "one", a_txt="".join(["first\n", *lines[1:]]))
    branch_with(beta, "two", a_txt="".join([*lines[:-1], "last\n"]))
    beta.git("merge", "-q", "one")
    beta.git("merge", "-q", "--no-commit", "two")
    beta.write("a.txt", (beta.path / "a.txt").read_text() + extra)
    done = commit(beta, "-a", "-m", "merged")
    (assert_blocked(done, "a.txt") if extra else assert_allowed(done))
    beta.git("reset", "-q", "--hard", "HEAD^2" if not extra else "HEAD")
    assert_allowed(beta.run("git", "merge", "-q", "--no-edit", "one" if not extra else "two"))


def test_an_octopus_is_judged_against_every_parent(pair: Pair) -> None:
    branch_with(pair.beta, "one", a_txt="one\n")
    branch_with(pair.beta, "two", b_txt="two\n")
    pair.beta.write("c.txt", "here\n")
    pair.beta.git("add", "c.txt")
    pair.beta.git("commit", "-qm", "here")
    assert_allowed(pair.beta.run("git", "merge", "-q", "--no-edit", "one", "two"))


def test_a_squashed_merge_is_a_change_like_any_other(pair: Pair) -> None:
    branch_with(pair.beta, "other", a_txt="by its holder\n")
    pair.beta.git("merge", "-q", "--squash", "other")
    assert_blocked(commit(pair.beta, "-m", "squashed"), "a.txt")


def test_commits_that_git_makes_without_asking_pass_here_and_are_left_to_push_and_ci(pair: Pair) -> None:
    beta = pair.beta
    branch_with(beta, "other", a_txt="x\n")
    assert beta.run("git", "cherry-pick", "other").code == 0
    assert beta.run("git", "revert", "--no-edit", "HEAD").code == 0
    beta.write("b.txt", "x\n")
    beta.git("commit", "-qam", "b")
    assert beta.run("git", "rebase", "-q", "--force-rebase", "HEAD~2").code == 0
    recorded = (beta.path / ".git/coord/commits").read_text().splitlines()
    assert [line.split()[0] for line in recorded].count("rewrite") >= 1


def test_an_amend_in_the_middle_of_a_rebase_is_judged(pair: Pair) -> None:
    beta = pair.beta
    branch_with(beta, "other", a_txt="x\n")
    beta.git("checkout", "-q", "other")
    editor = beta.with_env(GIT_SEQUENCE_EDITOR="sed -i 1s/pick/edit/")
    assert editor.run("git", "rebase", "-q", "-i", "HEAD~1").code == 0
    assert_blocked(commit(beta, "--amend", "-m", "edited"), "a.txt")


def test_rewording_another_agents_change_in_a_rebase_is_refused_because_git_asks(pair: Pair) -> None:
    branch_with(pair.beta, "other", a_txt="x\n")
    pair.beta.git("checkout", "-q", "other")
    editor = pair.beta.with_env(GIT_SEQUENCE_EDITOR="sed -i 1s/pick/reword/", GIT_EDITOR="true")
    done = editor.run("git", "rebase", "-q", "-i", "HEAD~1")
    assert done.err.startswith("git coord: commit refused, 1 of 1 paths is claimed\n  a.txt   alpha #1")
    assert done.code == 1


@pytest.mark.parametrize("where", ["top", "below"])
def test_a_linked_worktree_is_judged_with_its_own_index_and_name(pair: Pair, where: str) -> None:
    tree = pair.alpha.worktree("W", agent="gamma")
    index = pair.alpha.path / ".git/worktrees/W/index"
    tree.write("a.txt", "mine\n")
    tree.write("src/y.py", "mine\n")
    tree.git("add", ".")
    start = tree if where == "top" else replace(tree, path=tree.path / "src")
    assert_blocked(commit(start, "-m", "x"), "a.txt")
    before = hashlib.sha256(index.read_bytes()).hexdigest()  # git itself refreshes it the first time
    assert_blocked(commit(start, "-m", "x"), "a.txt")
    assert hashlib.sha256(index.read_bytes()).hexdigest() == before
    assert tree.git("status", "--porcelain") == "M  a.txt\nA  src/y.py"
    assert tree.run("git", "fsck", "--connectivity-only").code == 0
    tree.git("restore", "--staged", "--worktree", "a.txt")
    assert_allowed(commit(tree, "-m", "x"))


def test_the_holder_may_commit_in_its_worktree_while_the_main_one_may_not(pair: Pair) -> None:
    tree = pair.alpha.worktree("W", agent="alpha")
    pair.alpha.git("config", "coord.agent", "beta")
    tree.coord_json("rejoin", "--force")
    tree.write("a.txt", "mine\n")
    assert_allowed(commit(tree, "-am", "x"))
    pair.alpha.write("a.txt", "mine too\n")
    assert_blocked(commit(pair.alpha, "-am", "x"), "a.txt")


def test_a_bare_repository_with_worktrees_is_guarded(pair: Pair) -> None:
    bare = replace(pair.alpha, path=pair.alpha.path.parent / "P")
    pair.alpha.git("clone", "-q", "--bare", str(pair.alpha.path.parent / "hub.git"), str(bare.path))
    bare.git("worktree", "add", "-q", "main", "main")
    main = replace(bare, path=bare.path / "main")
    main.git("config", "user.name", "x")
    # A bare clone has its branches where others have remote ones; the ledger comes by the remote all the same.
    assert main.coord("init", "--agent", "gamma").code == 0
    assert install(open_here(main)).folders == (str(bare.path / "hooks"),)
    main.write("a.txt", "mine\n")
    assert_blocked(commit(main, "-am", "x"), "a.txt")
    assert {hook.is_firing for hook in status(open_here(main))} == {True}


def test_a_submodule_has_claims_and_hooks_of_its_own(pair: Pair) -> None:
    pair.alpha.git("submodule", "--quiet", "add", str(pair.alpha.path.parent / "hub.git"), "lib")
    assert commit(pair.alpha, "-m", "lib").code == 0
    lib = replace(pair.alpha, path=pair.alpha.path / "lib")
    assert lib.coord("init", "--agent", "delta").code == 0
    folder = str(pair.alpha.path / ".git/modules/lib/hooks")
    assert install(open_here(lib)).folders == (folder,)
    lib.write("a.txt", "mine\n")
    assert_blocked(commit(lib, "-am", "x"), "a.txt")


@pytest.mark.parametrize("hidden", [False, True])
def test_moving_a_claimed_submodule_counts_even_when_the_super_project_ignores_it(pair: Pair, hidden: bool) -> None:
    beta = pair.beta
    beta.git("submodule", "--quiet", "add", str(beta.path.parent / "hub.git"), "lib")
    assert commit(beta, "-m", "lib").code == 0
    if hidden:
        beta.git("config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
        beta.git("config", "diff.ignoreSubmodules", "all")
        beta.git("add", ".gitmodules")
        assert commit(beta, "-m", "ignore it").code == 0
    pair.claim("lib")
    lib = replace(beta, path=beta.path / "lib")
    lib.git("commit", "-q", "--allow-empty", "-m", "moved")
    beta.git("add", "-f", "lib") if not hidden else beta.git("update-index", "lib")
    assert_blocked(commit(beta, "-m", "x"), "lib")


def test_a_foreign_git_dir_in_the_environment_does_not_lead_astray(pair: Pair) -> None:
    pair.beta.write("a.txt", "mine\n")
    pair.beta.git("add", "a.txt")
    told = pair.beta.with_env(GIT_DIR=str(pair.beta.path / ".git"), GIT_WORK_TREE=str(pair.beta.path))
    below = replace(told, path=told.path / "src")
    assert_blocked(commit(below, "-m", "x"), "a.txt")


def test_an_index_lock_left_behind_is_gits_own_error_and_no_verdict(pair: Pair) -> None:
    pair.beta.write("b.txt", "x\n")
    pair.beta.write(".git/index.lock", "")
    done = commit(pair.beta, "-am", "x")
    assert done.code == 128
    assert "git coord" not in done.err
    (pair.beta.path / ".git/index.lock").unlink()
    assert_allowed(commit(pair.beta, "-am", "x"))
