"""Our refs read once a command: one `for-each-ref` answers every question until something moves.

A cached value may be old, which costs nothing: every write names the value it expects, and a swap that fails, a fetch
or a push makes the next question go to git again. For one-shot commands; a long-lived process calls `forget` between.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject

from .interface import Absent, Place, PushedRef, PushStatus, RefUpdate, Remote, Store, Swap, TreeRow
from .refnames import ALL_PREFIXES, Family, Ref, fetched


class RefCache:
    """A store that remembers our refs; everything else is the store's below."""

    def __init__(self, below: Store) -> None:
        """Remember nothing yet."""
        self.below = below
        self._refs: dict[Ref, Oid] | None = None

    @property
    def algorithm(self) -> str:
        """The repository's object format."""
        return self.below.algorithm

    def refs(self, *prefixes: str) -> dict[Ref, Oid]:
        """Return refs of ours from memory; other names are asked of git."""
        if not all(prefix.startswith(ALL_PREFIXES) for prefix in prefixes):
            return self.below.refs(*prefixes)
        if self._refs is None:
            self._refs = self.below.refs(*ALL_PREFIXES)
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        return {ref: oid for ref, oid in self._refs.items() if ref in prefixes or ref.startswith(below)}

    def read(self, specs: Sequence[str], limit: int | None = None) -> list[GitObject | None]:
        """Return the objects at the specs."""
        return self.below.read(specs, limit)

    def listing(self, tree: Oid) -> list[TreeRow]:
        """Return all rows of a tree."""
        return self.below.listing(tree)

    def history(self, tip: Oid, since: Oid | None) -> list[Oid]:
        """Return the first-parent chain."""
        return self.below.history(tip, since)

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects."""
        self.below.write(objects)

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:
        """Move all refs or none, and remember what moved; forget everything when another was first."""
        try:
            result = self.below.swap(updates, reason)
        except BaseException:
            self.forget()  # it may have moved some of what is remembered
            raise
        if result is not Swap.MOVED:
            self.forget()
        for update in updates if result is Swap.MOVED else ():
            self._note(update.ref, update.new)
        return result

    def note_fetched(self, updates: Sequence[RefUpdate]) -> None:
        """Remember what a push has recorded."""
        for update in updates:
            self._note(fetched(update.ref), update.new)

    def _note(self, ref: Ref, value: Oid | Absent) -> None:
        if self._refs is not None:
            if isinstance(value, Absent):
                self._refs.pop(ref, None)
            else:
                self._refs[ref] = value

    def forget(self) -> None:
        """Ask git again at the next question."""
        self._refs = None


class ForgettingRemote:
    """A remote after whose every answer the cache asks git again."""

    def __init__(self, below: Remote, cache: RefCache) -> None:
        """Wrap a remote."""
        self._below = below
        self._cache = cache

    @property
    def name(self) -> str:
        """The configured name."""
        return self._below.name

    @property
    def place(self) -> Place:
        """Where it is."""
        return self._below.place

    def at(self, place: Place) -> ForgettingRemote:
        """Return the same for another place."""
        return ForgettingRemote(self._below.at(place), self._cache)

    def hurry(self, seconds: float | None) -> None:
        """Hurry."""
        self._below.hurry(seconds)

    def fetch(self, families: Collection[Family]) -> None:
        """Fetch, then forget."""
        try:
            self._below.fetch(families)
        finally:
            self._cache.forget()

    def mend(self) -> bool:
        """Mend, then forget."""
        try:
            return self._below.mend()
        finally:
            self._cache.forget()

    def push(self, updates: Sequence[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        """Push; what is recorded is remembered as fetched, a refusal makes the cache ask again."""
        try:
            results = self._below.push(updates, record=record)
        except BaseException:
            self._cache.forget()
            raise
        if any(result.status is PushStatus.REJECTED for result in results):
            self._cache.forget()
        elif record:
            self._cache.note_fetched(updates)
        return results

    def record(self, landed: Sequence[RefUpdate]) -> None:
        """Record, and ask again: another process may have been first."""
        self._below.record(landed)
        self._cache.forget()

    def deepen(self, commits: int, tip: Oid) -> None:
        """Deepen user history."""
        self._below.deepen(commits, tip)

    def bring(self, oids: Sequence[Oid]) -> None:
        """Fetch single objects."""
        self._below.bring(oids)
