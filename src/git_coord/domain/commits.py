"""The user's commits as a judgement sees them: what each changes, and how it calls itself."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.lean import NamedTuple

from .carried import TreeEntry
from .ids import Oid


class Delta(NamedTuple):
    """A path that a commit changed, with what was there before and after; None is "not there".

    For a merge `old` is what its first parent has, and `others` what the other parents have.
    """

    path: str
    old: TreeEntry | None
    new: TreeEntry | None
    others: tuple[TreeEntry | None, ...] = ()

    @property
    def olds(self) -> tuple[TreeEntry | None, ...]:
        """What each parent has there."""
        return (self.old, *self.others)


class Described(NamedTuple):
    """Who made a commit, and how it calls itself: the words of others."""

    author: str
    subject: str


class UserCommit(NamedTuple):
    """A commit of the user's history with its own delta: of a merge, what differs from all its parents.

    `kept` is what a merge has as some of its parents have it, and others not: brought in, or given up.
    """

    oid: Oid
    parents: tuple[Oid, ...]
    changes: tuple[Delta, ...]
    kept: tuple[Delta, ...] = ()

    @property
    def judged(self) -> tuple[Delta, ...]:
        """All that somebody may have something against: its own delta, and what it kept."""
        return (*self.changes, *self.kept)


def of_sides(path: str, sides: Sequence[Delta | None]) -> Delta:
    """Put together what a merge has at a path and what each parent had; a parent without a delta had the same."""
    new = next(side.new for side in sides if side is not None)
    old, *others = [new if side is None else side.old for side in sides]
    return Delta(path, old, new, tuple(others))
