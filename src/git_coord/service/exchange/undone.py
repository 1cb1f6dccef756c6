"""What its author was told it does not have: never to be granted by whoever meets the operation in another chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from git_coord.domain.chain import Sealed
from git_coord.domain.outcome import Outcome, Refusal, Refused
from git_coord.domain.state import State
from git_coord.domain.statements import Cancel
from git_coord.errors import CoordError
from git_coord.service.context import Coord
from git_coord.service.losses import names_of
from git_coord.service.operations import operation
from git_coord.service.requests import publish


def make_final(coord: Coord, placed: Iterable[tuple[Sealed, Outcome | None]]) -> None:
    """Place a cancel behind each own operation that a hold refused.

    The old ledger, put back, knows nothing of the refusal, while the operation still lies in the agent's requests:
    whoever helps there would grant it. The cancel takes its place, and has the higher number.
    """
    for sealed, outcome in placed:
        is_by_hold = isinstance(outcome, Refused) and outcome.reason is Refusal.RESTORED
        if is_by_hold and coord.identity is not None and sealed.op.agent == coord.me.agent:
            _place_cancel(coord, sealed)


def _place_cancel(coord: Coord, sealed: Sealed) -> None:
    from git_coord.service.place import place_at_remote  # noqa: PLC0415 - which calls this

    try:
        place_at_remote(coord, _cancel(coord, sealed))
    except CoordError as trouble:
        coord.notice(f"that it is refused could not be sent ({trouble.message}): the next git coord sync does")


def give_up_granted(coord: Coord, refused: Sequence[Sealed], end: State) -> None:
    """Take back what another chain granted the acting agent of what it was told it does not have."""
    if coord.identity is None or coord.signer is None:
        return
    me = coord.me.agent
    for sealed in refused:
        if sealed.op.agent != me:
            continue
        claim, waiter = end.claims.get(sealed.op.nonce), end.waiting.get(sealed.op.nonce)
        if (claim is not None and claim.holder == me) or (waiter is not None and waiter.agent == me):
            _cancel(coord, sealed)
            coord.notice(f"{names_of(sealed)}: given back; it was refused, and granted in a ledger put back since")


def _cancel(coord: Coord, sealed: Sealed) -> Sealed:
    return publish(coord, lambda seq: operation(coord, Cancel, seq, op=sealed.op.nonce), coord.own_signer).sealed
