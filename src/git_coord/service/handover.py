"""Handing claims over: one operation moves one claim, or a part of it, so that nobody can come in between."""

from __future__ import annotations

from collections.abc import Callable

from git_coord.domain.ids import Agent
from git_coord.domain.items import show_name
from git_coord.domain.ledger import Change, Conflict, Done, Outcome, Refusal, Refused, Served
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Release, Target
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .claiming import refused
from .context import Coord
from .operations import operation, require_membership
from .place import UnreachableError, submit
from .requests import publish
from .selection import Selection


class HandedOver(NamedTuple):
    """A claim before and after, what its receiver has now (None while the remote is silent), and who was served."""

    left: Change
    moved: LiveClaim | None
    served: tuple[Served, ...] = ()


def hand_over(coord: Coord, selection: Selection, to: Agent, reason: str) -> list[HandedOver]:
    """Hand over each selected claim, or the positions of it, to another member.

    Each is an operation of its own: what was handed over before an error stays so, and its `data` says which.
    Raises CoordError: USAGE for oneself, ERROR for who has not joined, CONFLICT with what the giver keeps or when the
    receiver would wait for itself, LOST for what is not held any more.
    """
    require_membership(coord)
    check_receiver(coord, to)
    done: list[HandedOver] = []
    for claim, positions in selection.claims:
        try:
            done.append(_hand_over(coord, claim, positions, to, reason))
        except CoordError as trouble:
            raise _with_done(trouble, done) from None
    return done


def hand_over_here(coord: Coord, selection: Selection, to: Agent, reason: str) -> None:
    """Hand over without waiting: a sync carries it out, and what is refused then stays with the giver.

    Raises CoordError as `hand_over` does, for what can be known in this clone.
    """
    if coord.remote is None:
        hand_over(coord, selection, to, reason)
        return
    require_membership(coord)
    check_receiver(coord, to)
    for claim, positions in selection.claims:
        publish(coord, _statement(coord, claim, positions, to, reason), coord.own_signer)


def check_receiver(coord: Coord, to: Agent) -> None:
    """Raise CoordError when nothing can be handed over to this agent."""
    if to == coord.me.agent:
        raise CoordError(Kind.USAGE, f"--to {to}: that is this agent itself")
    if to not in coord.known.state.agents:
        raise CoordError(Kind.ERROR, f"no agent {to} has joined", next="git coord presence", data={"to": to})


def _with_done(trouble: CoordError, done: list[HandedOver]) -> CoordError:
    """Return the error with what was handed over before it."""
    tokens = [int(each.moved.token) for each in done if each.moved]
    if not tokens:
        return trouble
    message = f"{trouble.message}; handed over before that: {', '.join(f'#{token}' for token in tokens)}"
    return CoordError(trouble.kind, message, next=trouble.next, data={**trouble.data, "handed": tokens})


def _hand_over(coord: Coord, claim: LiveClaim, positions: tuple[int, ...] | None, to: Agent, reason: str) -> HandedOver:
    try:
        outcome = submit(coord, _statement(coord, claim, positions, to, reason)).outcome
    except UnreachableError as trouble:
        coord.notice(f"pending: {trouble.message}; the next sync carries it out")
        return HandedOver(Change(claim, claim), None)
    if isinstance(outcome, Done):
        left, made = outcome.changes
        return HandedOver(left, made.after, outcome.queueing.served)
    raise _refused(outcome, claim, to)


def _statement(
    coord: Coord, claim: LiveClaim, positions: tuple[int, ...] | None, to: Agent, reason: str
) -> Callable[[int], Release]:
    """Return what makes the statement with a `seq`."""
    targets = (Target(claim.op, positions),)
    return lambda seq: operation(coord, Release, seq, targets=targets, reason=reason, to=to)


def _refused(outcome: Outcome | None, claim: LiveClaim, to: Agent) -> CoordError:
    match outcome:
        case Refused(reason=Refusal.CONFLICT, conflicts=found) if found:
            return _kept(found[0], claim, to)
        case Refused(reason=Refusal.RECEIVER):
            return CoordError(Kind.ERROR, f"no agent {to} has joined", next="git coord presence", data={"to": to})
        case _:
            return refused(outcome)


def _kept(found: Conflict, claim: LiveClaim, to: Agent) -> CoordError:
    """Say what would be in the receiver's way: mostly what the giver keeps."""
    asked, held = (show_name(item.kind, item.name) for item in (found.asked, found.held))
    whose = "you keep" if found.claim.holder == claim.holder else f"{found.claim.holder} holds"
    return CoordError(
        Kind.CONFLICT,
        f"{to} cannot have {asked}: {whose} {held} (#{found.claim.token})",
        next=f"git coord release '#{found.claim.token}'" if found.claim.holder == claim.holder else "git coord status",
        data={"to": to, "holder": found.claim.holder, "path": asked, "held": held, "token": found.claim.token},
    )
