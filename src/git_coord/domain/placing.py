"""Which signed operations may be placed at a position, and in which order: everything `apply` takes for granted."""

from __future__ import annotations

from collections.abc import Iterable

from .digest import new
from .ids import Agent, KeyText, Oid
from .state import Member, State
from .statements import Break, Checkpoint, Expel, Join, Move, Operation, Policy, Replay, Restore, Rotate

MAX_PLACED = 256
"""Operations in one ledger commit, at most."""
UNNUMBERED = (Restore, Replay)
"""Placed only on the commit that they name as `head`, and without moving the agent's `seq`: its own may still come."""


NOT_LISTED = "the policy does not list its key for this name"
EXPELLED = "it was put out, and the policy does not list this key for exactly this name"


def root_fault(op: Operation, key: KeyText) -> str | None:
    """Return what is wrong with the root of a ledger, or None: one policy, signed by a key it names, seq 1, no head."""
    if not isinstance(op, Policy):
        return "the root does not place a policy"
    if op.seq != 1 or op.head is not None:
        return "the root's policy must have seq 1 and no head"
    if key not in op.admins:
        return "the root's policy is not signed by one of its own keys"
    return None


def fault(state: State, op: Operation, key: KeyText) -> str | None:
    """Return why an operation with a valid signature by `key` cannot be placed here, or None when it can.

    1. It names this ledger, and a head (only the root has none). 2. A join needs name and key both unused, its own
    signature, and the policy's admission. 3. Everything else needs a member, and a `seq` above the member's last.
    4. Policy, break, expel and move are signed by a policy key, all else by the member's current key. 5. A new key is
    unused.
    """
    if isinstance(op, Checkpoint):
        return "a checkpoint begins an epoch, and is placed nowhere else"
    return _fault(state, op, key)


def misplaced(parent: Oid, op: Operation) -> str | None:
    """Return why an operation that is made for one place in the ledger cannot be placed on this commit, or None."""
    return "it is made for another place" if isinstance(op, UNNUMBERED) and op.head != parent else None


def epoch_fault(state: State, parent: Oid, op: Checkpoint, key: KeyText) -> str | None:
    """Return why an epoch cannot begin with this on the ledger commit `parent`, or None when it can."""
    if reason := _fault(state, op, key):
        return reason
    last = state.epoch
    if op.old != parent:
        return "it is of another ledger commit"
    if op.number != (last.number if last else 0) + 1:
        return f"epoch {op.number} does not follow"
    return "it names another root" if last and last.root != op.root else None


def cut_fault(state: State, op: Checkpoint, key: KeyText, known: State | None) -> str | None:
    """Return why a state of which nothing older is at hand cannot be taken from this checkpoint, or None when it can.

    `known` is what was verified before it, None for nothing: then the policy key is one by its own word.
    """
    admins = (known or state).policy.admins
    epoch = state.epoch
    if epoch is None or (epoch.number, epoch.old, epoch.root) != (op.number, op.old, op.root):
        return "its tree is not of this epoch"
    if op.repo != state.repo or (known is not None and op.repo != known.repo):
        return "it belongs to another ledger"
    if key not in admins or key not in state.policy.admins:
        return "it is not signed by a policy key"
    if known is None:
        return None
    before = known.epoch.number if known.epoch else 0
    return None if op.number > before and state.counters.ops > known.counters.ops else "it is older than what is known"


def _fault(state: State, op: Operation, key: KeyText) -> str | None:
    if op.repo != state.repo:
        return "it belongs to another ledger"
    if op.head is None:
        return "it names no ledger head"
    member = state.agents.get(op.agent)
    if isinstance(op, Join):
        return _join_fault(state, op, key, member)
    if member is None:
        return f"{op.agent} has not joined"
    if op.seq <= member.seq:
        return f"seq {op.seq} is not above {op.agent}'s last, {member.seq}"
    return _key_fault(state, op, key, member)


def _join_fault(state: State, op: Join, key: KeyText, member: Member | None) -> str | None:
    if member is not None:
        return f"the name {op.agent} is taken"
    if key != op.key:
        return "a join must be signed by the key it names"
    if op.key in _used_keys(state):
        return "its key belongs to another agent, or did"
    if op.agent in state.expelled and not _is_listed(state, op, is_by_name=True):
        return EXPELLED
    if state.policy.join == "listed" and not _is_listed(state, op):
        return NOT_LISTED
    return None


def _key_fault(state: State, op: Operation, key: KeyText, member: Member) -> str | None:
    if isinstance(op, Policy | Break | Checkpoint | Expel | Move):
        return None if key in state.policy.admins else "it is not signed by a policy key"
    if key != member.key:
        return f"it is not signed by {op.agent}'s key"
    if isinstance(op, Rotate) and op.key in _used_keys(state):
        return "its new key is or was in use"
    return None


def _is_listed(state: State, op: Join, *, is_by_name: bool = False) -> bool:
    """Tell whether an entry admits the join; `is_by_name`: whether one says this very name, no pattern and not any."""
    listed = state.policy.listed
    return any(one.admits(op.agent, op.key) and (one.agent == op.agent or not is_by_name) for one in listed)


def _used_keys(state: State) -> set[KeyText]:
    return {key for agent in (*state.agents, *state.expelled) for key in state.keys_of(agent)}


def turn_order(parent: Oid, agents: Iterable[Agent]) -> list[Agent]:
    """Return the agents in the order in which a commit on `parent` places their operations."""
    return sorted(agents, key=lambda agent: new("sha256", f"{parent}\0{agent}".encode("ascii")).digest())
