"""The picture for the guard: whoever moves the ledger or a request ref writes it anew."""

from __future__ import annotations

from collections.abc import Iterator

from git_coord.domain.fold import Fold, fold_name
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.obstacles import conflicts
from git_coord.domain.overlap import contains
from git_coord.domain.state import State, Waiter
from git_coord.errors import CoordError, Kind
from git_coord.guard import snapshot
from git_coord.store import refnames
from git_coord.store.refnames import LEDGER, Family

from .beat import local_beat
from .context import Coord
from .gone import note_others
from .leases import Gone, good_until, remember
from .ledger import open_ledger, view
from .sessions import write_sessions

TRIES = 5
"""How often the ledger may move under our eyes; each time somebody else made progress and writes the picture too."""


def write_snapshot(coord: Coord) -> list[Gone]:
    """Write `claims.snap` from the view of this clone, and what the agent holds; return what was taken from it.

    Without a ledger there is nothing to write.

    The refs are read before the view is made from them: should one move in between, the stamp is older than the
    picture, the guard sees other refs, and the picture is made again. Raises CoordError(UNKNOWN) when the ledger never
    stands still, OSError when the disk refuses.
    """
    for _ in range(TRIES):
        refs = coord.store.refs(LEDGER, refnames.prefix(Family.REQUESTS))
        if coord.head is None or refs.get(LEDGER) != coord.head.oid:
            if open_ledger(coord) is None:
                coord.files.remove(snapshot.CLAIMS_FILE)
                return []
            continue
        state, unconfirmed = view(coord)
        stamp = b"".join(b"%s %s\n" % (oid.encode("ascii"), ref.encode()) for ref, oid in sorted(refs.items()))
        items = _items(coord, state, unconfirmed)
        write_sessions(coord)
        coord.files.write(snapshot.CLAIMS_FILE, snapshot.encode_claims(state.fold.value, stamp, items))
        note_others(coord, coord.known.state)
        return remember(coord, state)
    raise CoordError(Kind.UNKNOWN, "the ledger keeps moving")


def _items(coord: Coord, state: State, unconfirmed: frozenset[str]) -> list[snapshot.LiveItem]:
    """Return the live items; each ends when its holder, should that be an agent of this clone, can vouch no longer."""
    found: list[snapshot.LiveItem] = []
    beats = {holder: local_beat(coord, state, holder) for holder in {claim.holder for claim in state.claims.values()}}
    for claim in state.claims.values():
        token = None if claim.op in unconfirmed else claim.token
        agent, end = claim.holder.encode("ascii"), good_until(coord, claim, beats[claim.holder])
        for _, item in claim.live():
            if item.kind.is_file:
                kind = b"P" if item.kind is ItemKind.PATH else b"G"
                intent = b"e" if item.intent is Intent.EDIT else b"r"
                found.append((_folded(item.name, state.fold), kind, intent, agent, token, end))
    return found + [
        _asked(waiter, item, state.fold) for waiter in state.waiting.values() for item in _keeping_off(state, waiter)
    ]


def _keeping_off(state: State, waiter: Waiter) -> Iterator[Item]:
    """Yield what a waiter may keep newcomers off; not what a holder has that it waits for: others meet that first."""
    for item in waiter.op.items:
        found = conflicts(state, waiter.agent, [item]) if item.kind.is_file else ()
        if item.kind.is_file and not any(_is_met_first(each.held, item, state.fold) for each in found):
            yield item


def _is_met_first(held: Item, item: Item, fold: Fold) -> bool:
    """Tell whether every file that meets the item meets what is held: one that is a folder above a path, no glob."""
    return contains(held, item, fold) and (held.kind is ItemKind.PATH or item.kind is ItemKind.GLOB)


def _asked(waiter: Waiter, item: Item, fold: Fold) -> snapshot.LiveItem:
    """Return the line of a waiter's item: for others a reason to look closer, for itself never a claim."""
    kind = b"P" if item.kind is ItemKind.PATH else b"G"
    return _folded(item.name, fold), kind, b"r", waiter.agent.encode("ascii"), None, waiter.op.at + NEVER


NEVER = 366 * 86400
"""Seconds after which no claim waits any more: a line that must not count as an own claim that lapsed."""


def _folded(name: str, fold: Fold) -> bytes:
    return fold_name(name, fold).encode(errors="surrogateescape")
