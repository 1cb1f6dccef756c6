"""Agents that would wait for one another: who, for whom, and what for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from git_coord.domain.fields import path
from git_coord.domain.ids import Agent
from git_coord.domain.items import Item, show_name
from git_coord.domain.ledger import Conflict, Refused
from git_coord.domain.obstacles import obstacles
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple


class Wait(NamedTuple):
    """One step of the round: an agent, whom it waits for, and what of the other is in its way, if that can be told."""

    agent: Agent
    other: Agent
    item: Item | None
    token: int = 0


def deadlock(found: Refused) -> CoordError:
    """Return the error for an operation after which its agent would wait for itself."""
    waits = [_wait(found, agent, other) for agent, other in pairwise(found.cycle)]
    last = waits[-1]
    return CoordError(
        Kind.CONFLICT,
        f"refused, nobody would ever get on: {', '.join(map(_words, waits))}",
        next=f"git coord release '#{last.token}'" if last.token else "git coord status",
        data={"code": "deadlock", "cycle": [_object(wait) for wait in waits]},
    )


def _wait(found: Refused, agent: Agent, other: Agent) -> Wait:
    hits = [*(found.conflicts if agent == found.cycle[0] else ()), *_obstacles(found, agent)]
    hit = next((conflict for conflict in hits if conflict.claim.holder == other), None)
    return Wait(agent, other, None) if hit is None else Wait(agent, other, hit.held, hit.claim.token)


def _obstacles(found: Refused, agent: Agent) -> Iterator[Conflict]:
    state = found.state
    for waiter in state.waiting.values():
        if waiter.agent == agent:
            yield from obstacles(state, agent, waiter.op.items, state.counters.at, waiter.queue)


def _words(wait: Wait) -> str:
    what = "" if wait.item is None else f" ({show_name(wait.item.kind, wait.item.name)})"
    return f"{wait.agent} waits for {wait.other}{what}"


def _object(wait: Wait) -> dict[str, object]:
    name = None
    if wait.item is not None:
        name = path.write(wait.item.name) if wait.item.kind.is_file else show_name(wait.item.kind, wait.item.name)
    return {"agent": wait.agent, "waits_for": wait.other, "path": name}
