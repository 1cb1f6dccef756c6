"""Agents in clones with clocks of their own, a hub that can be put back, and everything that was ever published."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from git_coord.crypto.keys import InProcessSigner, Signer, generate_key
from git_coord.domain.ids import Oid
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.merkle import parse_tree
from git_coord.service import membership
from git_coord.service.context import Coord
from git_coord.service.membership import Birth
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refnames import LEDGER, SEEN, Ref
from tests.service.scene import REPO, Desk, FakeClock, Scene

from .naive import read_record
from .naive_state import Statement
from .oracle import Space, Thing

NAMES = ("a", "b", "A", "x.py", "e\u0301", "É", "E-1", "2")
VOCABULARY = (
    Thing("path", "."),
    Thing("path", "a"),
    Thing("path", "A/x.py", pinned=True),
    Thing("path", "a/b"),
    Thing("path", "a/x.py"),
    Thing("path", "b"),
    Thing("path", "b/e\u0301"),
    Thing("path", "B/É"),
    Thing("path", "b/x.py", pinned=True),
    Thing("glob", "**/*.py"),
    Thing("glob", "a/*"),
    Thing("glob", "b/?"),
    Thing("task", "E-1"),
    Thing("task", "E-1/2"),
    Thing("task", "e-1"),
    Thing("branch", "b"),
    Thing("branch", "b/a"),
)
FILES = ("a", "a/b", "A/x.py", "b/x.py", "b/É", "b/e\u0301/x.py", "x.py", "b/b")


class KilledError(BaseException):
    """Nothing of ours catches it: as good as a kill."""


@functools.cache
def space(fold: str) -> Space:
    """Return the world in which overlap is tried."""
    return Space((*NAMES, "B", "e-1"), 4, fold)


@functools.cache
def signer_of(name: str) -> Signer:
    """Return a key that lives as long as the tests, so that examples do not make their own."""
    path = Path(tempfile.mkdtemp()) / name
    generate_key(path, name)
    return InProcessSigner(path)


def item(thing: Thing, intent: str) -> Item:
    """Return the item as the services take it."""
    return Item(ItemKind(thing.kind), thing.name, Intent(intent), Oid("b" * 40) if thing.pinned else None)


@dataclass
class OwnClock(FakeClock):
    """A clock that goes with the common one, `wall` seconds off."""

    base: FakeClock = field(default_factory=FakeClock)

    def now(self) -> int:
        return self.base.now() + self.wall

    def monotonic(self) -> float:
        return self.base.monotonic()

    def sleep(self, seconds: float) -> None:
        self.base.sleep(seconds)


class SharedKeys(Scene):
    """A scene whose keys are made once for all examples."""

    def signer(self, name: str) -> Signer:
        return signer_of(name)


class World:
    """Desks by name; those of one clone share store, remote and folder."""

    def __init__(self, folder: Path, clones: dict[str, tuple[str, ...]], fold: str, *, with_hub: bool) -> None:
        self.scene = SharedKeys(folder, with_hub=with_hub)
        self.fold, self.with_hub = fold, with_hub
        self.desks: dict[str, Desk] = {}
        for clone, names in clones.items():
            first = self.scene.desk(names[0].partition("@")[0], clone=clone)
            for name in names:
                self.desks[name] = self._desk(first, name)
        self.scopes = space(fold)
        self.planted: set[str] = set()
        self.published: dict[tuple[str, str], tuple[Statement, str]] = {}

    def _desk(self, first: Desk, name: str) -> Desk:
        agent = name.partition("@")[0]
        made = self.scene.desk(agent)
        clock = OwnClock(wall=0, base=self.scene.clock)
        return replace(
            made,
            store=first.store,
            remote=first.remote,
            files=first.files,
            clock=clock,
            policy_signer=lambda: signer_of("alpha"),
        )

    def init(self, name: str) -> None:
        """Found or adopt the ledger, and join it."""
        desk = self.desks[name]
        coord = desk.coord(opened=False)
        membership.found_or_adopt(coord, lambda: Birth(REPO, self.fold, desk.signer))
        membership.join(coord)

    @property
    def stores(self) -> list[MemoryStore]:
        """The stores of the clones, each once."""
        return list({id(desk.store): desk.store for desk in self.desks.values()}.values())

    @property
    def remotes(self) -> list[MemoryRemote]:
        """The remotes of the clones, each once."""
        found = {id(desk.remote): desk.remote for desk in self.desks.values()}
        return [remote for remote in found.values() if remote is not None]

    @property
    def truth(self) -> MemoryStore:
        """Where the ledger that counts is."""
        return self.scene.hub if self.with_hub else self.stores[0]

    def look_at_requests(self) -> None:
        """Note every operation that is published, now, in some clone or at the hub."""
        for store in (*self.stores, self.scene.hub):
            for ref, value in store.refs("refs/coord/requests/").items():
                for oid in blobs(store, value):
                    self._note(store, ref, oid)

    def _note(self, store: MemoryStore, ref: Ref, oid: Oid) -> None:
        found = store.read([oid])[0]
        read = _read(found.data) if found is not None else None
        if read and read[0]["agent"] == ref.rpartition("/")[2] and read[0]["nonce"] not in self.planted:
            self.published[read[0]["agent"], read[0]["nonce"]] = read


@functools.lru_cache(maxsize=4096)
def _read(record: bytes) -> tuple[Statement, str] | None:
    try:
        return read_record(record)
    except Exception:  # whatever is wrong with it, it is no record
        return None


def blobs(store: MemoryStore, commit: Oid, folder: str = "") -> list[Oid]:
    """Return the ids of the files of a flat tree."""
    tree = store.read([f"{commit}:{folder}"])[0]
    return [oid for _, _, oid in parse_tree(tree.data, "sha1")] if tree and tree.type == "tree" else []


def records(store: MemoryStore, commit: Oid) -> list[tuple[Statement, str]]:
    """Return the operations that a ledger commit places; every one verifies."""
    return records_of(store, blobs(store, commit, "op"))


def records_of(store: MemoryStore, oids: list[Oid]) -> list[tuple[Statement, str]]:
    """Return the statements of these records, which must verify, with the keys that signed them."""
    return [_believed(blob.data) for blob in store.read(list(oids)) if blob]


def _believed(record: bytes) -> tuple[Statement, str]:
    read = _read(record)
    assert read is not None, record
    return read


def ref(store: MemoryStore, name: Ref) -> Oid | None:
    """Return the value of a ref."""
    return store.refs(name).get(name)


def seen(desk: Desk) -> Oid | None:
    """Return what this clone verified last."""
    return ref(desk.store, SEEN)


def set_ref(store: MemoryStore, name: Ref, value: Oid | None) -> None:
    """Set a ref, as somebody with write access may."""
    new = ABSENT if value is None else value
    store.swap([RefUpdate(name, new, store.refs(name).get(name, ABSENT))], "test")


def set_refs(store: MemoryStore, wanted: dict[Ref, Oid], below: str = "refs/") -> None:
    """Make the refs of a store these."""
    for name in {*store.refs(below), *wanted}:
        set_ref(store, name, wanted.get(name))


def reachable(store: MemoryStore) -> set[Oid]:
    """Return every object that some ref needs."""
    found: set[Oid] = set()
    todo = list(store.refs("refs/").values())
    while todo:
        oid = todo.pop()
        made = store.read([oid])[0] if oid not in found else None
        if made is None:
            continue
        found.add(oid)
        if made.type == "tree":
            todo += [entry for _, _, entry in parse_tree(made.data, "sha1")]
        elif made.type == "commit":
            head = made.data.split(b"\n\n")[0].decode("ascii").splitlines()
            todo += [Oid(line.split(" ")[1]) for line in head if line.startswith(("tree ", "parent "))]
    return found


def prune(store: MemoryStore) -> None:
    """Lose every object that no ref needs, as `git gc --prune=now` does."""
    store.prune(set(store._objects) - reachable(store))


def stepping(desk: Desk, coord: Coord, at: int | str, then: Callable[[], object]) -> Coord:
    """Let something happen when the command reaches its step of that number or name, once."""
    steps = iter(range(1 << 30))
    left = [at]

    def reach(name: str) -> None:
        if left and left[0] in (next(steps), name):
            left.clear()
            then()

    coord.reach = reach
    return coord


def ledger_of(store: MemoryStore) -> Oid | None:
    """Return the live ledger of a store."""
    return ref(store, LEDGER)


def kill() -> Any:
    """End the command here and now."""
    raise KilledError
