"""Epochs in memory: what the hub keeps, and hubs and clones that have forgotten what their refs do not reach."""

from __future__ import annotations

from dataclasses import replace

from tests.service.scene import Desk, Scene

from git_coord.domain.ids import Oid
from git_coord.service import epochs
from git_coord.service.context import Settings
from git_coord.service.epochs import Begun
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.memory import MemoryStore
from git_coord.store.refnames import LEDGER, Family


def begin(desk: Desk) -> Begun:
    return epochs.begin(desk.coord())


def chain_of(store: MemoryStore) -> int:
    """Return how many commits the ledger ref reaches."""
    return len(store.history(store.refs(LEDGER)[LEDGER], None))


def kept(store: MemoryStore) -> list[str]:
    return sorted(store.refs(refnames.prefix(Family.EPOCHS)))


def drop_kept(hub: MemoryStore) -> None:
    """Take away the epochs that the hub keeps."""
    found = hub.refs(refnames.prefix(Family.EPOCHS))
    hub.swap([RefUpdate(ref, ABSENT, oid) for ref, oid in found.items()], "test")


def forgetting(scene: Scene) -> MemoryStore:
    """Return a hub that has what is reachable from its refs and no other object, as after a gc."""
    return only_reachable(scene.hub)


def only_reachable(store: MemoryStore) -> MemoryStore:
    """Return a copy of a store with only what its refs reach."""
    copy = MemoryStore()
    refs = store.refs("refs/")
    wanted = {oid for tip in refs.values() for oid in _reach(store, tip)}
    copy.write([found for found in store.read(sorted(wanted)) if found])
    copy.swap([RefUpdate(ref, oid, ABSENT) for ref, oid in refs.items()], "test")
    return copy


def _reach(store: MemoryStore, tip: Oid) -> set[Oid]:
    commits = store.history(tip, None)
    trees = [found.data.split(b"\n")[0][5:].decode() for found in store.read(commits) if found]
    rows = {row.oid for commit in commits for row in store.listing(commit)}
    return {*commits, *rows, *(Oid(tree) for tree in trees)}


def fresh(scene: Scene, hub: MemoryStore, **settings: object) -> Desk:
    """Return a clone that has seen nothing, of this hub."""
    desk = scene.desk("gamma")
    assert desk.remote is not None
    desk.remote.hub = hub
    return replace(desk, settings=Settings(**settings))  # type: ignore[arg-type]
