"""Store and remote in memory, for tests of what is built on them; trusted because of the contract suite.

Objects are kept whole for ever, and a fetch or push hands over all of them: only refs decide what anybody can see.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import TREE_MODE, GitObject, hash_object, parse_tree
from git_coord.errors import CoordError, Kind

from . import refnames
from .interface import ABSENT, Place, PushedRef, PushStatus, RefUpdate, Swap, TreeRow
from .refnames import Family, Ref

_SUBMODULE = "160000"


class MemoryStore:
    """Objects and refs in two dictionaries; threads may share it."""

    def __init__(self, algorithm: str = "sha1") -> None:
        """Start empty."""
        self._algorithm = algorithm
        self._objects: dict[Oid, GitObject] = {}
        self._refs: dict[Ref, Oid] = {}
        self._lock = threading.RLock()  # for correctness: a swap is one step

    @property
    def algorithm(self) -> str:
        """The object format it plays."""
        return self._algorithm

    def refs(self, *prefixes: str) -> dict[Ref, Oid]:
        """Return the refs equal to a prefix, or below one that ends in a slash."""
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        with self._lock:
            return {ref: oid for ref, oid in sorted(self._refs.items()) if ref in prefixes or ref.startswith(below)}

    def read(self, specs: Sequence[str], limit: int | None = None) -> list[GitObject | None]:
        """Return the objects at the specs, in order."""
        found = [self._at(spec) for spec in specs]
        return [
            made._replace(type="oversized", data=b"")
            if made is not None and limit is not None and len(made.data) > limit
            else made
            for made in found
        ]

    def listing(self, tree: Oid) -> list[TreeRow]:
        """Return all rows of a tree, recursively."""
        root = self._tree(tree)
        if root is None:
            raise CoordError(Kind.ERROR, f"not a tree object: {tree}")
        return list(self._walk(root, ""))

    def history(self, tip: Oid, since: Oid | None) -> list[Oid]:
        """Return the first-parent chain from after `since` (or from its root) to `tip`."""
        chain: list[Oid] = []
        at: Oid | None = tip
        while at is not None and at != since:
            commit = self._objects.get(at)
            if commit is None or commit.type != "commit":
                raise CoordError(Kind.UNTRUSTED, f"the history behind {tip} cannot be read: no commit {at}")
            chain.append(at)
            second = commit.data.split(b"\n", 2)[1].decode("ascii")
            at = Oid(second.removeprefix("parent ")) if second.startswith("parent ") else None
        return chain[::-1]

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects, under the ids their content has."""
        for made in objects:
            hashed = hash_object(made.type, made.data, self._algorithm)
            self._objects[hashed.oid] = hashed

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:  # noqa: ARG002  # there is no reflog
        """Move all refs or none; raises CoordError(ERROR, data={"missing": [ids]}) as the others do."""
        with self._lock:
            if any(self._refs.get(update.ref, ABSENT) != update.old for update in updates):
                return Swap.STALE
            missing = [new for _, new, _ in updates if new is not ABSENT and new not in self._objects]
            if missing:
                raise CoordError(Kind.ERROR, f"object {missing[0]} is gone, pruned perhaps", data={"missing": missing})
            for ref, new, _ in updates:
                self._set(ref, new)
        return Swap.MOVED

    def close(self) -> None:
        """Nothing is open."""

    def copy_objects(self, other: MemoryStore) -> None:
        """Take all objects of another store."""
        self._objects.update(dict(other._objects))

    def prune(self, oids: Iterable[Oid]) -> None:
        """Lose objects, as `git prune` or a damaged disk may."""
        for oid in oids:
            self._objects.pop(oid, None)

    def _set(self, ref: Ref, new: object) -> None:
        if new is ABSENT:
            self._refs.pop(ref, None)
        else:
            self._refs[ref] = Oid(str(new))

    def _tree(self, oid: str) -> GitObject | None:
        made = self._objects.get(Oid(oid))
        if made is not None and made.type == "commit":
            made = self._objects.get(Oid(made.data.split(b"\n", 1)[0].removeprefix(b"tree ").decode("ascii")))
        return made if made is not None and made.type == "tree" else None

    def _at(self, spec: str) -> GitObject | None:
        oid, colon, path = spec.partition(":")
        if not colon:
            return self._objects.get(Oid(oid))
        made = self._tree(oid)
        for name in path.split("/") if path else ():
            entry = None if made is None or made.type != "tree" else self._entry(made, name)
            made = None if entry is None else self._objects.get(entry)
        return made

    def _entry(self, tree: GitObject, name: str) -> Oid | None:
        return next((oid for _, found, oid in self._rows(tree) if found == name), None)

    def _walk(self, tree: GitObject, lead: str) -> Iterator[TreeRow]:
        for mode, name, oid in self._rows(tree):
            type_ = "tree" if mode == TREE_MODE else "commit" if mode == _SUBMODULE else "blob"
            yield TreeRow(type_, lead + name, oid)
            if type_ == "tree":
                below = self._tree(oid)
                if below is None:
                    raise CoordError(Kind.ERROR, f"not a tree object: {oid}")
                yield from self._walk(below, f"{lead}{name}/")

    def _rows(self, tree: GitObject) -> list[tuple[str, str, Oid]]:
        return parse_tree(tree.data, self._algorithm)


@dataclass
class MemoryRemote:
    """A remote whose hub is another memory store; the faults are set by the test."""

    hub: MemoryStore
    store: MemoryStore
    name: str = "origin"
    offline: bool = False
    """Nothing arrives and nothing is known."""
    drop_answer: bool = False
    """The next push takes effect, but its answer is lost."""
    refuse: str = ""
    """The words with which a server's hook refuses every push."""
    limit: int = 0
    """How many refs its hook takes in one push; 0 for any number."""
    dislikes: str = ""
    """What the names of refs begin with for which its hook refuses a whole push."""
    pushes: int = field(default=0, init=False)
    fetches: int = field(default=0, init=False)

    url: str = "memory"
    prefix: str = refnames.DEFAULT_PREFIX

    @property
    def place(self) -> Place:
        """Where it plays to be."""
        return Place(self.name, "url", self.url, self.prefix)

    def at(self, place: Place) -> MemoryRemote:
        """Return the same hub by another name: there is only one in memory."""
        return replace(self, name=place.name, url=place.url, prefix=place.prefix)

    def hurry(self, seconds: float | None) -> None:
        """Do nothing: what is in memory takes no time."""

    def fetch(self, families: Collection[Family]) -> None:
        """Bring these families into the fetched namespace."""
        self.fetches += 1
        self._reach()
        self.store.copy_objects(self.hub)
        live, fetched = self._both(families)
        wanted = {refnames.fetched(ref): oid for ref, oid in live.items()}
        with self.store._lock:
            for ref in {*wanted, *fetched}:
                self.store._set(ref, wanted.get(ref, ABSENT))

    def mend(self) -> bool:
        """Find nothing to mend: each fetch here brings every object."""
        return False

    def push(self, updates: Sequence[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        """Ask the remote to move each ref from exactly its old value."""
        self.pushes += 1
        self._reach()
        if any(new is not ABSENT and new not in self.store._objects for _, new, _ in updates):
            raise CoordError(Kind.UNKNOWN, f"{self.name}: an object to push is missing here")  # as git says nothing
        self.hub.copy_objects(self.store)
        answers = [self._push_one(update) for update in updates] if self._is_taken(updates) else self._declined(updates)
        if self.drop_answer:
            self.drop_answer = False
            raise CoordError(Kind.UNKNOWN, f"{self.name} did not say what became of the push")
        if record:
            taken = zip(updates, answers, strict=True)
            self.record([update for update, answer in taken if answer.status is not PushStatus.REJECTED])
        return answers

    def record(self, landed: Sequence[RefUpdate]) -> None:
        """Record in the fetched namespace what landed."""
        for update in landed:
            self.store._set(refnames.fetched(update.ref), update.new)

    def deepen(self, commits: int, tip: Oid) -> None:  # noqa: ARG002  # a memory store has all history
        """Have all history already."""
        self._reach()

    def _is_taken(self, updates: Sequence[RefUpdate]) -> bool:
        disliked = self.dislikes and any(update.ref.startswith(self.dislikes) for update in updates)
        return not disliked and (not self.limit or len(updates) <= self.limit)

    def _declined(self, updates: Sequence[RefUpdate]) -> list[PushedRef]:
        words = "pre-receive hook declined", f"{len(updates)} refs are too many"
        return [PushedRef(update.ref, PushStatus.REJECTED, *words) for update in updates]

    def bring(self, oids: Sequence[Oid]) -> None:  # noqa: ARG002
        """Have all objects already."""
        self._reach()

    def _push_one(self, update: RefUpdate) -> PushedRef:
        ref, new, old = update
        now = self.hub.refs(ref).get(ref, ABSENT)
        # As git does: what the remote has already is never looked at again, not even against the lease.
        if now == new and new is not ABSENT:
            return PushedRef(ref, PushStatus.SAME, "")
        if now != old:
            return PushedRef(ref, PushStatus.REJECTED, "stale info")
        if self.refuse:
            return PushedRef(ref, PushStatus.REJECTED, self.refuse)
        if self.hub.swap([update], "push") is not Swap.MOVED:
            return PushedRef(ref, PushStatus.REJECTED, "failed to update ref")
        return PushedRef(ref, PushStatus.LANDED, "")

    def _reach(self) -> None:
        if self.offline:
            raise CoordError(Kind.UNKNOWN, f"no answer from {self.name}")

    def _both(self, families: Collection[Family]) -> tuple[dict[Ref, Oid], dict[Ref, Oid]]:
        live = [refnames.prefix(family) for family in families]
        return self.hub.refs(*live), self.store.refs(*(refnames.prefix(family, fetched=True) for family in families))
