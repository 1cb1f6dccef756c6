"""The rules by which claims are made: claim, takeover, hand-over, and the queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .changing import changed, cut, given, queued, unqueued
from .ids import Agent, Nonce, Token
from .lease import is_over
from .obstacles import blocking, conflicts, cycle, is_clear, obstacles
from .outcome import Change, Done, Granted, Outcome, Queued, Queueing, Refusal, Refused, Served
from .state import LiveClaim, State, Waiter
from .statements import Claim, Evidence, Release, Takeover

MAX_WAIT = 3600
"""Seconds that a claim may wait, at most."""
LONG_OVER = 600
"""Seconds after the end of a lease, at least, from which a witness replaces having watched the claim for a ttl."""


def claim(state: State, op: Claim, *, is_on_hold: bool = False) -> Outcome:
    """Grant, queue or refuse a claim; while a restored ledger is on hold nothing is granted."""
    if op.wait_until is not None and op.wait_until - op.at > MAX_WAIT:
        return Refused(state, Refusal.WAIT)
    if refused := _unfit(state, op):
        return refused
    found = obstacles(state, op.agent, op.items, op.at)
    if not found and not is_on_hold:
        return _granted(state, op, ())
    if op.wait_until is None or op.wait_until < op.at:
        return Refused(state, Refusal.CONFLICT if found else Refusal.RESTORED, found)
    after, waiter = queued(state, op)
    if round_ := cycle(after, op.agent, op.at):
        return Refused(state, Refusal.CYCLE, found, cycle=round_)
    return Queued(after, waiter, found)


def takeover(state: State, op: Takeover) -> Outcome:
    """End the claims of holders who are gone and grant their taker its own, or refuse."""
    if state.policy.takeover == "never":
        return Refused(state, Refusal.NEVER)
    if refused := _unfit(state, op):
        return refused
    for seen in op.claims:
        if reason := _barred(state, op, seen):
            return Refused(state, reason)
    taken = tuple(Change(state.claims[seen.claim], None) for seen in op.claims)
    freed = changed(state, taken)
    place = place_in_queue(state, op.agent, {seen.claim for seen in op.claims})
    if found := obstacles(freed, op.agent, op.items, op.at, place):
        return Refused(state, Refusal.CONFLICT, found)
    return _granted(state, op, taken, freed)


def place_in_queue(state: State, agent: Agent, ended: Collection[Nonce]) -> int | None:
    """Return the place at which an agent waits for one of these claims; None, behind all, when it does not.

    Else two that wait for an agent that is gone would keep each other, and everybody, from taking over.
    """
    mine = [waiter for waiter in state.waiting.values() if waiter.agent == agent]
    waits = [w.queue for w in mine if any(c.claim.op in ended for c in conflicts(state, w.agent, w.op.items))]
    return min(waits, default=None)


def _unfit(state: State, op: Claim | Takeover) -> Refused | None:
    if op.ttl > state.policy.max_lease:
        return Refused(state, Refusal.TTL)
    if op.nonce in state.claims or op.nonce in state.waiting:
        # Claims are known by nonce: one made under the nonce of another would put that one out of the way.
        return Refused(state, Refusal.NONCE)
    blocks = blocking(state, op)
    return Refused(state, Refusal.BLOCKED, blocks=blocks) if blocks else None


def _granted(state: State, op: Claim | Takeover, taken: tuple[Change, ...], freed: State | None = None) -> Outcome:
    after, made, changes = given(freed or state, op)
    if round_ := cycle(after, op.agent, op.at):
        return Refused(state, Refusal.CYCLE, cycle=round_)
    return Granted(after, made, (*taken, *changes))


def _barred(state: State, op: Takeover, seen: Evidence) -> Refusal | None:
    """Return why one claim may not be taken over, as far as the ledger and the signed evidence tell.

    1. It is somebody else's. 2. Its lease is over by more than the skew, and not said to end before the ledger does.
    3. It was watched for a full ttl, or it is long over and a third member's clock agrees.
    """
    held = state.claims.get(seen.claim)
    if held is None or held.holder == op.agent:
        return Refusal.NOT_HELD
    if seen.lease_end < held.certain_end or not is_over(seen.lease_end, op.at, state.skew):
        return Refusal.ALIVE
    is_witnessed = seen.witness in state.agents and seen.witness not in (op.agent, held.holder)
    is_long_over = op.at > seen.lease_end + max(held.ttl, LONG_OVER)
    return None if seen.unchanged >= held.ttl or (is_witnessed and is_long_over) else Refusal.UNWATCHED


def hand_over(state: State, op: Release) -> Outcome:
    """Move one own claim, or items of it, to another member under a new token; the release names the new claim."""
    receiver = op.to
    if receiver is None or receiver == op.agent or receiver not in state.agents:
        return Refused(state, Refusal.RECEIVER)
    if len(op.targets) != 1 or (op.landed is not None and op.landed.until is not None):
        return Refused(state, Refusal.SEVERAL)
    if op.nonce in state.claims or op.nonce in state.waiting:
        return Refused(state, Refusal.NONCE)
    claim, positions = state.claims[op.targets[0].claim], op.targets[0].items
    moved = _moved(state, op, claim, receiver, positions)
    left = cut(claim, frozenset(range(len(claim.items)) if positions is None else positions))
    freed = changed(replace(state, counters=state.counters._replace(token=int(moved.token))), (left,))
    if found := conflicts(freed, receiver, [item for _, item in moved.live()]):
        return Refused(state, Refusal.CONFLICT, found)  # with what its giver keeps
    after = changed(freed, (Change(None, moved),))
    if round_ := cycle(after, receiver, op.at):
        return Refused(state, Refusal.CYCLE, cycle=round_)
    return Done(after, (left, Change(None, moved)))


def _moved(state: State, op: Release, claim: LiveClaim, to: Agent, positions: tuple[int, ...] | None) -> LiveClaim:
    kept = [position for position, _ in claim.live() if positions is None or position in positions]
    gone = frozenset(range(len(claim.items))) - frozenset(kept)
    token = Token(state.counters.token + 1)
    fresh = claim._replace(token=token, op=op.nonce, holder=to, at=op.at, renewed=op.at, gone=gone)
    return fresh._replace(unattended=True, settling=None)


def serve(
    outcome: Outcome, dropped: tuple[Waiter, ...], at: int, only: Collection[tuple[Agent, Nonce]] | None = None
) -> Outcome:
    """Grant, in the order of the queue, every waiter with nothing in its way any more (or `only` these); one pass."""
    state, served = outcome.state, list[Served]()
    for waiter in tuple(state.waiting.values()):
        if only is not None and (waiter.agent, waiter.op.nonce) not in only:
            continue
        if not is_clear(state, waiter.agent, waiter.op.items, at, waiter.queue) or blocking(state, waiter.op):
            continue
        after, made, changes = given(unqueued(state, [waiter]), waiter.op, at)
        if not cycle(after, waiter.agent, at):
            state = after
            served.append(Served(waiter, made, changes))
    return outcome._replace(state=state, queueing=Queueing(dropped, tuple(served)))
