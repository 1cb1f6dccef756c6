"""How a state gets its next: claims put in, cut and taken out, waiters too, the indexes kept in step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .ids import Nonce, Token
from .items import Item
from .outcome import Change
from .state import ItemKey, LiveClaim, State, Waiter, grant
from .statements import Claim, Stamp, Takeover


def cut(claim: LiveClaim, positions: frozenset[int]) -> Change:
    """Return the change by which a claim loses items, and ends when none is left."""
    return Change(claim, claim.without(positions))


def changed(state: State, changes: Iterable[Change]) -> State:
    """Return the state with claims put in, taken out and cut."""
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


def given(
    state: State, op: Claim | Takeover, served_at: int | None = None
) -> tuple[State, LiveClaim, tuple[Change, ...]]:
    """Return the state in which the claim is granted, the claim, and all changes; the claim is the last.

    With `served_at` it comes from the queue: dated then, and its holder may not be there.
    """
    replaced = _replaced(state, op)
    token = Token(state.counters.token + 1)
    claim = grant(op, token, _stamps(state, op, replaced))
    if served_at is not None:
        claim = claim._replace(at=served_at, renewed=served_at, unattended=True)
    cuts = [cut(state.claims[nonce], positions) for nonce, positions in replaced.items()]
    changes = (*cuts, Change(None, claim))
    counted = replace(state, counters=state.counters._replace(token=int(token)))
    return changed(counted, changes), claim, changes


def _replaced(state: State, op: Claim | Takeover) -> dict[Nonce, frozenset[int]]:
    """Return the agent's own items that this claim replaces: the same kind and (folded) name, and no stronger intent.

    An edit stays beside a later read of the same: only a release steps down.
    """
    found: dict[Nonce, set[int]] = {}
    for item in op.items:
        for nonce, position in state.index.same(item):
            claim = state.claims[nonce]
            if claim.holder == op.agent and item.intent.includes(claim.items[position].intent):
                found.setdefault(nonce, set()).add(position)
    return {nonce: frozenset(positions) for nonce, positions in found.items()}


def _stamps(state: State, op: Claim | Takeover, replaced: Iterable[Nonce]) -> tuple[Stamp, ...]:
    """Return the stamps given, else those of the newest claim replaced."""
    if op.stamps is not None:
        return op.stamps
    newest = max((state.claims[nonce] for nonce in replaced), key=lambda claim: claim.token, default=None)
    return newest.stamps if newest else ()


def queued(state: State, op: Claim) -> tuple[State, Waiter]:
    """Return the state with the claim at the end of the queue."""
    waiter = Waiter(state.counters.queue + 1, op)
    pairs = (((op.nonce, position), item) for position, item in enumerate(op.items))
    counters = state.counters._replace(queue=waiter.queue)
    waiting = {**state.waiting, op.nonce: waiter}
    return replace(state, counters=counters, waiting=waiting, asked=state.asked.added(pairs)), waiter


def unqueued(state: State, waiters: Iterable[Waiter]) -> State:
    """Return the state without these waiters."""
    leaving = {waiter.op.nonce: waiter for waiter in waiters}
    keys = [(nonce, position) for nonce, waiter in leaving.items() for position in range(len(waiter.op.items))]
    waiting = {nonce: waiter for nonce, waiter in state.waiting.items() if nonce not in leaving}
    return replace(state, waiting=waiting, asked=state.asked.removed(keys)) if leaving else state
