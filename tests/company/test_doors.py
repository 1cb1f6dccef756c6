"""Every way a commit comes into being and the doors it meets: the commit, the push, CI.

What git makes without asking any hook (cherry-pick, revert, rebase, am, stash, commit-tree) is in
`tests/verify/test_verify.py`, each single refusal at the first door in `tests/hooks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.helpers import Completed, Repo
from tests.verify.stage import Stage, kinds, push, succeed

pytestmark = pytest.mark.slow
EDIT = "sed -i 1s/pick/{}/"


@dataclass(frozen=True)
class Maker:
    """Beta's clone and whether the commit goes past the first door."""

    repo: Repo
    is_past: bool

    def run(self, *args: str, input: str | None = None) -> Completed:  # noqa: A002
        """Run a command of git that makes a commit."""
        verb, *rest = args
        past = ["--no-verify"] if self.is_past else []
        return self.repo.run("git", verb, "-q", *past, *rest, input=input)

    def branch(self, name: str, text: str, path: str = "a.txt") -> None:
        """Commit a change on a branch of its own, past all hooks, and come back."""
        self.repo.git("checkout", "-q", "-b", name)
        self.repo.write(path, text)
        self.repo.git("add", path)
        self.repo.git("commit", "-q", "--no-verify", "-m", name)
        self.repo.git("checkout", "-q", "topic")


def commit_all(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    return beta.run("commit", "-a", "-m", "x")


def commit_named(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    return beta.run("commit", "-m", "x", "--", "a.txt")


def commit_included(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    return beta.run("commit", "-m", "x", "-i", "a.txt")


def commit_hunks(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    return beta.run("commit", "-p", "-m", "x", input="y\n")


def amended(beta: Maker) -> Completed:
    beta.repo.commit("fine", **{"c.txt": "c\n"})
    beta.repo.write("a.txt", "mine\n")
    beta.repo.git("add", "a.txt")
    if beta.is_past:  # the second of the hooks that judge an amend takes no --no-verify
        assert beta.run("commit", "--amend", "--no-edit").code == 1
        return beta.repo.run("git", "-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "--no-edit")
    return beta.run("commit", "--amend", "--no-edit")


def removed(beta: Maker) -> Completed:
    beta.repo.git("rm", "-q", "a.txt")
    return beta.run("commit", "-m", "x")


def moved(beta: Maker) -> Completed:
    beta.repo.git("mv", "a.txt", "z.txt")
    return beta.run("commit", "-m", "x")


def merged_anew(beta: Maker) -> Completed:
    """A merge that git makes by itself, with content that neither side had."""
    lines = [f"{n}\n" for n in range(20)]
    beta.branch("base", "".join(lines))
    beta.repo.git("reset", "-q", "--hard", "base")
    beta.branch("one", "".join(["first\n", *lines[1:]]))
    beta.branch("two", "".join([*lines[:-1], "last\n"]))
    beta.repo.git("reset", "-q", "--hard", "one")
    return beta.run("merge", "--no-edit", "two")


def squashed(beta: Maker) -> Completed:
    beta.branch("other", "theirs\n")
    beta.repo.git("merge", "-q", "--squash", "other")
    return beta.run("commit", "-m", "squashed")


def popped(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    beta.repo.git("stash", "-q")
    beta.repo.git("stash", "pop", "-q")
    return beta.run("commit", "-a", "-m", "x")


def picked_without_committing(beta: Maker) -> Completed:
    beta.branch("other", "theirs\n")
    beta.repo.git("cherry-pick", "-n", "other")
    return beta.run("commit", "-m", "picked")


def fixed_up(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    return beta.run("commit", "-a", "--fixup", "HEAD")


def in_a_worktree(beta: Maker) -> Completed:
    tree = replace(beta, repo=beta.repo.worktree("W"))
    done = commit_all(tree)
    beta.repo.git("reset", "-q", "--hard", "W")
    return done


FIRST_DOOR: dict[str, Callable[[Maker], Completed]] = {
    "-a": commit_all,
    "-- path": commit_named,
    "-i path": commit_included,
    "-p": commit_hunks,
    "--amend": amended,
    "rm": removed,
    "mv": moved,
    "merge --squash": squashed,
    "stash pop": popped,
    "cherry-pick -n": picked_without_committing,
    "--fixup": fixed_up,
    "worktree": in_a_worktree,
}


def rebased_with_edits(beta: Maker) -> Completed:
    beta.branch("other", "theirs\n")
    beta.repo.commit("fine", **{"c.txt": "c\n"})
    beta.repo.git("reset", "-q", "--hard", "other")
    editor = beta.repo.with_env(GIT_SEQUENCE_EDITOR=EDIT.format("edit"))
    editor.git("rebase", "-q", "-i", "HEAD~1")
    return editor.run("git", "rebase", "--continue")


def squashed_by_rebase(beta: Maker) -> Completed:
    beta.repo.commit("fine", **{"c.txt": "c\n"})
    beta.repo.write("a.txt", "mine\n")
    beta.repo.git("commit", "-q", "--no-verify", "-a", "--fixup", "HEAD")
    return beta.repo.with_env(GIT_SEQUENCE_EDITOR="true").run("git", "rebase", "-q", "-i", "--autosquash", "HEAD~2")


def imported(beta: Maker) -> Completed:
    stream = (
        "commit refs/heads/import\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n"
        f"from {beta.repo.rev('HEAD')}\nM 100644 inline a.txt\ndata 5\nmine\n\n"
    )
    beta.repo.git("fast-import", "--quiet", input=stream)
    return beta.repo.run("git", "reset", "-q", "--hard", "import")


def without_hooks(beta: Maker) -> Completed:
    beta.repo.write("a.txt", "mine\n")
    return beta.repo.run("git", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-am", "x")


def pulled(beta: Maker) -> Completed:
    beta.branch("other", "theirs\n")
    beta.repo.commit("fine", **{"c.txt": "c\n"})
    return beta.repo.run("git", "pull", "-q", "--rebase", ".", "other")


NO_DOOR: dict[str, Callable[[Maker], Completed]] = {
    "merge that is clean": merged_anew,
    "rebase with edit": rebased_with_edits,
    "rebase --autosquash": squashed_by_rebase,
    "fast-import": imported,
    "-c core.hooksPath": without_hooks,
    "pull --rebase": pulled,
}


def topic(stage: Stage, *, is_past: bool) -> Maker:
    stage.beta.git("checkout", "-q", "-b", "topic")
    return Maker(stage.beta, is_past)


def assert_caught_later(stage: Stage) -> None:
    """The push is refused; pushed all the same, CI finds it."""
    pushed = stage.beta.run("git", "push", "-q", "origin", "topic")
    assert (pushed.code, " a.txt   held by alpha #1 since " in pushed.err) == (1, True), pushed
    assert "refs/heads/topic" not in stage.hub.refs("refs/heads")
    push(stage.beta, "topic")
    succeed(stage.beta, "sync")
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify", code=3)
    assert {path for _, path, _ in kinds(answer)} == {"a.txt"}


@pytest.mark.parametrize("make", FIRST_DOOR.values(), ids=FIRST_DOOR)
def test_a_commit_that_git_asks_about_is_refused_at_once(stage: Stage, make: Callable[[Maker], Completed]) -> None:
    done = make(topic(stage, is_past=False))
    rows = [line for line in done.err.splitlines() if line.startswith("  a.txt   alpha #1   ")]
    assert (done.code != 0, len(rows)) == (True, 1), done


@pytest.mark.parametrize("make", FIRST_DOOR.values(), ids=FIRST_DOOR)
def test_past_the_first_door_the_next_ones_catch_it(stage: Stage, make: Callable[[Maker], Completed]) -> None:
    done = make(topic(stage, is_past=True))
    assert (done.code, done.err) == (0, ""), done
    assert_caught_later(stage)


@pytest.mark.parametrize("make", NO_DOOR.values(), ids=NO_DOOR)
def test_where_git_asks_nobody_the_next_doors_catch_it(stage: Stage, make: Callable[[Maker], Completed]) -> None:
    done = make(topic(stage, is_past=False))
    assert done.code == 0, done
    assert_caught_later(stage)
