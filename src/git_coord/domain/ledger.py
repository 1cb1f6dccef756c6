"""The one function that decides: `apply(state, operation)`; no clock, keys, files, configuration or Unicode tables.

Guaranteed at every position: no two agents hold overlapping items unless both are reads; a claim is granted whole or
not at all; tokens only grow. Not decided here: who may place an operation at all (`placing.py`) and when a lease has
run out (`lease.py`); a stale claim blocks until somebody frees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

from .fold import Fold
from .ids import Agent, Nonce, Token
from .index import ItemIndex
from .items import Intent, Item
from .state import Counters, ItemKey, KeySince, LiveClaim, Member, State, grant
from .statements import (
    Break,
    Cancel,
    Claim,
    Join,
    Operation,
    Policy,
    Rejoin,
    Release,
    Renew,
    Rotate,
    Stamp,
)


class Refusal(Enum):
    """Why an operation was placed and yet changed nothing."""

    CONFLICT = "conflict"
    NOT_HELD = "not held"
    SESSION = "another session"
    TTL = "lease too long"
    LATE = "too late"
    FIXED = "fixed at birth"
    ITEMS = "no such item"
    NONCE = "nonce in use"


class Change(NamedTuple):
    """One claim before and after; None is "was not there" or "is gone"."""

    before: LiveClaim | None
    after: LiveClaim | None


class Conflict(NamedTuple):
    """An item asked for, and the claim and item of somebody else in its way."""

    asked: Item
    claim: LiveClaim
    held: Item


class Granted(NamedTuple):
    """The claim is held; `changes` has it and the own claims whose items it replaced."""

    state: State
    claim: LiveClaim
    changes: tuple[Change, ...]


class Refused(NamedTuple):
    """Nothing changed but the counters; `conflicts` names every holder in the way."""

    state: State
    reason: Refusal
    conflicts: tuple[Conflict, ...] = ()
    changes: tuple[Change, ...] = ()


class Done(NamedTuple):
    """An operation other than a claim took effect."""

    state: State
    changes: tuple[Change, ...] = ()


Outcome = Granted | Refused | Done


def born(root: Policy) -> State:
    """Return the state after the root of a ledger, which places one policy and has no parent."""
    counters = Counters(ops=1, token=0, queue=0, at=root.at)
    return State(policy=root, agents={}, claims={}, index=ItemIndex(Fold(root.fold)), counters=counters)


def apply(state: State, op: Operation) -> Outcome:
    """Return what becomes of a placeable operation, with the next state.

    1. A late operation (`not_after`) is refused, 2. one from another session than the agent's current one too,
    3. else its own rule decides. A refusal acts not at all, but counts: position, `seq` and `counters.at` move.
    """
    counted = _counted(state, op)
    if isinstance(op, Claim) and op.not_after is not None and state.counters.at > op.not_after + state.skew:
        return Refused(counted, Refusal.LATE)
    if isinstance(op, Claim | Renew | Release | Rotate) and state.agents[op.agent].session != op.session:
        return Refused(counted, Refusal.SESSION)
    return _RULES[type(op)](counted, op)


def conflicts(state: State, agent: Agent, items: Iterable[Item]) -> tuple[Conflict, ...]:
    """Return every claim of others in the way of these items: overlap, unless both are reads."""
    return tuple(
        Conflict(asked, claim, claim.items[position])
        for asked in items
        for nonce, position in state.index.overlapping(asked)
        if (claim := state.claims[nonce]).holder != agent
        and (asked.intent is Intent.EDIT or claim.items[position].intent is Intent.EDIT)
    )


def _counted(state: State, op: Operation) -> State:
    counters = state.counters._replace(ops=state.counters.ops + 1, at=op.at)
    member = state.agents.get(op.agent)
    if member is None:
        return replace(state, counters=counters)
    return replace(state, counters=counters, agents={**state.agents, op.agent: member._replace(seq=op.seq)})


def _policy(state: State, op: Policy) -> Outcome:
    if (op.fold, op.skew) != (state.policy.fold, state.policy.skew):
        return Refused(state, Refusal.FIXED)
    return Done(replace(state, policy=op))


def _join(state: State, op: Join) -> Outcome:
    member = Member(keys=(KeySince(state.counters.ops, op.key),), seq=op.seq, session=op.session)
    return Done(replace(state, agents={**state.agents, op.agent: member}))


def _rejoin(state: State, op: Rejoin) -> Outcome:
    return Done(_with_member(state, op.agent, session=op.session))


def _rotate(state: State, op: Rotate) -> Outcome:
    keys = (*state.agents[op.agent].keys, KeySince(state.counters.ops, op.key))
    return Done(_with_member(state, op.agent, keys=keys))


def _with_member(state: State, agent: Agent, **fields: Any) -> State:
    return replace(state, agents={**state.agents, agent: state.agents[agent]._replace(**fields)})


def _claim(state: State, op: Claim) -> Outcome:
    if op.ttl > state.policy.max_lease:
        return Refused(state, Refusal.TTL)
    if op.nonce in state.claims:
        # Claims are known by nonce: one made under the nonce of another would put that one out of the way.
        return Refused(state, Refusal.NONCE)
    if found := conflicts(state, op.agent, op.items):
        return Refused(state, Refusal.CONFLICT, found)
    replaced = _replaced(state, op)
    token = Token(state.counters.token + 1)
    claim = grant(op, token, _stamps(state, op, replaced))
    cuts = [_cut(state.claims[nonce], positions) for nonce, positions in replaced.items()]
    changes = (*cuts, Change(None, claim))
    counted = replace(state, counters=state.counters._replace(token=int(token)))
    return Granted(_changed(counted, changes), claim, changes)


def _replaced(state: State, op: Claim) -> dict[Nonce, frozenset[int]]:
    """Return the agent's own items that this claim replaces: the same kind and (folded) name."""
    found: dict[Nonce, set[int]] = {}
    for item in op.items:
        for nonce, position in state.index.same(item):
            if state.claims[nonce].holder == op.agent:
                found.setdefault(nonce, set()).add(position)
    return {nonce: frozenset(positions) for nonce, positions in found.items()}


def _stamps(state: State, op: Claim, replaced: Iterable[Nonce]) -> tuple[Stamp, ...]:
    """Return the stamps given, else those of the newest claim replaced."""
    if op.stamps is not None:
        return op.stamps
    newest = max((state.claims[nonce] for nonce in replaced), key=lambda claim: claim.token, default=None)
    return newest.stamps if newest else ()


def _renew(state: State, op: Renew) -> Outcome:
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
        changes.append(Change(claim, renewed))
    return Done(_changed(state, changes), tuple(changes))


def _release(state: State, op: Release) -> Outcome:
    changes = []
    for target in op.targets:
        claim = state.claims.get(target.claim)
        if claim is None or claim.holder != op.agent:
            return Refused(state, Refusal.NOT_HELD)
        positions = frozenset(range(len(claim.items)) if target.items is None else target.items)
        if target.items is not None and not positions <= {position for position, _ in claim.live()}:
            return Refused(state, Refusal.ITEMS)
        changes.append(_cut(claim, positions))
    return Done(_changed(state, changes), tuple(changes))


def _break(state: State, op: Break) -> Outcome:
    claims = [state.claims.get(nonce) for nonce in op.claims]
    if None in claims:
        return Refused(state, Refusal.NOT_HELD)
    changes = tuple(Change(claim, None) for claim in claims)
    return Done(_changed(state, changes), changes)


def _cancel(state: State, op: Cancel) -> Outcome:
    claim = state.claims.get(op.op)
    if claim is None or claim.holder != op.agent:
        return Done(state)
    changes = (Change(claim, None),)
    return Done(_changed(state, changes), changes)


def _cut(claim: LiveClaim, positions: frozenset[int]) -> Change:
    return Change(claim, claim.without(positions))


def _changed(state: State, changes: Iterable[Change]) -> State:
    """Return the state with claims put in, taken out and cut, the index kept in step."""
    claims = dict(state.claims)
    gone: list[ItemKey] = []
    added: list[tuple[ItemKey, Item]] = []
    for before, after in changes:
        old = {(before.op, i): item for i, item in before.live()} if before else {}
        new = {(after.op, i): item for i, item in after.live()} if after else {}
        gone += [key for key in old if key not in new]
        added += [(key, item) for key, item in new.items() if key not in old]
        if after:
            claims[after.op] = after
        elif before:
            del claims[before.op]
    index = state.index.removed(gone) if gone else state.index
    return replace(state, claims=claims, index=index.added(added) if added else index)


_RULES: dict[type[Operation], Callable[[State, Any], Outcome]] = {
    Policy: _policy,
    Join: _join,
    Rejoin: _rejoin,
    Claim: _claim,
    Renew: _renew,
    Release: _release,
    Break: _break,
    Cancel: _cancel,
    Rotate: _rotate,
}

__all__ = [
    "Change",
    "Conflict",
    "Done",
    "Granted",
    "Outcome",
    "Refusal",
    "Refused",
    "apply",
    "born",
    "conflicts",
]
