"""What this clone's agents had in a part of the ledger that was lost, and could not be placed again: noted as lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from git_coord.domain.chain import Head, OpId, Placed
from git_coord.domain.items import show_name
from git_coord.domain.ledger import Refusal, Refused
from git_coord.domain.message import describe
from git_coord.domain.obstacles import conflicts
from git_coord.domain.state import State
from git_coord.domain.statements import Checkpoint, Claim, Replay, Restore, Takeover
from git_coord.service.adopt import Walk
from git_coord.service.context import Coord
from git_coord.service.losses import Loss, keep_losses, names_of

from .own_refs import own_agents

HARMLESS = frozenset((Refusal.NOT_HELD, Refusal.ITEMS, Refusal.SETTLING, Refusal.NOT_BLOCKED, Refusal.SESSION))
"""Refusals of what gives something back, or renews it: whoever had it hears that it is gone."""


def note_lost_part(coord: Coord, here: Walk, placed: Mapping[OpId, Placed], end: Head) -> None:
    """Write down, before the ledger moves, what its agents lose by going over from the chain of `here` to `end`."""
    assert here.head is not None
    old = here.head.state
    agents = _agents(coord)
    for before in here.placed.values():
        if before.sealed.op.agent in agents and not isinstance(before.outcome, Refused):
            losses = list(_losses(before, placed.get(before.sealed.id), old, end))
            if losses:
                keep_losses(coord, before.sealed.op.agent, losses)


def _agents(coord: Coord) -> set[str]:
    return {str(agent) for agent in own_agents(coord)}


def _losses(before: Placed, after: Placed | None, old: State, end: Head) -> Iterator[Loss]:
    op = before.sealed.op
    refused = after.outcome if after is not None and isinstance(after.outcome, Refused) else None
    if isinstance(op, Restore | Replay | Checkpoint) or (after is not None and refused is None):
        return
    if isinstance(op, Claim | Takeover):
        if op.nonce not in old.claims and op.nonce not in old.waiting:
            return  # over by then
        found = conflicts(end.state, op.agent, op.items)
        why = refused.reason.value if refused else "it could not be placed again"
        holder = token = None
        if found:
            holder, token = str(found[0].claim.holder), int(found[0].claim.token)
            why = f"{holder} holds {show_name(found[0].held.kind, found[0].held.name)} now"
        words = f"lost: {op.agent}'s claim on {names_of(before.sealed)}, with a part of the ledger that was lost: {why}"
    else:
        if refused is not None and refused.reason in HARMLESS:
            return
        holder = token = None
        why = refused.reason.value if refused else "it could not be placed again"
        words = f"lost: a {op.KIND} of {op.agent}, with a part of the ledger that was lost: {why}"
    line = describe(op, refused) if refused else f"{op.agent} cannot {op.KIND}: {why}"
    # Its number says nothing here: the chain that had it is not this clone's any more.
    yield Loss(op.agent, op.nonce, 0, end.oid, words, line, names_of(before.sealed), holder, token, why)
