"""What `apply` answers: what became of an operation, which claims it changed, and which waiters it served."""

from __future__ import annotations

from enum import Enum

from git_coord.lean import NamedTuple

from .ids import Agent
from .items import Item
from .state import Block, LiveClaim, State, Waiter


class Refusal(Enum):
    """Why an operation was placed and yet changed nothing."""

    CONFLICT = "conflict"
    NOT_HELD = "not held"
    SESSION = "another session"
    TTL = "lease too long"
    WAIT = "wait too long"
    LATE = "too late"
    FIXED = "fixed at birth"
    ITEMS = "no such item"
    NONCE = "nonce in use"
    CYCLE = "deadlock"
    BLOCKED = "blocked"
    NOT_BLOCKED = "not blocked"
    NEVER = "takeover is off"
    ALIVE = "lease not over"
    UNWATCHED = "not watched long enough"
    RECEIVER = "no such receiver"
    SEVERAL = "one claim at a time"
    SETTLING = "not settling"
    MEMBER = "no such member"
    RESTORED = "restored"


class Change(NamedTuple):
    """One claim before and after; None is "was not there" or "is gone"."""

    before: LiveClaim | None
    after: LiveClaim | None


class Conflict(NamedTuple):
    """An item asked for, and the claim and item of somebody else in its way; a waiter's claim has token 0."""

    asked: Item
    claim: LiveClaim
    held: Item


class Served(NamedTuple):
    """A waiter that was granted its claim; `changes` has it and the own claims whose items it replaced."""

    waiter: Waiter
    claim: LiveClaim
    changes: tuple[Change, ...]


class Queueing(NamedTuple):
    """What an operation did to the queue besides its own: waiters whose time was over, then those it served."""

    dropped: tuple[Waiter, ...] = ()
    served: tuple[Served, ...] = ()


class Granted(NamedTuple):
    """The claim is held; `changes` has it, the own claims whose items it replaced and those it took over."""

    state: State
    claim: LiveClaim
    changes: tuple[Change, ...]
    queueing: Queueing = Queueing()


class Queued(NamedTuple):
    """The claim waits; `conflicts` names everybody it waits for."""

    state: State
    waiter: Waiter
    conflicts: tuple[Conflict, ...]
    changes: tuple[Change, ...] = ()
    queueing: Queueing = Queueing()


class Refused(NamedTuple):
    """Nothing changed but the counters; `conflicts` names every holder in the way, `cycle` who waits for whom."""

    state: State
    reason: Refusal
    conflicts: tuple[Conflict, ...] = ()
    changes: tuple[Change, ...] = ()
    cycle: tuple[Agent, ...] = ()
    blocks: tuple[Block, ...] = ()
    queueing: Queueing = Queueing()


class Done(NamedTuple):
    """An operation other than a claim took effect; `left` are the waiters it took out, `lifted` the blocks."""

    state: State
    changes: tuple[Change, ...] = ()
    left: tuple[Waiter, ...] = ()
    lifted: tuple[Block, ...] = ()
    queueing: Queueing = Queueing()


Outcome = Granted | Queued | Refused | Done
