"""The ledger at the remote: fetch and adopt it, push it forward."""

from __future__ import annotations

from collections.abc import Collection

from git_coord.domain.ids import Agent, Oid
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, PushStatus, RefUpdate, Remote
from git_coord.store.refnames import LEDGER, SEEN, Family, Ref

from .context import Coord
from .exchange.one_place import judge_place, remember_place
from .exchange.refusal import host_refusal, refused_by_host
from .ledger import advance, check_anchors, fetched_ledger, open_ledger, untrusted, verified
from .lineage import give_back, lineage
from .superseded import note_superseded
from .unread_marks import note_news

SYNC_FAMILIES = (Family.CLAIMS, Family.EPOCHS, Family.REQUESTS, Family.POSTS)
LEDGER_FAMILIES = (Family.CLAIMS, Family.EPOCHS, Family.REQUESTS)
ROSTER_FAMILIES = (*SYNC_FAMILIES, Family.PRESENCE)
"""What commands fetch that show or judge presence."""
SYNCED, SYNCED_PRESENCE = "synced", "synced.presence"
"""Files that hold when this clone last agreed with the remote, in seconds since the epoch."""
OWNED = (Family.REQUESTS, Family.PRESENCE, Family.POSTS, Family.NOTES)


REPLACED = (Family.PRESENCE, Family.POSTS)
"""Families whose refs are replaced whole, so that what was there before is of no use any more."""


def remote_of(coord: Coord) -> Remote:
    """Return the remote; the caller checked that there is one."""
    assert coord.remote is not None
    return coord.remote


def fetch_and_adopt(coord: Coord, families: Collection[Family] = SYNC_FAMILIES, *, limit: float | None = None) -> None:
    """Fetch (in `limit` seconds, if that is less than usual), verify, adopt.

    Raises CoordError(UNKNOWN) without an answer, CoordError(UNTRUSTED) for a bad ledger.
    """
    if coord.head is None:
        # A clone without memory learns from what others signed which heads the ledger must contain.
        families = tuple(dict.fromkeys([*families, *ROSTER_FAMILIES]))
    replaced = [refnames.prefix(family, fetched=True) for family in REPLACED if family in families]
    before = coord.store.refs(*replaced)
    remote_of(coord).fetch(families, limit=limit)
    coord.fetched_at = coord.clock.monotonic()
    if not coord.settings.keeps_history:
        note_superseded(coord, set(before.values()) - set(coord.store.refs(*replaced).values()))
    judge_place(coord)
    adopt_fetched(coord)
    if coord.head is not None and Family.EPOCHS in families:
        give_back(coord, coord.head.state)
    note_synced(coord, families)
    if Family.POSTS in families:
        note_news(coord)
    if Family.PRESENCE in families:
        from .watched import note_watched  # noqa: PLC0415 - most fetches bring no presence

        note_watched(coord)


def note_synced(coord: Coord, families: Collection[Family] = LEDGER_FAMILIES) -> None:
    """Write down that what is here of these families is what the remote has now."""
    stamp = f"{coord.clock.now()}\n".encode("ascii")
    coord.files.note(SYNCED, stamp)
    remember_place(coord)
    if Family.PRESENCE in families:
        coord.files.note(SYNCED_PRESENCE, stamp)


def adopt_fetched(coord: Coord) -> None:
    """Take the fetched ledger as this clone's.

    1. The same: nothing. 2. Ahead: verified and adopted up to its end, or to its last good commit with an error.
    3. Gone back or vanished: pushed forward again from what was verified, and said. 4. Diverged: CoordError(UNTRUSTED).
    """
    for _ in range(3):
        tip = fetched_ledger(coord)
        if coord.head is not None and tip == coord.head.oid:
            return
        if coord.head is not None and (tip is None or _is_older(coord, tip)):
            _push_forward(coord, tip)
            return
        if tip is None or _adopt(coord, tip):
            return
        # Another process of this clone was first. Going on from the present head notes what became of our operations.
        open_ledger(coord)


def _is_older(coord: Coord, tip: Oid) -> bool:
    return tip in lineage(coord.store, coord.known.oid, None)


def _adopt(coord: Coord, tip: Oid) -> bool:
    values = coord.store.refs(LEDGER, SEEN)
    done = verified(coord, tip)
    check_anchors(coord, done)
    moved = done.head is None or advance(coord, done, values.get(LEDGER, ABSENT), values.get(SEEN))
    if done.fault is not None:
        raise untrusted(done)
    return moved


def _push_forward(coord: Coord, tip: Oid | None) -> None:
    """Restore a ledger that the remote lost, from what this clone verified."""
    update = RefUpdate(LEDGER, coord.known.oid, ABSENT if tip is None else tip)
    result = remote_of(coord).push([update])[0]
    name = remote_of(coord).name
    what = f"{name} had lost the ledger" if tip is None else f"the ledger at {name} had gone back to {tip[:10]}"
    if final := refused_by_host([result]):
        raise host_refusal(coord, final)
    if result.status is PushStatus.REJECTED:
        coord.notice(f"{what}, and it refused ours: {result.reason}")
        return
    coord.notice(f"{what}; put forward again to {coord.known.oid[:10]}")


def own_updates(coord: Coord, agents: Collection[Agent] | None = None) -> list[RefUpdate]:
    """Return what is to be pushed of this clone's own refs: each live value against the fetched one."""
    updates = []
    for family in OWNED:
        live = coord.store.refs(refnames.prefix(family))
        there = coord.store.refs(refnames.prefix(family, fetched=True))
        for ref, value in sorted(live.items()):
            name = refnames.parse(ref)
            old = there.get(refnames.fetched(ref))
            if name and name.agent and old != value and (agents is None or name.agent in agents):
                updates.append(RefUpdate(Ref(ref), value, ABSENT if old is None else old))
    return updates
