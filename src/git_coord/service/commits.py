"""What receipts and verdicts want to know of the user's history: a port; and which refs are ours, not theirs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from git_coord.domain.carried import Past, ThreeWay, TreeEntry
from git_coord.domain.commits import Described, UserCommit
from git_coord.domain.ids import Oid
from git_coord.store import refnames


class Merges(Protocol):
    """Git's own merges and the history of paths, read only."""

    def lacking(self, blobs: Collection[Oid]) -> list[Oid]:
        """Return which of these objects are not in this clone."""

    def blobs(self, asked: Sequence[ThreeWay]) -> list[Oid | None]:
        """Return what the clean merges of these blobs are, None for one in conflict, binary, or not here."""

    def merged(self, parents: Sequence[Oid], paths: Sequence[str]) -> dict[str, TreeEntry | None] | None:
        """Return what git's merge of commits has at paths, without those in conflict; None if it cannot merge."""

    def changed_by_both(self, parents: Sequence[Oid]) -> set[Oid]:
        """Return the blobs whose content a merge of these commits has to look at."""

    def cut_off(self, parents: Sequence[Oid]) -> bool:
        """Tell whether a shallow clone ends before the parents of a merge meet."""

    def past(self, tips: Sequence[Oid], paths: Sequence[str], since: Oid | None = None) -> dict[str, Past]:
        """Return the history of paths up to these commits (after `since`), the newest part of it."""


class UserHistory(Protocol):
    """The user's commits, read through git's plumbing; never one process a commit.

    Every method raises CoordError(ERROR) when git cannot read what it is asked for.
    """

    def commits(self, tips: Sequence[Oid], excluded: Sequence[Oid], remote: str | None = None) -> list[UserCommit]:
        """Return what is reachable from `tips` and not from `excluded` or the remote's branches, parents first."""

    def named(self, oids: Sequence[Oid]) -> list[UserCommit]:
        """Return the commits among these ids that exist here, in order."""

    def resolve(self, names: Sequence[str]) -> list[Oid | None]:
        """Return the commit each name stands for (tags peeled), None for one that stands for none here."""

    def unreachable(self, oids: Collection[Oid]) -> set[Oid]:
        """Return the commits that no branch, tag or HEAD of this clone contains any more."""

    def is_cut_off(self, commits: Sequence[UserCommit], base: Oid, tip: Oid) -> bool:
        """Tell whether this shallow clone ends inside the commits, or before `base` and `tip` meet."""

    def default_tip(self, timeout: float) -> Oid | None:
        """Return the default branch's tip: this clone's copy, else what the remote says within `timeout` seconds.

        None when there is no remote or it has none. Raises CoordError(UNKNOWN) without an answer.
        """

    def default_name(self) -> str | None:
        """Return what people call the remote's default branch here, as in `origin/main`, None for none."""

    def is_on_default(self, commit: Oid) -> bool:
        """Tell whether a commit is on the default branch, as far as this clone's copy of it knows."""

    def described(self, oids: Collection[Oid]) -> dict[Oid, Described]:
        """Return author and subject of commits that are here."""

    def merges(self) -> Merges:
        """Return git's own merges of what is here."""


def is_ours(ref: str, prefix: str | None) -> bool:
    """Tell whether a ref, as it is named at a remote with this `coord.refPrefix`, belongs to git coord."""
    return ref.startswith((*refnames.ALL_PREFIXES, f"{prefix or refnames.DEFAULT_PREFIX}/"))


def branch_of(ref: str) -> str | None:
    """Return the name of the user's branch that a full ref name means, None for any other ref."""
    return ref.removeprefix(refnames.BRANCHES) if ref.startswith(refnames.BRANCHES) else None
