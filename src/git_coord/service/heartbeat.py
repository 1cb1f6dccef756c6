"""A heartbeat pushed by itself, when no other push has carried one for long enough."""

from __future__ import annotations

from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus
from git_coord.store.refnames import Family

from .beat import beat_if_due, note_pushed
from .context import Coord
from .exchange.parts import push
from .exchange.refusal import host_refusal
from .leases import note_trouble, own_leases
from .ledger import open_ledger
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt, own_updates


def push_beat(coord: Coord, *, asks: bool = False) -> bool:
    """Push the agent's heartbeat when it is due; `asks` also looks for what became of its claims. Tell if it was due.

    A claim that could be vouched for no longer may be somebody else's by now: the beat that would vouch for it again
    is acknowledged only after the ledger was read. Raises CoordError when the remote does not take it, or gives no
    answer, which is also written down for the next command to say.
    """
    if coord.remote is None or open_ledger(coord) is None:
        return False
    is_over = any(coord.clock.now() > own.until for own in own_leases(coord, coord.known.state))
    is_due = beat_if_due(coord) or _is_unpushed(coord)
    try:
        results = _push(coord) if is_due else []
        if is_over or asks:
            _ask(coord)
        if is_due:
            note_pushed(coord, results)
    except CoordError as trouble:
        note_trouble(coord, trouble.message)
        raise
    return is_due


def _is_unpushed(coord: Coord) -> bool:
    ref = refnames.owned(Family.PRESENCE, coord.me.agent)
    there = refnames.fetched(ref)
    values = coord.store.refs(ref, there)
    return not coord.settings.keeps_history and values.get(ref) != values.get(there)


def _push(coord: Coord) -> list[PushedRef]:
    ref = refnames.owned(Family.PRESENCE, coord.me.agent)
    for _ in range(2):
        updates = [update for update in own_updates(coord, [coord.me.agent]) if update.ref == ref]
        if not updates:
            return [PushedRef(ref, PushStatus.SAME, "")]
        coord.reach("before beat")
        results = push(coord, updates)
        coord.reach("after beat")
        if results[0].status is not PushStatus.REJECTED:
            return results
        fetch_and_adopt(coord, (*LEDGER_FAMILIES, Family.PRESENCE))  # another clone of the agent's pushed its own
    raise host_refusal(coord, results[0])


def _ask(coord: Coord) -> None:
    try:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    except CoordError as trouble:
        if trouble.kind is Kind.UNTRUSTED:
            coord.notice(trouble.message)
        raise
