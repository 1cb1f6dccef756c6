"""Claims and releases that are published in this clone and left for a sync: for callers that must not wait."""

from __future__ import annotations

from git_coord.domain.obstacles import kept_from
from git_coord.domain.statements import Claim, Release, Target
from git_coord.errors import CoordError, Kind

from . import claims
from .claiming import ClaimGranted, ClaimRefused, Wanted, cancel, check_ttl, held_already, hold_error
from .context import Coord
from .ledger import view
from .operations import operation, require_membership
from .presence import show_again
from .requests import publish
from .selection import Selection


def claim_here(coord: Coord, wanted: Wanted) -> ClaimGranted | ClaimRefused:
    """Claim as far as this clone knows; with a remote the grant is unconfirmed, and a refusal nobody else's word.

    Raises CoordError as `claims.claim` does, except that no remote is asked.
    """
    if coord.remote is None:
        return claims.claim(coord, wanted)
    require_membership(coord)
    check_ttl(coord, wanted.ttl)
    state, _ = view(coord)
    if found := kept_from(state, coord.me.agent, wanted.items, coord.clock.now()):
        return ClaimRefused(found)
    if held_back := hold_error(state, coord.clock.now()):
        if own := held_already(coord, wanted.items):
            return own
        raise held_back
    show_again(coord)
    fields = wanted._asdict()
    made = publish(coord, lambda seq: operation(coord, Claim, seq, not_after=None, **fields), coord.own_signer)
    nonce = made.sealed.op.nonce
    state, _ = view(coord)
    if nonce in state.claims:
        return ClaimGranted(state.claims[nonce], is_confirmed=False)
    cancel(coord, nonce)
    if found := kept_from(state, coord.me.agent, wanted.items, coord.clock.now()):
        return ClaimRefused(found)
    raise CoordError(Kind.UNKNOWN, "the claim cannot be placed here", next="git coord sync")


def release_here(coord: Coord, selection: Selection, reason: str) -> None:
    """Give back what was selected, here; with a remote others see it after the next sync."""
    if coord.remote is None:
        claims.release(coord, selection, reason)
        return
    require_membership(coord)
    targets = tuple(Target(claim.op, positions) for claim, positions in selection.claims)
    publish(coord, lambda seq: operation(coord, Release, seq, targets=targets, reason=reason), coord.own_signer)
