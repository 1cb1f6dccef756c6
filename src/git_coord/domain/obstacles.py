"""What is in the way of a claim: claims of others, waiters before it, blocked tasks, and waiting for one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .changing import unqueued
from .ids import Agent
from .items import Intent, Item, ItemKind
from .outcome import Conflict
from .state import Block, State, Waiter
from .statements import Claim, Takeover

PROTECTED_SECONDS = 600
"""How long a waiter keeps newcomers off what it waits for, from the date of its claim."""


def conflicts(state: State, agent: Agent, items: Iterable[Item]) -> tuple[Conflict, ...]:
    """Return every claim of others in the way of these items: overlap, unless both are reads."""
    return tuple(
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
    return conflicts(state, agent, items) + tuple(_ahead(state, agent, items, at, number))


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
    if not state.waiting:
        return
    for asked in items:
        for nonce, position in state.asked.overlapping(asked):
            waiter = state.waiting[nonce]
            held = waiter.op.items[position]
            if (
                waiter.agent != agent
                and (number is None or waiter.queue < number)
                and Intent.EDIT in (asked.intent, held.intent)
                and at <= waiter.op.at + PROTECTED_SECONDS
                and not _waits_for(state, waiter, agent)
            ):
                yield Conflict(asked, waiter.as_claim(), held)


def _waits_for(state: State, waiter: Waiter, agent: Agent) -> bool:
    return any(found.claim.holder == agent for found in conflicts(state, waiter.agent, waiter.op.items))


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
            yield from (c.claim.holder for c in obstacles(state, agent, waiter.op.items, at, waiter.queue))
