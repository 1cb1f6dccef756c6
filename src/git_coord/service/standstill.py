"""Whether a claim that was granted is still held when this process comes to say so: it may have stood still."""

from __future__ import annotations

from collections.abc import Callable

from git_coord.domain.lease import lease_end
from git_coord.errors import CoordError, Kind

from .claims import ClaimGranted
from .context import Coord
from .ledger import open_ledger
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt


def check_still_held(coord: Coord, granted: ClaimGranted, look_again: Callable[[], None]) -> None:
    """Look again when the lease is over before the grant could be told: this process stood still meanwhile.

    `look_again` lets the store forget what it has read of our refs.
    Raises CoordError(LOST) when the claim is not held any more, CoordError(UNKNOWN) when that cannot be found out.
    """
    if not granted.is_confirmed or coord.clock.now() <= lease_end(granted.claim, None):
        return
    look_again()
    open_ledger(coord)
    if coord.remote is not None:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    token = granted.claim.token
    if granted.claim.op not in coord.known.state.claims:
        raise CoordError(
            Kind.LOST,
            f"#{token} was granted, but its lease ended before this command could say so, and it is not held any more",
            next="git coord status",
            data={"token": token},
        )
    coord.notice(f"the lease of #{token} is over already: this command stood still; git coord renew '#{token}'")
