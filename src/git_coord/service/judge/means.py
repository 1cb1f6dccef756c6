"""What only git can answer about a change that would else be a violation; fetches what it needs, and says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from git_coord.domain.carried import Past, ThreeWay, TreeEntry
from git_coord.domain.commits import Delta, UserCommit
from git_coord.domain.evidence import Attested
from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.service.commits import Merges
from git_coord.service.context import Coord
from git_coord.store.interface import Remote

from .span import DEEPER
from .underway import Underway

MAX_MERGES = 40_000
"""Merges of contents in one judgement: a hostile history costs seconds, and what is left unmerged is new work."""
MAX_SINGLE = 32


class GitMeans:
    """The means of one judgement of some paths; with `fetches` it may ask the remote for what this clone lacks."""

    def __init__(
        self, coord: Coord, merges: Merges, chain: Callable[[], list[Oid]], paths: Collection[str], *, fetches: bool
    ) -> None:
        """Prepare; nothing is asked yet."""
        self._coord = coord
        self._merges = merges
        self._paths = paths
        self._fetches = fetches and coord.remote is not None
        self._left = MAX_MERGES
        self._made: dict[Oid, ThreeWay] = {}
        self._pasts: dict[Oid, dict[str, Past]] = {}
        self._merged: dict[Oid, dict[str, TreeEntry | None]] = {}
        self._underway = Underway(coord, chain)

    def merge(self, asked: Sequence[ThreeWay]) -> Sequence[Oid | None]:
        """Return what git's own clean merge makes of blobs, None for a conflict."""
        wanted = asked[: self._left]
        self._left -= len(wanted)
        if wanted:
            self._bring({oid for three in wanted for oid in three})
        made = self._merges.blobs(wanted) if wanted else []
        self._made |= {blob: three for three, blob in zip(wanted, made, strict=True) if blob is not None}
        return [*made, *[None] * (len(asked) - len(wanted))]

    def merged_from(self, blobs: Collection[Oid]) -> set[Oid]:
        """Return the blobs that were merged to make these, but for those that came from the file itself."""
        found: set[Oid] = set()
        todo = list(blobs)
        while todo:
            three = self._made.get(todo.pop())
            if three is not None and not found.issuperset((three.base, three.theirs)):
                found |= {three.base, three.theirs}
                todo.append(three.ours)
        return found

    def merged(self, commit: UserCommit, delta: Delta) -> tuple[TreeEntry | None, ...]:
        """Return what git's own clean merge of a merge's parents has at a path; in a conflict what each parent has."""
        if commit.oid not in self._merged:
            self._merged[commit.oid] = self._merge_parents(commit)
        found = self._merged[commit.oid]
        return (found[delta.path],) if delta.path in found else delta.olds

    def past(self, commit: UserCommit, path: str) -> Past:
        """Return the history of a path before a commit, as far as it is here."""
        if commit.oid not in self._pasts:
            paths = self._asked(commit)
            self._pasts[commit.oid] = self._merges.past(commit.parents, paths) if commit.parents else {}
        return self._pasts[commit.oid].get(path, Past())

    def given_up(self, commit: UserCommit, delta: Delta) -> frozenset[Oid]:
        """Return the commits whose work at a path a merge dropped, to have it as another parent has it."""
        sides = list(zip(commit.parents, delta.olds, strict=True))
        kept = next((oid for oid, old in sides if old == delta.new), None)
        dropped = [oid for oid, old in sides if old != delta.new]
        return self._merges.past(dropped, [delta.path], kept).get(delta.path, Past()).commits

    def granted_later(self, receipt: Attested, path: str) -> bool:
        """Tell whether a claim of the path by the receipt's author was on its way then, and granted to it."""
        return self._underway.granted(receipt.entry.head, receipt.agent, path)

    def _merge_parents(self, commit: UserCommit) -> dict[str, TreeEntry | None]:
        paths = self._asked(commit)
        self._deepen(commit.parents)
        found = self._merges.merged(commit.parents, paths)
        if found is None and self._bring(self._merges.changed_by_both(commit.parents)):
            found = self._merges.merged(commit.parents, paths)
        if found is None:  # no merges to be had: what one parent has counts as brought in
            return {delta.path: delta.new for delta in commit.kept}
        return found

    def _asked(self, commit: UserCommit) -> list[str]:
        return [delta.path for delta in commit.judged if delta.path in self._paths]

    def _deepen(self, parents: Sequence[Oid]) -> None:
        """Fetch more of a shallow history until git can merge as it did where the merge was made."""
        if not self._merges.cut_off(parents):
            return
        for step in DEEPER if self._fetches else ():
            assert self._coord.remote is not None
            self._coord.notice(f"fetching {step} more commits, to see what a merge brought together")
            for parent in parents:
                self._coord.remote.deepen(step, parent)
            if not self._merges.cut_off(parents):
                return
        text = "history too shallow: what a merge brought together is not here"
        raise CoordError(Kind.UNKNOWN, text, next="git fetch --unshallow")

    def _bring(self, oids: Collection[Oid]) -> bool:
        """Fetch objects that this clone lacks; False when nothing came."""
        lacking = self._merges.lacking(oids)
        if not lacking or not self._fetches or self._coord.remote is None:
            return False
        count = f"{len(lacking)} version{'s' * (len(lacking) != 1)} of files"
        self._coord.notice(f"fetching {count}, to see whether this is work that was made under a claim")
        try:
            self._coord.remote.bring(lacking)
        except CoordError as trouble:
            return self._bring_some(self._coord.remote, lacking, trouble)
        return True

    def _bring_some(self, remote: Remote, lacking: Sequence[Oid], trouble: CoordError) -> bool:
        """Fetch one by one what could not be had together: one that is gone there keeps all others away."""
        count = 0
        for oid in lacking[:MAX_SINGLE] if len(lacking) > 1 else ():
            with suppress(CoordError):
                remote.bring([oid])
                count += 1
        if count < len(lacking):
            self._coord.notice(f"{len(lacking) - count} are not to be had ({trouble.message}); judged without them")
        self._fetches = count > 0
        return count > 0
