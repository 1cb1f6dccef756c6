"""The end of a run: what was claimed under it is released, and what was held before it is held as it was."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from git_coord.domain.ids import Nonce
from git_coord.domain.state import LiveClaim
from git_coord.errors import CoordError
from git_coord.lean import NamedTuple

from . import claims
from .claims import ClaimGranted, Wanted
from .context import Coord
from .ledger import view
from .selection import Selection
from .under_run import claimed_under, kept_under

Key = tuple[Nonce, int]


class GivenBack(NamedTuple):
    """The claims of which something was given back, and whether that is confirmed."""

    claims: tuple[LiveClaim, ...]
    is_confirmed: bool


def give_back(coord: Coord, run: str, reason: str) -> GivenBack:
    """Release what was claimed under a run and is held still; raises CoordError.

    What its agent held before is claimed once more as it was; where that cannot be, it stays held by the run's terms.
    """
    kept = set(kept_under(coord, run))
    for wanted, keys in _before(coord, run):
        with suppress(CoordError):
            if isinstance(claims.claim(coord, wanted), ClaimGranted):
                kept -= keys
    selected = tuple(_without(claim, kept) for claim in _held(coord, run))
    selection = Selection(tuple((claim, positions) for claim, positions in selected if positions != ()))
    if not selection.claims:
        return GivenBack((), is_confirmed=True)
    done = claims.release(coord, selection, reason)
    return GivenBack(tuple(claim for claim, _ in selection.claims), done.is_confirmed)


def _held(coord: Coord, run: str) -> list[LiveClaim]:
    mine = claimed_under(coord, run)
    return [claim for claim in view(coord)[0].held_by(coord.me.agent) if claim.op in mine]


def _before(coord: Coord, run: str) -> Iterator[tuple[Wanted, set[Key]]]:
    """Yield the claims by which the agent held, before the run, what it holds by claims of the run now."""
    kept = kept_under(coord, run)
    for claim in _held(coord, run):
        live = {at: item for at, item in claim.live() if (claim.op, at) in kept}
        for how in sorted({kept[claim.op, at] for at in live}, key=str):
            meant = {at: item for at, item in live.items() if kept[claim.op, at] == how}
            items = tuple(
                item._replace(intent=how.intent, blob=claim.pins[at] or item.blob) for at, item in meant.items()
            )
            wanted = Wanted(items, how.purpose, how.lease, how.ttl, None, claim.base)
            yield wanted, {(claim.op, at) for at in meant}


def _without(claim: LiveClaim, kept: Collection[Key]) -> tuple[LiveClaim, tuple[int, ...] | None]:
    """Return a claim with the positions of it that are not kept, None for all of it."""
    live = [at for at, _ in claim.live()]
    given = tuple(at for at in live if (claim.op, at) not in kept)
    return claim, None if len(given) == len(live) else given
