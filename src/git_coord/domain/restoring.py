"""The hold after a ledger was restored: until who was ahead could place again, nothing is granted to anybody else."""

from __future__ import annotations

from dataclasses import replace

from .ids import Agent, Nonce
from .outcome import Done, Outcome
from .restore_statements import Replay, Restore
from .state import Restored, State
from .statements import Claim, Operation, Release, Renew, Takeover

MAX_LEAP = 1_000_000
"""By how much one replay can raise the token, at most: nobody uses up the numbers."""


def hold_end(state: State) -> int | None:
    """Return when the hold of the newest restoring ends, seconds since the epoch; None when there was none."""
    return None if state.restored is None else state.restored.at + state.policy.restore_hold


def is_on_hold(state: State, at: int) -> bool:
    """Tell whether the moment is before the end of the hold."""
    end = hold_end(state)
    return end is not None and at < end


def is_listed(state: State, agent: Agent, nonce: Nonce) -> bool:
    """Tell whether an operation was in the lost part, as a member's replay says."""
    return state.restored is not None and (agent, nonce) in state.restored.replayed


def is_granting(op: Operation) -> bool:
    """Tell whether an operation gives somebody what another may hold, or vouches for what another may have ended."""
    return isinstance(op, Claim | Takeover | Renew) or (isinstance(op, Release) and op.to is not None)


def is_held_back(state: State, op: Operation, at: int) -> bool:
    """Tell whether the hold stands against an operation that is placed at this moment."""
    return is_granting(op) and is_on_hold(state, at) and not is_listed(state, op.agent, op.nonce)


def restore(state: State, op: Restore, before: int) -> Outcome:
    """Begin a hold; it counts from the ledger's own time when the author's clock is behind that."""
    return Done(replace(state, restored=Restored(op.agent, max(op.at, before), state.counters.ops, op.found)))


def replay(state: State, op: Replay) -> Outcome:
    """Exempt what is listed from the hold and from being too late; of what was listed before, who waits stays so."""
    old = state.restored or Restored(op.agent, 0, 0, None)
    waiting = {(waiter.agent, nonce) for nonce, waiter in state.waiting.items()}
    listed = {(entry.agent, entry.nonce) for lost in op.lost for entry in lost.ops}
    token = max(state.counters.token, min(op.token, state.counters.token + MAX_LEAP))
    counters = state.counters._replace(token=token)
    restored = old._replace(replayed=frozenset(old.replayed & waiting) | listed)
    return Done(replace(state, counters=counters, restored=restored))
