"""The rules of operations other than those that make claims; each takes the state that has counted the operation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .changing import changed, cut, unqueued
from .granting import hand_over
from .ids import Agent
from .outcome import Change, Done, Outcome, Refusal, Refused
from .state import Block, Epoch, Expelled, KeySince, Member, State
from .statements import (
    BlockTasks,
    Break,
    Cancel,
    Checkpoint,
    Expel,
    Join,
    Move,
    Policy,
    Rejoin,
    Release,
    Renew,
    Rotate,
    Settle,
    Unblock,
)


def policy(state: State, op: Policy) -> Outcome:
    """Replace the policy, all but what is fixed at birth."""
    if (op.fold, op.skew) != (state.policy.fold, state.policy.skew):
        return Refused(state, Refusal.FIXED)
    return Done(replace(state, policy=op))


def move(state: State, op: Move) -> Outcome:
    """Say where the ledger goes on; that nobody places anything more where it was is for its readers."""
    return Done(replace(state, moved=op))


def join(state: State, op: Join) -> Outcome:
    """Add a member with its first key; one that was put out comes back with a new one behind those it had."""
    before = state.expelled.get(op.agent)
    keys = (*(before.keys if before else ()), KeySince(state.counters.ops, op.key))
    member = Member(keys=keys, seq=op.seq, session=op.session, at=op.at)
    expelled = {agent: one for agent, one in state.expelled.items() if agent != op.agent}
    return Done(replace(state, agents={**state.agents, op.agent: member}, expelled=expelled))


def expel(state: State, op: Expel) -> Outcome:
    """Put members out, all or none, and end what they hold and wait for."""
    if any(agent not in state.agents for agent in op.agents):
        return Refused(state, Refusal.MEMBER)
    changes = tuple(Change(claim, None) for claim in state.claims.values() if claim.holder in op.agents)
    left = tuple(waiter for waiter in state.waiting.values() if waiter.agent in op.agents)
    out = {a: Expelled(state.agents[a].keys, state.counters.ops, op.agent, op.at, op.reason) for a in op.agents}
    members = {agent: member for agent, member in state.agents.items() if agent not in out}
    after = replace(changed(unqueued(state, left), changes), agents=members, expelled={**state.expelled, **out})
    return Done(after, changes, left)


def rejoin(state: State, op: Rejoin) -> Outcome:
    """Make the session of the operation the current one."""
    return Done(_with_member(state, op.agent, session=op.session))


def rotate(state: State, op: Rotate) -> Outcome:
    """Make the new key count from here."""
    keys = (*state.agents[op.agent].keys, KeySince(state.counters.ops, op.key))
    return Done(_with_member(state, op.agent, keys=keys))


def _with_member(state: State, agent: Agent, **fields: Any) -> State:
    return replace(state, agents={**state.agents, agent: state.agents[agent]._replace(**fields)})


def renew(state: State, op: Renew) -> Outcome:
    """Renew leases, pins and stamps of own claims, all or none."""
    if op.ttl > state.policy.max_lease:
        return Refused(state, Refusal.TTL)
    changes = []
    for renewal in op.claims:
        claim = state.claims.get(renewal.claim)
        if claim is None or claim.holder != op.agent:
            return Refused(state, Refusal.NOT_HELD)
        if len(renewal.pins) != len(claim.items):
            return Refused(state, Refusal.ITEMS)
        renewed = claim._replace(renewed=op.at, ttl=op.ttl, lease=op.lease, pins=renewal.pins, stamps=renewal.stamps)
        changes.append(Change(claim, renewed._replace(unattended=False)))
    return Done(changed(state, changes), tuple(changes))


def release(state: State, op: Release) -> Outcome:
    """Give own claims back, put them to wait for a branch, or hand one over."""
    changes = []
    for target in op.targets:
        claim = state.claims.get(target.claim)
        if claim is None or claim.holder != op.agent:
            return Refused(state, Refusal.NOT_HELD)
        positions = frozenset(range(len(claim.items)) if target.items is None else target.items)
        if target.items is not None and (_until(op) or not positions <= {position for position, _ in claim.live()}):
            return Refused(state, Refusal.ITEMS)
        changes.append(Change(claim, claim._replace(settling=op.landed)) if _until(op) else cut(claim, positions))
    if op.to is not None:
        return hand_over(state, op)
    return Done(changed(state, changes), tuple(changes))


def _until(op: Release) -> str | None:
    """Return the branch for which the claims wait, None when they end now."""
    return op.landed.until if op.landed else None


def break_(state: State, op: Break) -> Outcome:
    """End claims, whoever holds them."""
    claims = [state.claims.get(nonce) for nonce in op.claims]
    if None in claims:
        return Refused(state, Refusal.NOT_HELD)
    changes = tuple(Change(claim, None) for claim in claims)
    return Done(changed(state, changes), changes)


def cancel(state: State, op: Cancel) -> Outcome:
    """Undo whatever became of an own claim."""
    waiter = state.waiting.get(op.op)
    if waiter is not None and waiter.agent == op.agent:
        return Done(unqueued(state, [waiter]), left=(waiter,))
    claim = state.claims.get(op.op)
    if claim is None or claim.holder != op.agent:
        return Done(state)
    changes = (Change(claim, None),)
    return Done(changed(state, changes), changes)


def settle(state: State, op: Settle) -> Outcome:
    """End claims whose work is where they wait for it."""
    claims = [state.claims.get(nonce) for nonce in op.claims]
    if not all(claim and claim.settling for claim in claims):
        return Refused(state, Refusal.SETTLING)
    changes = tuple(Change(claim, None) for claim in claims)
    return Done(changed(state, changes), changes)


def block(state: State, op: BlockTasks) -> Outcome:
    """Keep everybody from claiming tasks."""
    if op.nonce in state.blocks:
        return Refused(state, Refusal.NONCE)
    made = Block(state.counters.ops, op.nonce, op.agent, op.at, op.tasks, op.reason)
    return Done(replace(state, blocks={**state.blocks, op.nonce: made}))


def unblock(state: State, op: Unblock) -> Outcome:
    """Lift blocks, all or none."""
    lifted = tuple(state.blocks[nonce] for nonce in op.blocks if nonce in state.blocks)
    if len(lifted) != len(op.blocks):
        return Refused(state, Refusal.NOT_BLOCKED)
    left = {nonce: made for nonce, made in state.blocks.items() if nonce not in op.blocks}
    return Done(replace(state, blocks=left), lifted=lifted)


def checkpoint(state: State, op: Checkpoint) -> Outcome:
    """Begin an epoch; whether it may begin here is for `placing.epoch_fault`."""
    return Done(replace(state, epoch=Epoch(op.number, op.old, state.counters.ops, op.root)))
