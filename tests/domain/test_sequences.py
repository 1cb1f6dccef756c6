"""Whatever several agents do, in whatever order: the promises hold at every position, and the tree says it all."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.world import START, World, glob, oid_of, path, task

from git_coord.domain import layout
from git_coord.domain.fold import Fold
from git_coord.domain.ids import Nonce, Session
from git_coord.domain.items import Intent, Item
from git_coord.domain.ledger import Granted, Refused
from git_coord.domain.overlap import overlaps
from git_coord.domain.state import State
from git_coord.domain.statements import Operation, Renewal, Stamp

AGENTS = ("alpha", "beta", "gamma")
NAMES: tuple[Callable[[str], Item], ...] = (
    lambda intent: path(".", intent),
    lambda intent: path("a", intent),
    lambda intent: path("A", intent),
    lambda intent: path("a/b", intent),
    lambda intent: path("a/b/c.py", intent, oid_of("1")),
    lambda intent: path("d/\udcff", intent),
    lambda intent: glob("a/*/*.py", intent),
    lambda intent: glob("**/*.RS", intent),
    lambda intent: task("E-1", intent),
    lambda intent: task("E-1/2", intent),
)


def random_operation(world: World, rng: random.Random) -> Operation:
    """Return an operation that may be placed, often one that is refused."""
    agent = rng.choice(AGENTS)
    state = world.head.state
    claims = list(state.claims.values())
    target = rng.choice(claims).op if claims and rng.random() < 0.9 else Nonce("e" * 32)
    size = len(state.claims[target].items) if target in state.claims else 1
    odd: dict[str, Any] = {"session": Session("elsewhere")} if rng.random() < 0.05 else {}
    dated: dict[str, Any] = {"at": START + rng.randrange(10_000)} if rng.random() < 0.2 else {}
    kind = rng.choice(["claim"] * 6 + ["release"] * 3 + ["renew", "renew", "break", "cancel", "rejoin", "policy"])
    if kind == "claim":
        return _claim(world, rng, agent, target, odd | dated)
    if kind == "release":
        positions = tuple(rng.sample(range(size), rng.randint(1, size))) if rng.random() < 0.6 else None
        return world.release(agent, (target, positions), **odd, **dated)
    if kind == "renew":
        pins = tuple(rng.choice([None, oid_of("2")]) for _ in range(size))
        return world.renew(agent, Renewal(target, pins, (Stamp("r", str(world.count)),)), **odd, **dated)
    if kind == "policy":
        return world.policy(agent, max_lease=rng.choice([7200, 86400]))
    if kind == "rejoin":
        return world.rejoin(agent, f"{agent}-1")
    return world.break_(agent, target) if kind == "break" else world.cancel(agent, target)


def _claim(world: World, rng: random.Random, agent: str, used: Nonce, changes: dict[str, Any]) -> Operation:
    picked = rng.sample(NAMES, rng.randint(1, 3))
    stamps = rng.choice([None, (), (Stamp("n", str(world.count)),)])
    deadline = rng.choice([None, None, None, START + rng.randrange(10_000)])
    again: dict[str, Any] = {"nonce": used} if rng.random() < 0.05 else {}
    items = (make(rng.choice(["read", "edit"])) for make in picked)
    return world.claim(agent, *items, stamps=stamps, not_after=deadline, **changes, **again)


def check_one_writer(state: State) -> None:
    """Check promise 1 the slow way, without the index."""
    held = [(claim.holder, item) for claim in state.claims.values() for _, item in claim.live()]
    for (one, mine), (other, theirs) in combinations(held, 2):
        if one != other and Intent.EDIT in (mine.intent, theirs.intent):
            assert not overlaps(mine, theirs, state.fold)


def check_index(state: State) -> None:
    """Check that the index holds exactly what is live."""
    live = {(claim.op, at): item for claim in state.claims.values() for at, item in claim.live()}
    assert len(state.index) == len(live)
    assert all(key in state.index for key in live)


def check_step(before: State, world: World, outcomes: list[object]) -> None:
    """Check what one commit may have changed."""
    after = world.head.state
    granted = [outcome.claim for outcome in outcomes if isinstance(outcome, Granted)]
    first = before.counters.token + 1
    assert [claim.token for claim in granted] == list(range(first, first + len(granted)))
    assert after.counters.token == before.counters.token + len(granted)
    assert after.counters.ops == before.counters.ops + len(outcomes)
    if all(isinstance(outcome, Refused) for outcome in outcomes):
        assert (after.claims, after.policy) == (before.claims, before.policy)
    check_one_writer(after)
    check_index(after)


def check_round_trip(world: World) -> None:
    """Check that the written tree holds the state, to the order in which conflicts are named."""
    state, loaded = world.head.state, layout.load_state(world.files())
    assert replace(loaded, index=state.index) == state
    assert list(loaded.claims) == list(state.claims)
    everything = (path("."), task("E-1"), glob("**/*"))
    assert [loaded.index.overlapping(item) for item in everything] == [
        state.index.overlapping(item) for item in everything
    ]
    assert layout.load_state(dict(reversed(world.files().items()))).claims == state.claims


@pytest.mark.parametrize("fold", Fold)
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 40), together=st.integers(1, 3))
def test_the_promises_hold_after_every_commit(fold: Fold, seed: int, count: int, together: int) -> None:
    rng = random.Random(seed)
    world = World.of(*AGENTS, fold=fold.value)
    for _ in range(count):
        before = world.head.state
        operations = [random_operation(world, rng) for _ in range(together)]
        made = world.place(*operations)
        check_step(before, world, [entry.outcome for entry in made.placed])
        check_round_trip(world)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_commit_that_went_through_its_tree_is_extended_alike(seed: int) -> None:
    rng = random.Random(seed)
    world = World.of(*AGENTS)
    for _ in range(12):
        reloaded = World(
            world.head._replace(state=layout.load_state(world.files())), world.objects, world.algorithm, world.count
        )
        operation = random_operation(world, rng)
        assert reloaded.place(operation).head.oid == world.place(operation).head.oid
