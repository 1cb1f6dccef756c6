"""What is in the way of a claim: claims of others, waiters before it, blocked tasks, and waiting for one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .changing import unqueued
from .ids import Agent, Nonce
from .items import Intent, Item, ItemKind
from .outcome import Conflict
from .state import Block, LiveClaim, State, Waiter
from .statements import Claim, Takeover

PROTECTED_SECONDS = 600
"""How long a waiter keeps newcomers off what it waits for, from the date of its claim."""


def conflicts(state: State, agent: Agent, items: Iterable[Item]) -> tuple[Conflict, ...]:
    """Return every claim of others in the way of these items: overlap, unless both are reads."""
    return tuple(_held(state, agent, items))


def _held(state: State, agent: Agent, items: Iterable[Item]) -> Iterator[Conflict]:
    return (
        Conflict(asked, claim, claim.items[position])
        for asked in items
        for nonce, position in state.index.overlapping(asked)
        if (claim := state.claims[nonce]).holder != agent
        and (asked.intent is Intent.EDIT or claim.items[position].intent is Intent.EDIT)
    )


def obstacles(
    state: State, agent: Agent, items: tuple[Item, ...], at: int, number: int | None = None
) -> tuple[Conflict, ...]:
    """Return claims and waiters in the way at the moment `at`; `number` is the own place in the queue, None is behind.

    A waiter is in the way for `PROTECTED_SECONDS`, and never of a holder that it waits for.
    """
    return tuple(_obstacles(state, agent, items, at, number))


def is_clear(state: State, agent: Agent, items: tuple[Item, ...], at: int, number: int) -> bool:
    """Tell whether there are no `obstacles`, without collecting them."""
    return next(_obstacles(state, agent, items, at, number), None) is None


def _obstacles(state: State, agent: Agent, items: tuple[Item, ...], at: int, number: int | None) -> Iterator[Conflict]:
    yield from _held(state, agent, items)
    if state.waiting:
        yield from _ahead(state, agent, items, at, number)


def in_the_way(
    state: State, agent: Agent, items: tuple[Item, ...], at: int, number: int | None = None
) -> tuple[Conflict, ...]:
    """Return what keeps the agent from these items at the moment `at`: the one answer of claims, reads and hooks.

    As `obstacles`, after the waiters whose time is over have gone, as they will when anything is placed. Beside it
    `blocks_on` keeps somebody from a claim, and waiting for itself (`kept_from`).
    """
    return obstacles(unqueued(state, overdue(state, at)), agent, items, at, number)


def kept_from(state: State, agent: Agent, items: tuple[Item, ...], at: int) -> tuple[Conflict, ...]:
    """Return what a look shows in the way of a claim: as `in_the_way`, else who would then wait in a round."""
    cleared = unqueued(state, overdue(state, at))
    return obstacles(cleared, agent, items, at) or tuple(_closing(cleared, agent, items, at))


def _closing(state: State, agent: Agent, items: tuple[Item, ...], at: int) -> Iterator[Conflict]:
    """Yield the waiters that want one of these items and for which the agent waits already, however far round."""
    if all(waiter.agent != agent for waiter in state.waiting.values()):
        return
    waited_for = reachable(state, agent, at)
    for asked in items:
        for nonce, position in state.asked.overlapping(asked):
            waiter, held = state.waiting[nonce], state.waiting[nonce].op.items[position]
            if waiter.agent != agent and waiter.agent in waited_for and Intent.EDIT in (asked.intent, held.intent):
                yield Conflict(asked, waiter.as_claim(), held)


def overdue(state: State, at: int) -> tuple[Waiter, ...]:
    """Return the waiters whose time is over."""
    return tuple(waiter for waiter in state.waiting.values() if (waiter.op.wait_until or 0) < at)


def _ahead(state: State, agent: Agent, items: tuple[Item, ...], at: int, number: int | None) -> Iterator[Conflict]:
    looked: dict[Nonce, LiveClaim | None] = {}  # each waiter once, however many of its items are met
    for asked in items:
        for nonce, position in state.asked.overlapping(asked):
            waiter = state.waiting[nonce]
            held = waiter.op.items[position]
            if Intent.EDIT not in (asked.intent, held.intent):
                continue
            if nonce not in looked:
                looked[nonce] = waiter.as_claim() if _keeps_off(state, waiter, agent, at, number) else None
            if (claim := looked[nonce]) is not None:
                yield Conflict(asked, claim, held)


def _keeps_off(state: State, waiter: Waiter, agent: Agent, at: int, number: int | None) -> bool:
    is_before = waiter.agent != agent and (number is None or waiter.queue < number)
    return is_before and at <= waiter.op.at + PROTECTED_SECONDS and not _waits_for(state, waiter, agent)


def _waits_for(state: State, waiter: Waiter, agent: Agent) -> bool:
    """Tell whether the agent holds something that the waiter wants; looked for from the smaller side."""
    own = [item for claim in state.claims.values() if claim.holder == agent for _, item in claim.live()]
    if len(own) > len(waiter.op.items):
        return any(found.claim.holder == agent for found in _held(state, waiter.agent, waiter.op.items))
    return any(
        nonce == waiter.op.nonce and Intent.EDIT in (item.intent, waiter.op.items[position].intent)
        for item in own
        for nonce, position in state.asked.overlapping(item)
    )


def blocking(state: State, op: Claim | Takeover) -> tuple[Block, ...]:
    """Return the blocks on tasks asked for, or on what is above them."""
    return tuple(dict.fromkeys(block for _, block in blocks_on(state, op.items)))


def blocks_on(state: State, items: Iterable[Item]) -> tuple[tuple[Item, Block], ...]:
    """Return the tasks among the items that nobody may claim now, each with every block on it or above it."""
    tasks = [item for item in items if item.kind is ItemKind.TASK] if state.blocks else []
    return tuple((item, one) for one in state.blocks.values() for item in tasks if is_blocked_by(one, item.name))


def is_blocked_by(block: Block, task: str) -> bool:
    """Tell whether a block is on this task or above it."""
    return any(task == name or task.startswith(name + "/") for name in block.tasks)


def cycle(state: State, start: Agent, at: int) -> tuple[Agent, ...]:
    """Return agents that wait for one another, from `start` round to itself; empty when it does not wait for itself."""
    trail, seen = [(start, _waited_for(state, start, at))], {start}
    while trail:
        for other in trail[-1][1]:
            if other == start:
                return (*(agent for agent, _ in trail), start)
            if other not in seen:
                seen.add(other)
                trail.append((other, _waited_for(state, other, at)))
                break
        else:
            trail.pop()
    return ()


def reachable(state: State, start: Agent, at: int) -> frozenset[Agent]:
    """Return every agent that `start` waits for, and that those wait for."""
    found, trail = set[Agent](), [start]
    while trail:
        new = set(_waited_for(state, trail.pop(), at)) - found
        found |= new
        trail += new
    return frozenset(found)


def _waited_for(state: State, agent: Agent, at: int) -> Iterator[Agent]:
    for waiter in state.waiting.values():
        if waiter.agent == agent:
            yield from (c.claim.holder for c in _obstacles(state, agent, waiter.op.items, at, waiter.queue))
