"""The one function that decides: `apply(state, operation)`; no clock, keys, files, configuration or Unicode tables.

Guaranteed at every position: no two agents hold overlapping items unless both are reads; a claim is granted whole or
not at all; tokens only grow; no agent waits for itself through what is held (behind who waits it may, when something
is given back, for ten minutes). Not decided here: who may place an operation at all (`placing.py`) and when a lease has
run out (`lease.py`); a stale claim blocks until somebody frees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import granting, restoring, rules
from .changing import unqueued
from .fold import Fold
from .ids import Agent, Nonce
from .index import ItemIndex
from .obstacles import conflicts, overdue
from .outcome import Change, Conflict, Done, Granted, Outcome, Queued, Queueing, Refusal, Refused, Served
from .placing import UNNUMBERED
from .state import Counters, State
from .statements import (
    BlockTasks,
    Break,
    Cancel,
    Checkpoint,
    Claim,
    Expel,
    Join,
    Move,
    Operation,
    Policy,
    Rejoin,
    Release,
    Renew,
    Replay,
    Restore,
    Rotate,
    Settle,
    Takeover,
    Unblock,
)


def born(root: Policy) -> State:
    """Return the state after the root of a ledger, which places one policy and has no parent."""
    fold = Fold(root.fold)
    return State(
        policy=root,
        agents={},
        claims={},
        index=ItemIndex(fold),
        counters=Counters(ops=1, token=0, queue=0, at=root.at),
        waiting={},
        asked=ItemIndex(fold),
        blocks={},
        expelled={},
    )


def apply(state: State, op: Operation) -> Outcome:
    """Return what becomes of a placeable operation, with the next state.

    1. Waiters whose time is over go. 2. It is refused when it is late (`not_after`) or from another session than the
    agent's current one; else its own rule decides. A refusal acts not at all, but counts: position, `seq` and
    `counters.at` move. 3. Waiters with nothing in their way any more are granted. While a restored ledger is on hold
    2 and 3 grant only what a replay lists.
    """
    counted = _counted(state, op)
    dropped = overdue(counted, op.at)
    outcome = _act(unqueued(counted, dropped), op, state.counters.at)
    if not state.waiting and not outcome.state.waiting:
        return outcome
    return granting.serve(outcome, dropped, op.at, _served(outcome.state, op, max(op.at, state.counters.at)))


def _served(state: State, op: Operation, now: int) -> frozenset[tuple[Agent, Nonce]] | None:
    """Return which waiters alone may be granted, None for all."""
    if state.restored is None or not restoring.is_on_hold(state, now):
        return None
    return state.restored.replayed if restoring.is_listed(state, op.agent, op.nonce) else frozenset()


def _act(state: State, op: Operation, before: int) -> Outcome:
    if isinstance(op, Claim) and _is_late(state, op, before) and not restoring.is_listed(state, op.agent, op.nonce):
        return Refused(state, Refusal.LATE)
    if isinstance(op, _OF_A_SESSION) and state.agents[op.agent].session != op.session:
        return Refused(state, Refusal.SESSION)
    if isinstance(op, Restore):
        return restoring.restore(state, op, before)
    if not restoring.is_held_back(state, op, max(op.at, before)):
        return _RULES[type(op)](state, op)
    return granting.claim(state, op, is_on_hold=True) if isinstance(op, Claim) else Refused(state, Refusal.RESTORED)


def _is_late(state: State, op: Claim, before: int) -> bool:
    return op.not_after is not None and before > op.not_after + state.skew


def _counted(state: State, op: Operation) -> State:
    counters = state.counters._replace(ops=state.counters.ops + 1, at=op.at)
    member = state.agents.get(op.agent)
    if member is None or isinstance(op, UNNUMBERED):
        return replace(state, counters=counters)
    counted = member._replace(seq=op.seq, at=op.at)
    return replace(state, counters=counters, agents={**state.agents, op.agent: counted})


_OF_A_SESSION = (Claim, Renew, Release, Rotate, Takeover, BlockTasks, Unblock, Settle)
_RULES: dict[type[Operation], Callable[[State, Any], Outcome]] = {
    Policy: rules.policy,
    Join: rules.join,
    Rejoin: rules.rejoin,
    Claim: granting.claim,
    Renew: rules.renew,
    Release: rules.release,
    Break: rules.break_,
    Cancel: rules.cancel,
    Rotate: rules.rotate,
    Takeover: granting.takeover,
    BlockTasks: rules.block,
    Unblock: rules.unblock,
    Settle: rules.settle,
    Checkpoint: rules.checkpoint,
    Replay: restoring.replay,
    Move: rules.move,
    Expel: rules.expel,
}

__all__ = [
    "Change",
    "Conflict",
    "Done",
    "Granted",
    "Outcome",
    "Queued",
    "Queueing",
    "Refusal",
    "Refused",
    "Served",
    "apply",
    "born",
    "conflicts",
]
