"""The life of pull requests: work made under a claim, taken elsewhere by git, its author or the host, and smuggling."""

from __future__ import annotations

import shutil
import sys

import pytest
from tests.helpers import Repo
from tests.verify.stage import Stage, kinds, push, succeed

GIT = shutil.which("git")
LINES = "".join(f"{n}\n" for n in range(1, 21))


def edited(*numbers: int, by: str = "x", text: str = LINES) -> str:
    """Return the lines with some of them changed."""
    rows = text.splitlines()
    return "".join(f"{by} {row}\n" if n + 1 in numbers else f"{row}\n" for n, row in enumerate(rows))


@pytest.fixture
def desk(stage: Stage) -> Stage:
    """Return the stage with twenty lines in `a.txt` on main, which alpha holds, and beta on a branch of its own."""
    stage.alpha.commit("lines", **{"a.txt": LINES})
    stage.alpha.git("push", "-q", "origin", "main")
    stage.beta.git("pull", "-q")
    return stage


def worked(stage: Stage, *edits: str) -> list[str]:
    """Let alpha commit each text of `a.txt` on `topic`, push it, and hand the file to beta; returns the commits."""
    stage.alpha.git("checkout", "-q", "-b", "topic")
    made = [stage.alpha.commit(f"work {n}", **{"a.txt": text}) for n, text in enumerate(edits)]
    stage.alpha.git("push", "-q", "origin", "topic")
    hand_over(stage)
    return made


def hand_over(stage: Stage) -> None:
    """Let beta have the file from now on, and alpha know."""
    succeed(stage.alpha, "release", "a.txt", "--to", "beta", "--no-landed")
    succeed(stage.beta, "sync")
    succeed(stage.alpha, "sync")


def main_moves(stage: Stage, text: str) -> None:
    """Let beta, who holds the file now, change it on main."""
    stage.beta.commit("main moves", **{"a.txt": text})
    stage.beta.git("push", "-q", "origin", "main")


def host(stage: Stage, branch: str = "main") -> Repo:
    """Return a clone without hooks and without a name, as a host works."""
    clone = Repo(stage.folder / "host", {k: v for k, v in stage.hub.env.items() if k != "GIT_COORD_AGENT"})
    stage.hub.git("clone", "-q", "-b", branch, stage.url, str(clone.path))
    return clone


def verified(
    stage: Stage, asked: str = "", *options: str, code: int = 0, branch: str = "main"
) -> list[tuple[str, str, str | None]]:
    """Return what CI finds in a fresh clone."""
    ci = stage.checkout(f"ci-{len(list(stage.folder.iterdir()))}", f"--branch={branch}", *options)
    return kinds(ci.coord_json("verify", *([asked] if asked else []), code=code))


def found(stage: Stage, commit: str, kind: str = "no-receipt", **asked: str) -> bool:
    """Tell whether CI finds just this commit."""
    return verified(stage, code=3, **asked) == [(commit, "a.txt", kind)]  # type: ignore[arg-type]


def test_a_squash_by_the_host_onto_a_main_that_moved_in_the_file(desk: Stage) -> None:
    worked(desk, edited(1), edited(1, 2))
    main_moves(desk, edited(20, by="main"))
    desk.squash("topic")
    desk.hub.git("branch", "-D", "topic")
    assert verified(desk) == []


def test_a_merge_by_the_host_of_a_main_that_moved_in_the_file(desk: Stage) -> None:
    worked(desk, edited(1))
    main_moves(desk, edited(20, by="main"))
    machine = host(desk)
    machine.git("merge", "-q", "--no-ff", "--no-edit", "origin/topic")
    push(machine, "main")
    assert verified(desk) == []


@pytest.mark.parametrize("hooks", ["hooks", "no hooks"])
def test_a_rebase_by_the_author_once_another_holds_the_file(desk: Stage, hooks: str) -> None:
    worked(desk, edited(1), edited(1, 2))
    main_moves(desk, edited(20, by="main"))
    alpha = desk.alpha
    if hooks == "no hooks":
        alpha.git("config", "core.hooksPath", "/dev/null")
    alpha.git("pull", "-q", "--rebase", "origin", "main")
    alpha.git("push", "-q", "-f", "origin", "topic")
    succeed(alpha, "sync")
    assert verified(desk, branch="topic") == []


@pytest.mark.slow(15)
def test_a_rebase_of_fifty_commits_once_another_holds_the_file(desk: Stage) -> None:
    texts = [LINES]
    for number in range(50):
        texts.append(edited(number % 18 + 1, by=f"{number}", text=texts[-1]))
    before = worked(desk, *texts[1:])
    main_moves(desk, edited(20, by="main"))
    alpha = desk.alpha
    done = alpha.run("git", "pull", "-q", "--rebase", "origin", "main")
    assert (done.code, "refused" in done.err) == (0, False)
    after = alpha.git("rev-list", "--reverse", "origin/main..topic").splitlines()
    assert (len(after), set(after) & set(before)) == (50, set())
    alpha.git("push", "-q", "-f", "origin", "topic")
    assert verified(desk, branch="topic") == []
    alpha.write("a.txt", edited(19, by="smuggled", text=alpha.git("show", "HEAD:a.txt") + "\n"))
    alpha.git("commit", "-qnam", "what is no part of it")
    alpha.git("push", "-q", "--no-verify", "origin", "topic")
    assert found(desk, alpha.rev("HEAD"), branch="topic")


def test_a_rebase_before_the_first_push(desk: Stage) -> None:
    alpha = desk.alpha
    alpha.git("checkout", "-q", "-b", "topic")
    alpha.commit("work", **{"a.txt": edited(1)})
    hand_over(desk)
    main_moves(desk, edited(20, by="main"))
    alpha.git("pull", "-q", "--rebase", "origin", "main")
    alpha.git("push", "-q", "origin", "topic")
    assert verified(desk, branch="topic") == []
    assert len(desk.hub.git("ls-tree", "refs/notes/coord/alpha", "contents/").splitlines()) == 2
    alpha.commit("more", **{"c.txt": "c\n"})
    alpha.git("push", "-q", "origin", "topic")
    assert verified(desk, branch="topic") == []


def test_a_commit_made_while_its_claim_was_on_its_way_is_made_under_it(desk: Stage) -> None:
    """As an automatic claim is: placed by a process beside, while its agent goes on."""
    beta = desk.beta
    beta.git("checkout", "-q", "-b", "topic")
    succeed(beta, "claim", "--offline", "b.txt")
    beta.commit("at once", **{"b.txt": LINES})
    succeed(beta, "sync")
    beta.git("push", "-q", "origin", "topic")
    succeed(beta, "release", "--all", "--no-landed")
    succeed(desk.alpha, "claim", "b.txt")
    assert verified(desk, branch="topic") == []
    beta.git("commit", "-q", "--amend", "-m", "the same again")
    beta.git("push", "-q", "-f", "origin", "topic")
    assert verified(desk, branch="topic") == []


@pytest.mark.parametrize("meanwhile", ["seen", "held"])
def test_a_claim_made_after_more_was_seen_or_held_by_another_covers_nothing_before_it(
    desk: Stage, meanwhile: str
) -> None:
    alpha, beta = desk.alpha, desk.beta
    beta.git("checkout", "-q", "-b", "topic")
    free = beta.commit("free", **{"b.txt": LINES})
    if meanwhile == "held":
        succeed(alpha, "claim", "b.txt")
        succeed(alpha, "release", "b.txt", "--no-landed")
    else:
        succeed(alpha, "claim", "task:T")
        succeed(beta, "sync")
    succeed(beta, "claim", "b.txt")
    beta.git("push", "-q", "origin", "topic")
    succeed(beta, "release", "--all", "--no-landed")
    succeed(alpha, "claim", "b.txt")
    assert verified(desk, code=3, branch="topic") == [(free, "b.txt", "held-now")]


EDITOR = """
import sys
path, verbs = sys.argv[-1], sys.argv[1].split(",")
rows = [row for row in open(path) if row.strip() and not row.startswith("#")]
open(path, "w").writelines(f"{verb} {row.partition(' ')[2]}" for verb, row in zip(verbs, rows))
"""


@pytest.mark.parametrize("verbs", ["reword,pick", "pick,squash", "pick,fixup", "edit,pick", "pick,reword"])
def test_an_interactive_rebase_of_ones_own_work(desk: Stage, verbs: str) -> None:
    worked(desk, edited(1), edited(1, 2))
    script = desk.alpha.write("../todo.py", EDITOR)
    alpha = desk.alpha.with_env(
        GIT_SEQUENCE_EDITOR=f"'{sys.executable}' '{script}' {verbs}", GIT_EDITOR="sed -i -e '1s/^/anew /'"
    )
    alpha.git("rebase", "-q", "-i", "HEAD~2")
    if verbs.startswith("edit"):
        alpha.git("commit", "-q", "--amend", "-m", "better")
        alpha.git("rebase", "--continue")
    assert alpha.git("symbolic-ref", "--short", "HEAD") == "topic"
    alpha.git("push", "-q", "-f", "origin", "topic")
    assert verified(desk, branch="topic") == []


def test_a_fixup_that_autosquashes_and_an_amend(desk: Stage) -> None:
    alpha = desk.alpha
    alpha.git("checkout", "-q", "-b", "topic")
    first = alpha.commit("work", **{"a.txt": edited(1)})
    alpha.write("a.txt", edited(1, 2))
    alpha.git("commit", "-q", "-a", f"--fixup={first}")
    hand_over(desk)
    alpha.with_env(GIT_SEQUENCE_EDITOR="true").git("rebase", "-q", "-i", "--autosquash", "main")
    alpha.git("commit", "-q", "--amend", "-m", "better words")
    alpha.git("push", "-q", "origin", "topic")
    assert (alpha.git("rev-list", "--count", "main..topic"), verified(desk, branch="topic")) == ("1", [])


def test_a_cherry_pick_and_its_copy_by_the_host(desk: Stage) -> None:
    [work] = worked(desk, edited(1))
    desk.beta.git("fetch", "-q")
    desk.beta.git("checkout", "-q", "-b", "release", "origin/main")
    desk.beta.commit("release moves", **{"a.txt": edited(20, by="release")})
    desk.beta.git("push", "-q", "origin", "release")
    machine = host(desk, "release")
    machine.git("cherry-pick", work)
    push(machine, "release")
    assert verified(desk, branch="release") == []


def test_two_agents_work_on_one_file_squashed_together(desk: Stage) -> None:
    worked(desk, edited(1))
    beta = desk.beta
    beta.git("fetch", "-q")
    beta.git("checkout", "-q", "topic")
    beta.commit("more", **{"a.txt": edited(1, 10)})
    beta.git("push", "-q", "origin", "topic")
    succeed(beta, "release", "--all", "--no-landed")
    succeed(desk.alpha, "claim", "a.txt")
    desk.alpha.git("checkout", "-q", "main")
    desk.alpha.commit("main moves", **{"a.txt": edited(20, by="main")})
    desk.alpha.git("push", "-q", "origin", "main")
    desk.squash("topic")
    assert verified(desk) == []


def test_what_was_committed_before_its_author_claimed_it_is_squashed_with_the_rest(desk: Stage) -> None:
    desk.alpha.git("checkout", "-q", "-b", "topic")
    desk.alpha.commit("free", **{"b.txt": LINES})
    desk.alpha.git("push", "-q", "origin", "topic")
    succeed(desk.alpha, "claim", "b.txt")
    desk.alpha.commit("claimed", **{"b.txt": edited(1)})
    desk.alpha.git("push", "-q", "origin", "topic")
    desk.squash("topic")
    assert verified(desk) == []


def test_a_deletion_a_creation_a_rename_and_a_mode_are_carried(desk: Stage) -> None:
    alpha = desk.alpha
    succeed(alpha, "claim", "b.txt", "src", "new.txt")
    alpha.git("checkout", "-q", "-b", "topic")
    alpha.git("rm", "-q", "b.txt")
    alpha.git("mv", "src/x.py", "src/y.py")
    (alpha.path / "a.txt").chmod(0o755)
    alpha.git("add", "a.txt")
    alpha.commit("all kinds", **{"new.txt": b"\0binary\1"})
    alpha.git("push", "-q", "origin", "topic")
    succeed(alpha, "release", "--all", "--no-landed")
    succeed(desk.beta, "claim", ".")
    main_moves(desk, edited(20, by="main"))
    desk.squash("topic")
    assert verified(desk) == []
    mode = desk.hub.git("ls-tree", "main", "a.txt").split()[0]
    assert (mode, desk.hub.git("show", "main:a.txt") + "\n") == ("100755", edited(20, by="main"))


def test_a_revert_under_a_claim_is_carried_and_one_without_is_found(desk: Stage) -> None:
    worked(desk, edited(1))
    desk.squash("topic")
    squashed = desk.hub.rev("main")
    machine = host(desk)
    machine.git("revert", "--no-edit", "HEAD")
    push(machine, "main:reverted")
    assert found(desk, machine.rev("HEAD"), branch="reverted")
    beta = desk.beta
    beta.git("fetch", "-q")
    beta.git("checkout", "-q", "-b", "undo", "origin/main")
    beta.git("revert", "--no-commit", "HEAD")
    beta.commit("undone by its holder")
    beta.git("push", "-q", "origin", "undo")
    succeed(beta, "release", "--all", "--no-landed")
    succeed(desk.alpha, "claim", "a.txt")
    desk.squash("undo")
    assert verified(desk) == []
    redone = desk.hub.git("commit-tree", f"{squashed}^{{tree}}", "-p", "main", "-m", "revert the revert")
    desk.hub.git("update-ref", "refs/heads/main", redone)
    assert found(desk, redone)


def test_criss_cross_and_octopus_merges_are_as_clean_as_git_finds_them(desk: Stage) -> None:
    worked(desk, edited(1))
    desk.beta.git("fetch", "-q")
    desk.beta.commit("main moves", **{"a.txt": edited(20, by="main")})
    desk.beta.git("push", "-q", "origin", "main")
    machine = host(desk)
    machine.git("checkout", "-q", "-b", "topic", "origin/topic")
    machine.git("merge", "-q", "--no-edit", "main")
    machine.git("checkout", "-q", "main")
    machine.git("merge", "-q", "--no-ff", "--no-edit", "origin/topic")
    machine.git("checkout", "-q", "topic")
    machine.git("merge", "-q", "--no-ff", "--no-edit", "main")
    for name in ("one", "two"):
        machine.git("checkout", "-q", "-b", name, "main")
        machine.commit(name, **{f"{name}.txt": name})
    machine.git("checkout", "-q", "-b", "octopus", "topic")
    machine.git("merge", "-q", "--no-edit", "one", "two")
    push(machine, "octopus", "topic")
    base = desk.hub.rev("main~1")
    assert verified(desk, f"{base}..HEAD", branch="octopus") == []


def smuggled(desk: Stage, how: str) -> str:
    """Put alpha's work on main by the host, with one line more than it has; returns the commit that has it."""
    machine = host(desk)
    match how:
        case "merge":
            machine.git("merge", "-q", "--no-ff", "--no-commit", "origin/topic")
        case "squash":
            machine.git("merge", "-q", "--squash", "origin/topic")
        case "rebase":
            machine.git("cherry-pick", "--no-commit", "origin/topic")
        case "chmod":
            machine.git("merge", "-q", "--squash", "origin/topic")
            machine.git("update-index", "--chmod=+x", "a.txt")
    if how != "chmod":
        text = (machine.path / "a.txt").read_text()
        machine.write("a.txt", edited(10, by="smuggled", text=text))
        machine.git("add", "a.txt")
    commit = machine.commit(how)
    push(machine, "main")
    return commit


@pytest.mark.parametrize("how", ["merge", "squash", "rebase", "chmod"])
def test_a_line_smuggled_in_is_found(desk: Stage, how: str) -> None:
    worked(desk, edited(1))
    main_moves(desk, edited(20, by="main"))
    assert found(desk, smuggled(desk, how))


@pytest.mark.parametrize("how", ["strategy", "checkout", "conflict"])
def test_a_merge_that_drops_the_holders_work_is_found(desk: Stage, how: str) -> None:
    """What it has at the path is what one parent has, and not what git would have made of both."""
    worked(desk, edited(1))
    main_moves(desk, edited(1 if how == "conflict" else 20, by="main"))
    machine = host(desk, "topic")
    if how == "strategy":
        machine.git("merge", "-q", "-s", "ours", "--no-edit", "origin/main")
    else:
        machine.run("git", "merge", "--no-commit", "origin/main")
        machine.git("checkout", "origin/topic", "--", "a.txt")
        machine.commit("merged")
    bad = machine.rev("HEAD")
    push(machine, "topic")
    assert found(desk, bad, branch="topic")


def test_a_merge_that_restores_what_was_there_before_the_holder_is_refused_and_found(desk: Stage) -> None:
    """Alpha never changed the file, and its hooks say so."""
    hand_over(desk)
    alpha = desk.alpha
    alpha.git("checkout", "-q", "-b", "topic")
    alpha.commit("other", **{"other.txt": "x"})
    main_moves(desk, edited(20))
    alpha.git("fetch", "-q")
    merge = ("git", "merge", "-q", "-s", "ours", "--no-edit", "origin/main")
    refused = alpha.run(*merge)
    assert (refused.code, "commit refused, 1 of 1 paths is claimed\n  a.txt   beta" in refused.err) == (1, True)
    assert "to give up: git merge --abort)" in refused.err
    alpha.git("merge", "--abort")
    alpha.git("merge", "--no-commit", "origin/main")
    alpha.git("checkout", "HEAD", "--", "a.txt")
    assert alpha.run("git", "commit", "-q", "-m", "merged").code == 1
    alpha.git("merge", "--abort")
    alpha.run(*merge, "--no-verify", check=True)
    refused = alpha.run("git", "push", "-q", "origin", "topic")
    assert (refused.code, "a.txt   held by beta" in refused.err) == (1, True)
    push(alpha, "topic")
    assert found(desk, alpha.rev("HEAD"), branch="topic")


def test_ones_own_work_may_be_given_up_for_what_the_holder_made(desk: Stage) -> None:
    worked(desk, edited(1))
    main_moves(desk, edited(1, by="main"))
    alpha = desk.alpha
    alpha.git("fetch", "-q")
    assert alpha.run("git", "merge", "origin/main").code == 1
    alpha.git("checkout", "--theirs", "a.txt")
    alpha.git("commit", "-q", "-a", "-m", "beta has it")
    alpha.git("push", "-q", "origin", "topic")
    succeed(alpha, "sync")
    assert verified(desk, branch="topic") == []


def test_the_holder_drops_what_others_made(desk: Stage) -> None:
    worked(desk, edited(1))
    main_moves(desk, edited(20, by="main"))
    beta = desk.beta
    beta.git("fetch", "-q")
    beta.git("merge", "-q", "-s", "ours", "--no-edit", "origin/topic")
    beta.git("push", "-q", "origin", "main")
    assert verified(desk) == []


def test_what_a_holder_made_is_found_once_another_changes_it(desk: Stage) -> None:
    """Beta takes alpha's work from its branch, adds to it, and has no claim."""
    desk.alpha.git("checkout", "-q", "-b", "topic")
    desk.alpha.commit("work", **{"a.txt": edited(1)})
    desk.alpha.git("push", "-q", "origin", "topic")
    desk.beta.git("fetch", "-q")
    desk.beta.git("checkout", "-q", "-b", "copy")
    desk.beta.write("a.txt", edited(1, 10))
    desk.beta.git("commit", "-q", "-n", "-a", "-m", "copied, and more")
    push(desk.beta, "copy")
    assert found(desk, desk.beta.rev("HEAD"), branch="copy")
    desk.beta.write("a.txt", edited(1))
    desk.beta.git("commit", "-q", "-n", "-a", "--amend", "-m", "copied, and no more")
    push(desk.beta, "+copy")
    assert verified(desk, branch="copy") == []


def test_a_conflict_resolved_by_who_holds_nothing_is_found_and_by_the_holder_carried(desk: Stage) -> None:
    worked(desk, edited(1))
    main_moves(desk, edited(1, by="main"))
    machine = host(desk)
    assert machine.run("git", "merge", "origin/topic").code == 1
    bad = machine.commit("resolved", **{"a.txt": edited(1, by="both")})
    push(machine, "main:refs/heads/bad")
    assert found(desk, bad, branch="bad")
    beta = desk.beta
    beta.git("fetch", "-q")
    assert beta.run("git", "merge", "origin/topic").code == 1
    beta.commit("resolved by the holder", **{"a.txt": edited(1, by="both")})
    beta.git("push", "-q", "origin", "HEAD:good")
    succeed(beta, "release", "--all", "--no-landed")
    succeed(desk.alpha, "claim", "a.txt")
    assert verified(desk, branch="good") == []
    again = machine.git("commit-tree", "HEAD^{tree}", "-p", "HEAD^1", "-p", "HEAD^2", "-m", "host's copy of it")
    push(machine, f"{again}:refs/heads/copied")
    assert verified(desk, branch="copied") == []


@pytest.mark.parametrize("clone", ["--depth=1", "--filter=blob:none"])
def test_a_clone_that_lacks_what_is_needed_fetches_it_and_says_so(desk: Stage, clone: str) -> None:
    desk.hub.git("config", "uploadpack.allowFilter", "true")
    worked(desk, edited(1))
    main_moves(desk, edited(20, by="main"))
    desk.squash("topic")
    desk.hub.git("branch", "-D", "topic")
    ci = Repo(desk.folder / "ci", {k: v for k, v in desk.hub.env.items() if k != "GIT_COORD_AGENT"})
    desk.hub.git("clone", "-q", clone, "--no-checkout", desk.url, str(ci.path))
    done = ci.coord("verify")
    assert (done.code, done.out.splitlines()[0]) == (0, "no violations in 1 commit"), done
    assert "of files, to see whether this is work that was made under a claim" in done.err


def test_a_blobless_clone_merges_as_the_host_did(desk: Stage) -> None:
    desk.hub.git("config", "uploadpack.allowFilter", "true")
    worked(desk, edited(1))
    main_moves(desk, edited(20, by="main"))
    desk.merge("topic", "refs/heads/merged")
    assert verified(desk, "", "--filter=blob:none", "--no-checkout", branch="merged") == []


def test_what_cannot_be_fetched_is_no_excuse(desk: Stage) -> None:
    worked(desk, edited(1))
    main_moves(desk, edited(20, by="main"))
    squashed = desk.squash("topic")
    desk.hub.git("branch", "-D", "topic")
    ci = Repo(desk.folder / "ci", {k: v for k, v in desk.hub.env.items() if k != "GIT_COORD_AGENT"})
    desk.hub.git("clone", "-q", desk.url, str(ci.path))
    ci.git("config", "protocol.version", "0")
    done = ci.coord("verify")
    assert (done.code, squashed[:7] in done.out, "not to be had" in done.err) == (3, True, True), done


def test_a_git_that_knows_no_such_merges_finds_exact_copies_only(desk: Stage) -> None:
    worked(desk, edited(1))
    exact = desk.squash("topic")
    desk.hub.git("update-ref", "refs/heads/exact", exact)
    desk.hub.git("update-ref", "refs/heads/main", f"{exact}^")
    main_moves(desk, edited(20, by="main"))
    merged = desk.squash("topic")
    old = desk.alpha.write("../old/git", f'#!/bin/sh\ncase " $* " in *" merge-tree "*) exit 129 ;; esac\n{GIT} "$@"\n')
    old.chmod(0o755)
    # Not `git coord`: git puts its own folder first on PATH for that.
    beta = desk.beta.with_env(PATH=f"{old.parent}:{desk.beta.env['PATH']}")
    beta.git("fetch", "-q")
    copied, moved = (beta.run("git-coord", "verify", f"{oid}^..{oid}") for oid in (exact, merged))
    assert (copied.code, copied.err) == (0, "")
    assert (
        moved.code,
        moved.out.splitlines()[1].startswith(f"  {merged[:7]}  a.txt   held by beta #2 "),
        moved.err,
    ) == (
        3,
        True,
        "",
    )
