"""Identity belongs to one worktree: what one without a name, and the second one of a name, are told at each door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers import Repo

from git_coord.hooks.install import install

from .conftest import Pair, assert_allowed, assert_blocked, open_here
from .test_install import stage
from .test_which_paths import commit

NOBODY = "  (no agent is set up in this worktree, so here every claim is somebody else's)\n"


@pytest.fixture
def alpha(pair: Pair) -> Repo:
    """Return the clone of alpha, who holds `a.txt`, as git's own commands see it."""
    return pair.alpha.with_env(GIT_COORD_AGENT="")


def noted(repo: Repo) -> list[str]:
    """Return for which agents the hooks noted commits, the oldest first."""
    folder = Path(repo.git("rev-parse", "--path-format=absolute", "--git-common-dir")) / "coord"
    return [line.split()[-1] for line in (folder / "commits").read_text().splitlines()]


def test_a_worktree_without_init_is_nobody_at_every_door(pair: Pair, alpha: Repo) -> None:
    tree = alpha.worktree("W")
    assert tree.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"
    assert tree.coord_json("claim", "x", code=1)["next"] == "git coord init"
    assert tree.coord_json("release", "--all", code=1)["next"] == "git coord init"
    assert tree.coord_json("rejoin", code=1)["next"] == "git coord init"
    assert tree.coord("preflight", "a.txt").out.count("git coord init\n") == 1
    tree.write("a.txt", "theirs\n")
    done = commit(tree, "-am", "x")
    assert_blocked(done, "a.txt")
    assert NOBODY in done.err
    assert "next    git coord init\n" in done.err
    assert_blocked(commit(tree, "-am", "x", "--amend"), "a.txt")
    assert commit(tree, "-qnam", "past the hook").code == 0
    tree.commit("free", **{"free.txt": "1\n"})
    assert noted(tree)[-2:] == ["-", "-"]
    refused = tree.run("git", "push", "-q", "origin", "W")
    assert (refused.code, NOBODY in refused.err, "next    git coord init\n" in refused.err) == (1, True, True)
    assert tree.coord_json("verify", "HEAD~2..HEAD", code=3)["violations"][0]["holder"] == "alpha"
    tree.git("commit", "-q", "--amend", "-m", "reworded")
    assert noted(tree)[-2:] == ["-", "-"]  # one of post-commit, one of post-rewrite


def test_a_name_that_git_copied_into_a_new_worktree_is_not_its_own(alpha: Repo) -> None:
    tree = alpha.worktree("W")
    tree.coord_json("init", "--agent", "gamma")
    tree.coord_json("claim", "b.txt")
    tree.git("worktree", "add", "-q", "-b", "V", "../V")
    copy = Repo(alpha.path.parent / "V", alpha.env)
    # What git from 2.36 does: with any version it is so here.
    (copy.path / copy.git("rev-parse", "--git-path", "config.worktree")).write_bytes(
        (tree.path / tree.git("rev-parse", "--git-path", "config.worktree")).read_bytes()
    )
    assert copy.git("config", "coord.agent") == "gamma"
    assert copy.coord_json("check", "b.txt", code=3)["resources"][0]["holder"] == "gamma"
    assert copy.coord_json("whoami", code=1)["next"] == "git coord init"
    copy.write("b.txt", "theirs\n")
    assert_blocked(commit(copy, "-am", "x"), "b.txt", holder="gamma")
    assert commit(copy, "-qnam", "x").code == 0
    assert noted(copy)[-1] == "-"
    assert copy.coord_json("init", "--agent", "delta")["agent"] == "delta"
    assert (tree.coord_json("whoami")["agent"], alpha.coord_json("whoami")["agent"]) == ("gamma", "alpha")
    # A name set by hand counts, whatever the copied file says of another one.
    copy.git("config", "--worktree", "coord.agent", "gamma")
    assert copy.coord_json("whoami")["agent"] == "gamma"


def test_a_copied_name_that_nobody_bound_is_refused_because_it_is_at_work_elsewhere(alpha: Repo) -> None:
    alpha.git("config", "extensions.worktreeConfig", "true")
    alpha.git("config", "--worktree", "coord.agent", "alpha")
    tree = alpha.worktree("W")
    tree.git("config", "--worktree", "coord.agent", "alpha")
    assert tree.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"
    tree.write("a.txt", "theirs\n")
    assert_blocked(commit(tree, "-am", "x"), "a.txt")


@pytest.mark.parametrize("how", ["main", "linked", "subfolder"])
def test_the_worktree_that_has_the_name_commits_without_a_word(pair: Pair, alpha: Repo, how: str) -> None:
    holder, held = alpha, "a.txt"
    if how == "linked":
        holder, held = alpha.worktree("W"), "b.txt"
        holder.coord_json("init", "--agent", "gamma")
        holder.coord_json("claim", held)
    holder.write(held, "mine\n")
    inside = Repo(holder.path / "src", holder.env) if how == "subfolder" else holder
    assert_allowed(inside.run("git", "commit", "-qam", "mine"))
    assert noted(holder)[-1] == ("gamma" if how == "linked" else "alpha")


def test_the_second_worktree_of_one_name_is_told_at_every_door(pair: Pair, alpha: Repo) -> None:
    tree = alpha.worktree("W").with_env(GIT_COORD_AGENT="alpha")
    where, step = f"alpha is at work in another worktree, {alpha.path}", "unset GIT_COORD_AGENT && git coord init"
    for line in (["claim", "x"], ["release", "--all"], ["rejoin"], ["presence", "set", "busy"], ["post", "hello"]):
        answer = tree.coord_json(*line, code=4)
        assert (answer["message"].partition(", seen")[0], answer["next"]) == (where, step), line
    checked = tree.coord("check", "a.txt")
    assert (checked.code, where in checked.err, step in checked.err) == (3, True, True)
    stage(tree, "a.txt")
    done = commit(tree, "-m", "x")
    assert_blocked(done, "a.txt")
    assert (where in done.err, f"next    {step}\n" in done.err) == (True, True)
    assert commit(tree, "-qnm", "x").code == 0
    assert noted(tree)[-1] == "-"
    tree.git("reset", "-q", "--hard", "HEAD^")
    stage(tree, "free.txt")
    free = commit(tree, "-m", "free")
    assert (free.code, where in free.err, noted(tree)[-1]) == (0, True, "-")
    pushed = tree.run("git", "push", "-q", "origin", "W")
    assert (pushed.code, where in pushed.err) == (0, True)
    # What is printed works when it is typed, and harms nobody.
    made = tree.run("sh", "-c", f"{step} --json")
    assert json.loads(made.out)["agent"] not in ("alpha", "beta")
    assert alpha.coord_json("check", "a.txt")["resources"][0]["status"] == "mine"
    assert alpha.coord_json("claim", "y")["agent"] == "alpha"


def test_the_sessions_are_told_apart_before_the_hooks_have_seen_a_picture(pair: Pair, alpha: Repo) -> None:
    tree = alpha.worktree("W").with_env(GIT_COORD_AGENT="alpha")
    (alpha.path / ".git/coord/sessions").unlink(missing_ok=True)
    (alpha.path / ".git/coord/claims.snap").unlink(missing_ok=True)
    stage(tree, "a.txt")
    assert_blocked(commit(tree, "-m", "x"), "a.txt")


def test_a_shim_of_before_that_tells_no_scopes_asks_again(alpha: Repo) -> None:
    tree = alpha.worktree("W")
    hook = alpha.path / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text().replace("--show-scope ", "").replace("agentworktree|", ""))
    stage(tree, "a.txt")
    assert_blocked(commit(tree, "-m", "x"), "a.txt")
    alpha.write("a.txt", "mine\n")
    assert_allowed(commit(alpha, "-qam", "mine"))


def test_sibling_worktrees_of_a_bare_repository_are_told_apart(pair: Pair, alpha: Repo) -> None:
    bare = Repo(alpha.path.parent / "P", alpha.env)
    alpha.git("clone", "-q", "--bare", str(alpha.path.parent / "hub.git"), str(bare.path))
    bare.git("worktree", "add", "-q", "one", "main")
    one = Repo(bare.path / "one", bare.env)
    one.coord_json("init", "--agent", "gamma")
    install(open_here(one))
    one.coord_json("claim", "b.txt")
    one.git("worktree", "add", "-q", "-b", "two", "../two")
    two = Repo(bare.path / "two", bare.env)
    assert two.coord_json("check", "b.txt", code=3)["resources"][0]["holder"] == "gamma"
    two.write("b.txt", "theirs\n")
    assert_blocked(commit(two, "-am", "x"), "b.txt", holder="gamma")
    assert two.coord_json("init", "--agent", "delta")["agent"] == "delta"
    one.write("b.txt", "mine\n")
    assert_allowed(commit(one, "-qam", "mine"))
