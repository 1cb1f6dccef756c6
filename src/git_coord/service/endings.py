"""Who ended a claim, when and why: read back from the ledger's own commits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from git_coord.domain.durations import show_age
from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.items import Item
from git_coord.domain.state import LiveClaim
from git_coord.domain.timestamps import parse_stamp
from git_coord.errors import CoordError
from git_coord.lean import NamedTuple

from .adopt import load_head
from .context import Coord
from .history import done_since

PAST = {"break": "broken by", "expel": "ended with its holder by", "takeover": "taken over by", "settle": "settled by"}
KEEPING = frozenset(("claim", "renew", "join", "rejoin", "policy", "rotate", "restore", "replay"))
"""Kinds that may name a claim without ending it."""


class Ended(NamedTuple):
    """How a claim ended: what it held, the operation's kind, author, `at` and reason; None where it is not known."""

    items: tuple[Item, ...]
    kind: str | None = None
    by: str | None = None
    at: int | None = None
    reason: str = ""

    @property
    def is_loss(self) -> bool:
        """Whether somebody took it: who lets its claims be settled is done with them."""
        return self.kind != "settle"

    def words(self, now: int) -> str:
        """Say it, with how long ago it was."""
        if self.by is None or self.at is None:
            return "the ledger does not have it any more"
        return f"{self._who()} {show_age(now - self.at)} ago{self._why()}"

    def words_at(self, clock: str) -> str:
        """Say it, with when it was, as a clock showed it."""
        return f"{self._who()} at {clock}{self._why()}" if self.by is not None else self.words(0)

    def _who(self) -> str:
        return f"{PAST.get(self.kind or '', 'ended by')} {self.by}"

    def _why(self) -> str:
        return f', "{self.reason}"' if self.reason else ""


def endings(coord: Coord, since: Oid, missing: Collection[Nonce]) -> dict[Nonce, Ended]:
    """Return for each claim that its holder did not give up itself how it ended.

    `since` is a ledger commit at which the acting agent held them. Claiming anew replaces a claim, which is no loss.
    """
    try:
        old = load_head(coord.store, since).state.claims
        placed = done_since(coord, since)
    except CoordError:  # a ledger that was repaired may have left that head behind, and a gc have taken it
        return dict.fromkeys(missing, Ended(()))
    found = {}
    for nonce in missing:
        items = _items(old, nonce)
        if items and all(_is_own(coord, item) for item in items):
            continue  # a claim that waited has replaced it
        ending = next((op for op in placed if op["kind"] not in KEEPING and _names(op, nonce)), None)
        if ending is None and any(op["agent"] == coord.me.agent and op["kind"] == "claim" for op in placed):
            continue
        if ending is None:
            found[nonce] = Ended(items)
        elif ending["agent"] != coord.me.agent:
            found[nonce] = _ended(items, ending)
    return found


def _is_own(coord: Coord, item: Item) -> bool:
    state = coord.known.state
    return any(state.claims[nonce].holder == coord.me.agent for nonce, _ in state.index.same(item))


def _items(claims: Mapping[Nonce, LiveClaim], nonce: Nonce) -> tuple[Item, ...]:
    claim = claims.get(nonce)
    return tuple(item for _, item in claim.live()) if claim else ()


def _names(op: dict[str, Any], nonce: Nonce) -> bool:
    listed = [each for value in op.values() if isinstance(value, list) for each in value]
    return op.get("op") == nonce or any(
        nonce == each or (isinstance(each, dict) and nonce in each.values()) for each in listed
    )


def _ended(items: tuple[Item, ...], op: dict[str, Any]) -> Ended:
    return Ended(items, op["kind"], op["agent"], parse_stamp(op["at"]), op.get("reason") or "")
