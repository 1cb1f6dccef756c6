"""Whether a wait is in vain: it is for holders who are gone, and keeps others from taking over."""

from __future__ import annotations

from git_coord.domain.lease import is_over, lease_end
from git_coord.domain.obstacles import in_the_way
from git_coord.domain.state import LiveClaim, Waiter
from git_coord.errors import CoordError, Kind

from .context import Coord
from .presence import beats
from .takeover import examine, look_again


def is_in_vain(coord: Coord, waiter: Waiter) -> bool:
    """Tell whether nobody is ahead of this waiter, and every holder in its way could be taken over from now.

    Only where no lease runs by the heartbeats known here anything is fetched for that, so that each look counts as
    having watched. Without an answer of the remote nobody is gone.
    """
    found = in_the_way(coord.known.state, coord.me.agent, waiter.op.items, coord.clock.now(), waiter.queue)
    claims = {conflict.claim.op: conflict.claim for conflict in found}
    if not claims or not _may_be_over(coord, *claims.values()):
        return False
    try:
        began = look_again(coord)
        live = [coord.known.state.claims.get(op) for op in claims]
        return None not in live and not any(look.failed for look in examine(coord, list(filter(None, live)), began))
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN:
            raise
        return False


def _may_be_over(coord: Coord, *claims: LiveClaim) -> bool:
    """Tell whether these are claims, of no waiter, whose leases no heartbeat that is known of keeps running."""
    state, now = coord.known.state, coord.clock.now()
    if state.policy.takeover == "never" or not all(claim.token for claim in claims):
        return False
    known = beats(coord, state)
    return all(is_over(lease_end(claim, known.get(claim.holder)), now, state.skew) for claim in claims)
