"""The ledger at the remote: fetch and adopt it, push it forward."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from git_coord.domain.ids import Agent, Oid
from git_coord.domain.statements import RECORD_LIMIT
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate, Remote
from git_coord.store.refnames import LEDGER, SEEN, Family, Ref

from .announce import FILES, KINDS, believed
from .context import Coord
from .exchange.moved import check_moved
from .exchange.one_place import judge_place, remember_place
from .exchange.own_refs import own_live
from .ledger import BesideError, advance, check_anchors, fetched_ledger, open_ledger, untrusted, verified
from .lineage import give_back, lineage
from .recent import persistently, restore
from .superseded import note_superseded
from .unread_marks import note_news

SYNC_FAMILIES = (Family.CLAIMS, Family.EPOCHS, Family.REQUESTS, Family.POSTS)
LEDGER_FAMILIES = (Family.CLAIMS, Family.EPOCHS, Family.REQUESTS)
ROSTER_FAMILIES = (*SYNC_FAMILIES, Family.PRESENCE)
"""What commands fetch that show or judge presence."""
SYNCED, SYNCED_PRESENCE = "synced", "synced.presence"
"""Files that hold when this clone last agreed with the remote, in seconds since the epoch."""
ADOPT_TRIES = 5
"""While the remote moves under a ledger that is put back; three are enough when only this clone is busy."""
OWNED = (Family.REQUESTS, Family.PRESENCE, Family.POSTS, Family.NOTES)


REPLACED = (Family.PRESENCE, Family.POSTS)
"""Families whose refs are replaced whole, so that what was there before is of no use any more."""


def remote_of(coord: Coord) -> Remote:
    """Return the remote; the caller checked that there is one."""
    assert coord.remote is not None
    return coord.remote


def fetch_and_adopt(coord: Coord, families: Collection[Family] = SYNC_FAMILIES) -> None:
    """Fetch, verify, adopt; what a prune had taken of ours is fetched again.

    Raises CoordError(UNKNOWN) without an answer, CoordError(UNTRUSTED) for a bad ledger.
    """
    persistently(coord, lambda: _fetch_and_adopt(coord, families))


def _fetch_and_adopt(coord: Coord, families: Collection[Family]) -> None:
    if coord.head is None:
        # A clone without memory learns from what others signed which heads the ledger must contain.
        families = tuple(dict.fromkeys([*families, *ROSTER_FAMILIES]))
    replaced = [refnames.prefix(family, fetched=True) for family in REPLACED if family in families]
    before = coord.store.refs(*replaced)
    _fetch(coord, families)
    coord.fetched_at = coord.clock.monotonic()
    if not coord.settings.keeps_history:
        note_superseded(coord, set(before.values()) - set(coord.store.refs(*replaced).values()))
    judge_place(coord)
    adopt_fetched(coord)
    if coord.head is not None and Family.EPOCHS in families:
        give_back(coord, coord.head.state)
    check_moved(coord)
    note_synced(coord, families)
    if Family.POSTS in families:
        _merge_posts(coord, before)
        note_news(coord)
    if Family.PRESENCE in families:
        from .watched import note_watched  # noqa: PLC0415 - most fetches bring no presence

        note_watched(coord)


def _merge_posts(coord: Coord, before: Mapping[Ref, Oid]) -> None:
    """Keep what the acting agent has posted here, and not sent, when it has posted in another clone meanwhile."""
    if coord.identity is None:
        return
    ref = refnames.fetched(refnames.owned(Family.POSTS, coord.me.agent))
    if before.get(ref) != coord.store.refs(ref).get(ref):
        from .board.two_lists import merge_lists  # noqa: PLC0415 - only for news of one's own

        merge_lists(coord, before.get(ref))


def _fetch(coord: Coord, families: Collection[Family]) -> None:
    """Fetch; once more where a prune had taken an object that a ref of ours names, at which git stumbles."""
    try:
        remote_of(coord).fetch(families)
    except CoordError:
        if not restore(coord):
            raise
        remote_of(coord).fetch(families)


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
    3. Gone back or vanished: put back from what was verified, which the ledger then says (`exchange/restore.py`).
    4. Restored by others, without all that this clone has: taken over, with the rest placed again. Raises
    CoordError(UNKNOWN) while the remote lacks what this clone knows, CoordError(UNTRUSTED) for what does not verify.
    """
    for _ in range(ADOPT_TRIES):
        tip = fetched_ledger(coord)
        if tip == (coord.head.oid if coord.head is not None else None):
            return
        try:
            is_done = _take_over(coord, tip)
        except CoordError as trouble:
            if trouble.kind is Kind.UNKNOWN:
                forget_synced(coord)
            raise
        if is_done:
            return
        # Another process of this clone was first. Going on from the present head notes what became of our operations.
        open_ledger(coord)
    forget_synced(coord)
    from .exchange.restore import lacking  # noqa: PLC0415 - hardly ever needed

    raise lacking(coord, "and does not take it")


def _take_over(coord: Coord, tip: Oid | None) -> bool:
    """Bring this clone and a remote that has another ledger to one; False when somebody else was first."""
    if coord.head is None or (tip is not None and not _is_older(coord, tip)):
        assert tip is not None
        try:
            return _adopt(coord, tip)
        except BesideError:
            from .exchange.restore import merge  # noqa: PLC0415 - hardly ever needed

            values = coord.store.refs(LEDGER, SEEN)
            is_done = merge(coord, tip, values.get(LEDGER), values.get(SEEN))
    else:
        from .exchange.restore import put_back  # noqa: PLC0415 - hardly ever needed

        is_done = put_back(coord, tip)
    if not is_done:
        remote_of(coord).fetch(LEDGER_FAMILIES)
    return is_done


def forget_synced(coord: Coord) -> None:
    """Have the next read ask: what is here is not what the remote has, however young the picture."""
    for name in (SYNCED, SYNCED_PRESENCE):
        coord.files.remove(name)


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


def _is_outdated(coord: Coord, agent: Agent, family: Family, live: Oid, there: Oid) -> bool:
    """Tell whether another clone of an agent has said something newer; what the acting one says is above both."""
    if family not in REPLACED or coord.head is None or (coord.identity and agent == coord.identity.agent):
        return False
    rows = coord.store.read([f"{oid}:{FILES[family]}" for oid in (live, there)], RECORD_LIMIT)
    records = [believed(coord, coord.head, agent, row.data, KINDS[family]) if row else None for row in rows]
    return records[1] is not None and (records[0] is None or records[0].seq < records[1].seq)


def own_updates(coord: Coord, agents: Collection[Agent] | None = None) -> list[RefUpdate]:
    """Return what is to be pushed of this clone's own refs: each live value against the fetched one."""
    updates = []
    for family in OWNED:
        live = own_live(coord, refnames.prefix(family))
        there = coord.store.refs(refnames.prefix(family, fetched=True))
        for ref, value in sorted(live.items()):
            name = refnames.parse(ref)
            old = there.get(refnames.fetched(ref))
            if name and name.agent and old != value and (agents is None or name.agent in agents):
                if old is not None and _is_outdated(coord, name.agent, family, value, old):
                    continue
                updates.append(RefUpdate(Ref(ref), value, ABSENT if old is None else old))
    return updates
