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
from tests.domain.world import START, World, branch, glob, oid_of, path, task, watched

from git_coord.domain.fold import Fold
from git_coord.domain.ids import Nonce, Session
from git_coord.domain.items import Intent, Item
from git_coord.domain.ledger import Outcome, Queueing, Refused
from git_coord.domain.loading import load_state
from git_coord.domain.obstacles import cycle
from git_coord.domain.overlap import overlaps
from git_coord.domain.state import LiveClaim, State
from git_coord.domain.statements import Landed, LandedPath, Operation, Renewal, Stamp

AGENTS = ("alpha", "beta", "gamma")
NEVER = START + 10**9
"""When no waiter keeps anybody off any more."""
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
    lambda intent: branch("main", intent),
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
    kind = rng.choice(
        ["claim"] * 6 + ["release"] * 3 + ["more"] * 3 + ["renew", "renew", "break", "cancel"] + ["member"]
    )
    if kind == "claim":
        return _claim(world, rng, agent, target, odd | dated)
    if kind == "release":
        positions = tuple(rng.sample(range(size), rng.randint(1, size))) if rng.random() < 0.6 else None
        return world.release(agent, (target, positions), **odd, **dated, **_ending(rng))
    if kind == "renew":
        pins = tuple(rng.choice([None, oid_of("2")]) for _ in range(size))
        return world.renew(agent, Renewal(target, pins, (Stamp("r", str(world.count)),)), **odd, **dated)
    if kind == "member":
        sets = world.policy(agent, max_lease=rng.choice([7200, 86400]), takeover=rng.choice(["gated", "never"]))
        return rng.choice([sets, world.rejoin(agent, f"{agent}-1")])
    if kind == "more":
        return _more(world, rng, agent, target, odd)
    waits = [waiter.op.nonce for waiter in state.waiting.values()]
    return world.break_(agent, target) if kind == "break" else world.cancel(agent, rng.choice([target, *waits]))


def _ending(rng: random.Random) -> dict[str, Any]:
    """Return how a release ends a claim: now, in another's hands, or when a branch has it."""
    landed = Landed("topic", oid_of("c"), (LandedPath("a", None),), rng.choice([None, "main", "main"]))
    hand_over = {"to": rng.choice([*AGENTS, "nobody"])}
    return rng.choice([{}, {}, hand_over, hand_over, {"landed": landed}])


def _more(world: World, rng: random.Random, agent: str, target: Nonce, odd: dict[str, Any]) -> Operation:
    """Return a takeover, or something about tasks or settling."""
    state = world.head.state
    kind = rng.choice(["takeover", "takeover", "settle", "block", "unblock"])
    if kind == "takeover" and target in state.claims:
        seen = watched(state.claims[target], unchanged=rng.choice([0, 90_000, 90_000]))
        items = (make(rng.choice(["read", "edit"])) for make in rng.sample(NAMES, rng.randint(1, 2)))
        soon = {"at": START + rng.randrange(10_000)} if rng.random() < 0.2 else {}
        return world.takeover(agent, (seen,), *items, **odd, **soon)
    if kind == "settle":
        return world.settle(agent, target, **odd)
    if kind == "block" or not state.blocks:
        return world.block(agent, rng.choice(["E-1", "E-1/2"]), **odd)
    return world.unblock(agent, rng.choice([target, *state.blocks]), **odd)


def _claim(world: World, rng: random.Random, agent: str, used: Nonce, changes: dict[str, Any]) -> Operation:
    picked = rng.sample(NAMES, rng.randint(1, 3))
    stamps = rng.choice([None, (), (Stamp("n", str(world.count)),)])
    deadline = rng.choice([None, None, None, START + rng.randrange(10_000)])
    again: dict[str, Any] = {"nonce": used} if rng.random() < 0.05 else {}
    items = (make(rng.choice(["read", "edit"])) for make in picked)
    op = world.claim(agent, *items, stamps=stamps, not_after=deadline, **changes, **again)
    return replace(op, wait_until=rng.choice([None, None, op.at + rng.randrange(3700)]))


def check_one_writer(state: State) -> None:
    """Check promise 1 the slow way, without the index."""
    held = [(claim.holder, item) for claim in state.claims.values() for _, item in claim.live()]
    for (one, mine), (other, theirs) in combinations(held, 2):
        if one != other and Intent.EDIT in (mine.intent, theirs.intent):
            assert not overlaps(mine, theirs, state.fold)


def check_index(state: State) -> None:
    """Check that the indexes hold exactly what is live, and what waits."""
    live = {(claim.op, at) for claim in state.claims.values() for at, _ in claim.live()}
    asked = {(waiter.op.nonce, at) for waiter in state.waiting.values() for at in range(len(waiter.op.items))}
    for index, keys in ((state.index, live), (state.asked, asked)):
        assert len(index) == len(keys)
        assert all(key in index for key in keys)


def check_queue(state: State, at: int) -> None:
    """Check that nobody waits for itself by what is held, that nobody waits too long, and that numbers are in order.

    Behind a waiter an agent may come to wait for itself when something is given back, while that keeps it off.
    """
    numbers = [waiter.queue for waiter in state.waiting.values()]
    assert numbers == sorted(numbers)
    assert state.waiting.keys().isdisjoint(state.claims)
    for waiter in state.waiting.values():
        assert not cycle(state, waiter.agent, NEVER)
        assert (waiter.op.wait_until or 0) >= at


def check_step(before: State, world: World, outcomes: list[Outcome]) -> None:
    """Check what one commit may have changed."""
    after = world.head.state
    granted = [claim.token for outcome in outcomes for claim in made_by(outcome)]
    first = before.counters.token + 1
    assert granted == list(range(first, first + len(granted)))
    assert after.counters.token == before.counters.token + len(granted)
    assert after.counters.ops == before.counters.ops + len(outcomes)
    if all(isinstance(outcome, Refused) and outcome.queueing == Queueing() for outcome in outcomes):
        assert (after.claims, after.policy, after.waiting) == (before.claims, before.policy, before.waiting)
        assert after.blocks == before.blocks
    check_one_writer(after)
    check_index(after)
    check_queue(after, after.counters.at)


def made_by(outcome: Outcome) -> list[LiveClaim]:
    """Return the claims that an operation made, in the order of their tokens."""
    own = [] if isinstance(outcome, Refused) else [change.after for change in outcome.changes if change.before is None]
    return [claim for claim in own if claim] + [served.claim for served in outcome.queueing.served]


def check_round_trip(world: World) -> None:
    """Check that the written tree holds the state, to the order in which conflicts are named."""
    state, loaded = world.head.state, load_state(world.files())
    assert replace(loaded, index=state.index, asked=state.asked) == state
    assert list(loaded.claims) == list(state.claims)
    everything = (path("."), task("E-1"), glob("**/*"))
    assert [loaded.index.overlapping(item) for item in everything] == [
        state.index.overlapping(item) for item in everything
    ]
    assert load_state(dict(reversed(world.files().items()))).claims == state.claims


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
        check_step(before, world, [entry.outcome for entry in made.placed if entry.outcome])
        check_round_trip(world)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_commit_that_went_through_its_tree_is_extended_alike(seed: int) -> None:
    rng = random.Random(seed)
    world = World.of(*AGENTS)
    for _ in range(12):
        reloaded = World(
            world.head._replace(state=load_state(world.files())), world.objects, world.algorithm, world.count
        )
        operation = random_operation(world, rng)
        assert reloaded.place(operation).head.oid == world.place(operation).head.oid
