"""Pending claims of this clone that the ledger refused: said by whichever command learns it, and only once."""

from __future__ import annotations

from collections.abc import Iterable

from git_coord.domain.chain import OpId, Placed, Sealed
from git_coord.domain.items import show_name
from git_coord.domain.ledger import Refused
from git_coord.domain.statements import Cancel, Claim

from .context import Coord
from .requests import read_requests

Waiting = dict[OpId, Sealed]


def waiting(coord: Coord) -> Waiting:
    """Return this clone's operations that are not in the verified ledger yet."""
    requests = read_requests(coord, fetched=False)
    return {sealed.id: sealed for request in requests for sealed in request.operations.values() if sealed}


def settled(coord: Coord, waited: Waiting) -> tuple[list[Placed], list[Placed]]:
    """Return what was placed since, and the refused claims among it; one that was cancelled is no loss.

    What can never be placed any more is said here.
    """
    _tell_overtaken(coord, waited)
    given_up = {(sealed.op.agent, sealed.op.op) for sealed in waited.values() if isinstance(sealed.op, Cancel)}
    known = [coord.outcomes[name] for name in waited if name in coord.outcomes]
    lost = [placed for placed in known if _is_lost(placed) and placed.sealed.id not in given_up]
    return [placed for placed in known if placed not in lost], lost


def _tell_overtaken(coord: Coord, waited: Waiting) -> None:
    """Say what can never be placed, because another clone of the agent had its number placed first."""
    agents = coord.known.state.agents if coord.head is not None else {}
    for sealed in waited.values():
        member = agents.get(sealed.op.agent)
        if member is not None and sealed.id not in coord.outcomes and sealed.op.seq <= member.seq:
            coord.give_up(sealed, f"another clone of {sealed.op.agent} has used its number")


def _is_lost(placed: Placed) -> bool:
    return isinstance(placed.outcome, Refused) and isinstance(placed.sealed.op, Claim)


def tell_losses(coord: Coord, waited: Waiting) -> None:
    """Say which pending claims were refused on the way to the present head."""
    tell(coord, settled(coord, waited)[1])


def tell(coord: Coord, lost: Iterable[Placed]) -> None:
    """Say of each of these claims that it was refused, and why."""
    for placed in lost:
        assert isinstance(placed.outcome, Refused)
        assert isinstance(placed.sealed.op, Claim)
        names = ", ".join(show_name(item.kind, item.name) for item in placed.sealed.op.items[:3])
        more = "" if len(placed.sealed.op.items) <= 3 else f" and {len(placed.sealed.op.items) - 3} more"
        first = next(iter(placed.outcome.conflicts), None)
        why = placed.outcome.reason.value
        if first is not None:
            does = "holds" if first.claim.token else "waits for"
            why = f"{first.claim.holder} {does} {show_name(first.held.kind, first.held.name)}"
        coord.notice(f"lost: {placed.sealed.op.agent}'s claim on {names}{more} was refused, {why}")
