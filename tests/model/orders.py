"""Two worlds that begin alike, for syncs in one order and in the other; and records that somebody put in by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from git_coord.domain.ids import Agent, Nonce, Oid
from git_coord.domain.merkle import hash_object
from git_coord.domain.statements import Release, Target
from git_coord.service import sync
from git_coord.service.files import CoordFiles
from git_coord.service.operations import operation
from git_coord.service.records import seal_operation
from git_coord.service.requests import flat_commit
from git_coord.store import refnames
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refnames import Family
from tests.service.scene import Desk

from .audit import Auditor, Ids
from .naive import Ledger
from .naive_state import Statement
from .oracle import Thing, thing_of
from .world import World, blobs, ledger_of, records_of, set_ref, signer_of

OF_OTHERS = ("break", "takeover", "settle", "block", "unblock")
"""Operations on what may be somebody else's."""


def twin_of(store: MemoryStore) -> MemoryStore:
    """Return a store that can be changed without changing this one."""
    twin = MemoryStore(store.algorithm)
    twin.copy_objects(store)
    for name, value in store.refs("refs/").items():
        set_ref(twin, name, value)
    return twin


def twin_desks(world: World) -> tuple[MemoryStore, dict[str, Desk]]:
    """Return a copy of the hub and of all desks; only time goes on in both."""
    hub = twin_of(world.scene.hub)
    stores = {id(store): twin_of(store) for store in world.stores}
    remotes = {key: MemoryRemote(hub, store) for key, store in stores.items()}
    desks = {}
    for name, desk in world.desks.items():
        key, folder = id(desk.store), tempfile.mkdtemp(dir=world.scene.folder)
        files = CoordFiles(folder, folder)
        desks[name] = replace(desk, store=stores[key], remote=remotes[key], files=files, heard=[])
    return hub, desks


def synced(world: World, auditor: Auditor, names: tuple[str, ...]) -> tuple[Ledger, Ids]:
    """Return the ledger after these desks synced in this order, twice, in a world of their own."""
    hub, desks = twin_desks(world)
    for name in (*names, *names):
        sync.sync(desks[name].coord(opened=False))
    tip = ledger_of(hub)
    assert tip is not None
    return auditor.audit(hub, tip)


def pending(world: World, ledger: Ledger) -> list[tuple[int, Statement]]:
    """Return the operations that are on their way, each with the clone it waits in."""
    found = []
    for number, store in enumerate((*world.stores, world.scene.hub)):
        for value in store.refs("refs/coord/requests/").values():
            ops = [op for op, _ in records_of(store, blobs(store, value))]
            found += [(number, op) for op in ops if op["seq"] > ledger.seqs.get(op["agent"], 0)]
    return found


def commute(world: World, ledger: Ledger, waiting: list[tuple[int, Statement]]) -> bool:
    """Tell whether the order of these operations may not matter.

    No two agents want the same, nobody is hurried and nobody waits: who is served depends on what is given back first.
    """
    ops = [op for _, op in waiting]
    hurried = ledger.waiting or any(
        op["kind"] in OF_OTHERS or op.get("not_after") or op.get("wait_until") for op in ops
    )
    pairs = product(ops, ops)
    meet = world.scopes.overlap
    return not hurried and not any(
        meet(one, two)
        for a, b in pairs
        if a["agent"] != b["agent"]
        for one, two in product(scope(a, ops, ledger), scope(b, ops, ledger))
    )


def scope(op: Statement, ops: list[Statement], ledger: Ledger) -> Iterator[Thing]:
    """Yield what an operation is about."""
    if "items" in op:
        yield from map(thing_of, op["items"])
    named = [target["claim"] for target in op.get("targets", ())] + ([op["op"]] if op["kind"] == "cancel" else [])
    for nonce in named:
        if nonce in ledger.claims:
            yield from (thing for thing, _ in ledger.claims[nonce].live.values())
        yield from (thing_of(item) for each in ops if each["nonce"] == nonce for item in each.get("items", ()))


def plant(desk: Desk, hub: MemoryStore, record: bytes, seq: int) -> None:
    """Put a record into the agent's requests at the hub, as anybody with write access can."""
    name = refnames.owned(Family.REQUESTS, desk.agent)
    value = hub.refs(name).get(name)
    tree = hub.read([f"{value}:"])[0] if value else None
    rows = blobs(hub, value) if value else []
    kept = {f"{op['seq']:010}": oid for oid, (op, _) in zip(rows, records_of(hub, rows), strict=False)} if tree else {}
    blob = hash_object("blob", record, "sha1")
    commit, objects = flat_commit(desk.coord(), kept | {f"{seq:010}": blob.oid}, desk.clock.now())
    hub.write([blob, *objects])
    set_ref(hub, name, commit)


def forged_release(desk: Desk, claim: str, seq: int) -> bytes:
    """Return a release in the agent's name, signed by somebody who never joined."""
    targets = (Target(Nonce(claim), None),)
    op = operation(desk.coord(), Release, seq, targets=targets, reason="")
    return seal_operation(op, signer_of("mallory")).record


def record_at(store: MemoryStore, tip: Oid, agent: Agent) -> bytes | None:
    """Return the newest record of an agent that a ledger has placed."""
    for commit in reversed(store.history(tip, None)):
        for blob in store.read(list(blobs(store, commit, "op"))):
            if blob and f'"agent":"{agent}"'.encode("ascii") in blob.data:
                return blob.data
    return None
