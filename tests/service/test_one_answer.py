"""One question, one answer: what a claim decides is what every look, and every hook, says before."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.domain.world import World, oid_of

from git_coord.domain.ids import Agent
from git_coord.domain.items import Intent, Item, ItemKind, file_item
from git_coord.domain.ledger import Granted, Outcome, Refusal, Refused, apply
from git_coord.domain.obstacles import in_the_way, kept_from
from git_coord.domain.team import NO_RULES
from git_coord.guard import snapshot as flat
from git_coord.guard.verdict import all_free
from git_coord.hooks.judge import judge
from git_coord.service import preflight, query, snapshot
from git_coord.service.query import Picture

AGENTS = ("alpha", "beta", "gamma")
PATHS = ("a", "a/b", "a/b/x.py", "a/x.sql", "b", "b/x.py", "x.py", "A/b")
GLOBS = ("**/*.sql", "a/*", "a/**", "**/x.py", "b/?.py")
TASKS = ("E-1", "E-1/2", "E-2")
BRANCHES = ("main", "main/x", "dev")
intents = st.sampled_from([Intent.EDIT, Intent.EDIT, Intent.READ])
items = st.one_of(
    st.builds(Item, st.just(ItemKind.PATH), st.sampled_from((*PATHS, ".")), intents),
    st.builds(Item, st.just(ItemKind.PATH), st.sampled_from(PATHS), intents, st.just(oid_of("b"))),
    st.builds(file_item, st.sampled_from(PATHS), intents),
    st.builds(Item, st.just(ItemKind.GLOB), st.sampled_from(GLOBS), intents),
    st.builds(Item, st.just(ItemKind.TASK), st.sampled_from(TASKS), intents),
    st.builds(Item, st.just(ItemKind.BRANCH), st.sampled_from(BRANCHES), intents),
)
some = st.lists(items, min_size=1, max_size=3, unique_by=lambda item: (item.kind, item.name.lower()))
moves = st.lists(
    st.tuples(st.sampled_from(AGENTS), st.sampled_from(["claim", "claim", "wait", "wait", "release", "block"]), some),
    min_size=1,
    max_size=9,
)
minutes = st.sampled_from([0, 1, 5, 9, 10, 11, 30, 61, 200])


def ledger_of(steps: list[tuple[str, str, list[Item]]], fold: str) -> World:
    """Return a ledger after these operations, a minute apart; what is refused leaves no claim."""
    world = World.of(*AGENTS, fold=fold)
    for agent, kind, wanted in steps:
        held = world.head.state.held_by(Agent(agent))
        if kind == "wait":
            world.do(world.wait(agent, *wanted, seconds=1800))
        elif kind == "release" and held:
            world.do(world.release(agent, (held[0].op, None)))
        elif kind == "block":
            world.do(world.block(agent, *(item.name for item in wanted if item.kind is ItemKind.TASK), "E-3"))
        else:
            world.do(world.claim(agent, *wanted))
    return world


def means(agent: str) -> Any:
    """Return as much of a command's means as a look at a picture needs."""
    me = SimpleNamespace(agent=Agent(agent))
    return SimpleNamespace(actor=Agent(agent), identity=me, me=me)


def decide(world: World, agent: str, asked: Item, now: int) -> Outcome:
    """Return what would become of a claim, placed now."""
    return apply(world.head.state, replace(world.claim(agent, asked), at=now))


def guarded(now: Picture, agent: str, path: str) -> bool:
    """Tell whether the guard lets a commit of the file pass by the flat files alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "local_beat", lambda *_: None)
        patch.setattr(snapshot, "good_until", lambda *_: 1 << 40)
        lines = snapshot._items(means(agent), now.state, frozenset())
        patch.setattr("time.time", lambda: now.now)
        found = flat.decode_claims(flat.encode_claims(now.state.fold.value, b"", lines))
        assert found is not None
        return all_free([path.encode()], found, [], agent.encode())


def preflighted(now: Picture, agent: str, asked: list[Item], changed: list[Item]) -> str:
    """Return what preflight decides, for whoever is alone and in good order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preflight, "picture", lambda _: now)
        patch.setattr(preflight, "roster", lambda _: [])
        patch.setattr(preflight, "neighbours", lambda *_: [])
        patch.setattr(preflight, "_session", lambda _: [])
        return preflight.look_around(means(agent), asked, changed).decision


EDIT = Intent.EDIT
IN_A_ROUND = [
    ("alpha", "claim", [Item(ItemKind.PATH, "a", EDIT)]),
    ("beta", "claim", [Item(ItemKind.PATH, "x.py", EDIT)]),
    ("gamma", "wait", [file_item("a/b")]),
    ("alpha", "wait", [Item(ItemKind.PATH, "x.py", EDIT), Item(ItemKind.PATH, "b", EDIT)]),
]
"""Gamma waits for alpha, which waits for beta, and would for gamma: once others may, gamma may still not claim b."""
BELOW_A_GLOB = [
    ("alpha", "claim", [Item(ItemKind.GLOB, "**/x.py", EDIT)]),
    ("beta", "wait", [Item(ItemKind.PATH, "a/b/x.py", EDIT)]),
]
"""Beta waits for a file of alpha's glob: a file in place of its folder meets beta, never the glob."""


@example(steps=IN_A_ROUND, asked=Item(ItemKind.PATH, "b", EDIT), later=11, fold="none")
@settings(max_examples=150, deadline=None)
@given(steps=moves, asked=items, later=minutes, fold=st.sampled_from(["none", "case+nfc"]))
def test_every_look_says_what_a_claim_would_come_to(
    steps: list[tuple[str, str, list[Item]]], asked: Item, later: int, fold: str
) -> None:
    world = ledger_of(steps, fold)
    state, at = world.head.state, world.head.state.counters.at + 60 * later
    now = Picture(state, frozenset(), {}, at, {})
    asked = asked._replace(intent=Intent.EDIT)  # as reads and hooks ask
    for agent in AGENTS:
        outcome = decide(world, agent, asked, at)
        (found,) = query.check(means(agent), [asked], now)
        if isinstance(outcome, Granted):
            assert found.status in ("free", "mine")
            assert preflighted(now, agent, [asked], []) == "go"
            assert kept_from(state, Agent(agent), (asked,), at) == ()
        else:
            assert isinstance(outcome, Refused)
            expected = ("blocked",) if outcome.reason is Refusal.BLOCKED else ("held", "stale")
            assert found.status in expected
            assert preflighted(now, agent, [asked], []) != "go"
        if not isinstance(outcome, Granted) and outcome.reason is Refusal.CONFLICT:
            assert in_the_way(state, Agent(agent), (asked,), at) == outcome.conflicts


@example(steps=IN_A_ROUND, path="b/x.py", later=11, fold="none")
@example(steps=BELOW_A_GLOB, path="a", later=0, fold="none")
@settings(max_examples=150, deadline=None)
@given(steps=moves, path=st.sampled_from(PATHS), later=minutes, fold=st.sampled_from(["none", "case+nfc"]))
def test_every_hook_says_of_a_file_what_a_claim_of_it_would_come_to(
    steps: list[tuple[str, str, list[Item]]], path: str, later: int, fold: str
) -> None:
    world = ledger_of(steps, fold)
    now = Picture(world.head.state, frozenset(), {}, world.head.state.counters.at + 60 * later, {})
    for agent in AGENTS:
        is_free = isinstance(decide(world, agent, file_item(path), now.now), Granted)
        assert judge(now, NO_RULES, Agent(agent), [path]).is_free is is_free
        assert preflighted(now, agent, [], [file_item(path)]) == ("go" if is_free else "wait") or not is_free
        assert is_free or not guarded(now, agent, path), "the guard lets pass only what is surely free"


def test_the_guard_lets_pass_what_a_waiter_and_its_holder_have_no_part_in() -> None:
    world = World.of(*AGENTS)
    world.granted(world.claim("alpha", file_item("a/b")))
    world.queued(world.wait("beta", file_item("a/b"), Item(ItemKind.PATH, "b", Intent.EDIT)))
    now = Picture(world.head.state, frozenset(), {}, world.head.state.counters.at, {})
    assert [guarded(now, "alpha", path) for path in ("a/b", "x.py", "b/x.py")] == [True, True, False]
    assert [guarded(now, "gamma", path) for path in ("a/b", "x.py", "b/x.py")] == [False, True, False]
    assert [judge(now, NO_RULES, Agent("alpha"), [path]).is_free for path in ("a/b", "b/x.py")] == [True, True]
