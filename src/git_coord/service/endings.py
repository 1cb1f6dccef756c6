"""Who ended a claim, when and why: read back from the ledger's own commits."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from git_coord.domain.durations import show_age
from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.items import Item
from git_coord.domain.timestamps import parse_stamp
from git_coord.errors import CoordError

from .adopt import load_head
from .context import Coord
from .history import done_since

PAST = {"break": "broken by", "takeover": "taken over by"}
KEEPING = frozenset(("claim", "renew", "join", "rejoin", "policy", "rotate"))
"""Kinds that may name a claim without ending it."""


def endings(coord: Coord, since: Oid, missing: Collection[Nonce]) -> dict[Nonce, tuple[tuple[Item, ...], str]]:
    """Return for each claim that its holder did not give up itself what it held and how it ended.

    `since` is a ledger commit at which the acting agent held them. Claiming anew replaces a claim, which is no loss.
    """
    try:
        old = load_head(coord.store, since).state.claims
        placed = done_since(coord, since)
    except CoordError:  # a ledger that was repaired may have left that head behind, and a gc have taken it
        return dict.fromkeys(missing, ((), _words(coord, None)))
    found = {}
    for nonce in missing:
        claim = old.get(nonce)
        items = tuple(item for _, item in claim.live()) if claim else ()
        if items and all(_is_own(coord, item) for item in items):
            continue  # a claim that waited has replaced it
        ending = next((op for op in placed if op["kind"] not in KEEPING and _names(op, nonce)), None)
        if ending is None and any(op["agent"] == coord.me.agent and op["kind"] == "claim" for op in placed):
            continue
        # Who lets its claims be settled is done with them.
        if ending is None or (ending["agent"] != coord.me.agent and ending["kind"] != "settle"):
            found[nonce] = items, _words(coord, ending)
    return found


def _is_own(coord: Coord, item: Item) -> bool:
    state = coord.known.state
    return any(state.claims[nonce].holder == coord.me.agent for nonce, _ in state.index.same(item))


def _names(op: dict[str, Any], nonce: Nonce) -> bool:
    listed = [each for value in op.values() if isinstance(value, list) for each in value]
    return op.get("op") == nonce or any(
        nonce == each or (isinstance(each, dict) and nonce in each.values()) for each in listed
    )


def _words(coord: Coord, op: dict[str, Any] | None) -> str:
    if op is None:
        return "the ledger does not have it any more"
    reason = op.get("reason")
    why = f', "{reason}"' if reason else ""
    age = show_age(coord.clock.now() - parse_stamp(op["at"]))
    return f"{PAST.get(op['kind'], 'ended by')} {op['agent']} {age} ago{why}"
