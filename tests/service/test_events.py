"""Which events an operation is: what waiters, takeovers and hand-overs are to those who watch."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.domain.world import World, branch, path, sealed, task, watched

from git_coord.domain.chain import Placed
from git_coord.domain.ids import Agent
from git_coord.domain.statements import Operation
from git_coord.domain.terms import Renewal
from git_coord.domain.timestamps import format_stamp
from git_coord.service.events import KINDS, Event, ledger_events

Told = tuple[str, str | None, str]


def told(world: World, op: Operation) -> list[Told]:
    """Place an operation; return kind, agent and words of its events."""
    return [(event.kind, event.agent, event.text) for event in events_of(world, op)]


def events_of(world: World, op: Operation) -> list[Event]:
    """Place an operation; return its events, whose ids are checked."""
    events = list(ledger_events(Placed(sealed(op), world.do(op)), 7))
    assert [event.id for event in events] == [f"{op.repo[:8]}-7-{n}" for n in range(len(events))]
    return events


def test_a_waiter_is_queued_and_granted_by_the_release_it_waited_for() -> None:
    world = World.of("alpha", "beta")
    held = world.granted(world.claim("alpha", path("a")))
    assert told(world, world.wait("beta", path("a"), path("b"))) == [
        ("claim.queued", "beta", "beta waits for a (edit) +1: alpha #1")
    ]
    line = "alpha releases #1; #2 beta is granted a (edit) +1"
    assert told(world, world.release("alpha", (held.op, None))) == [
        ("claim.released", "alpha", line),
        ("claim.granted", "beta", "#2 beta is granted a (edit) +1"),
    ]


def test_a_takeover_is_an_end_for_the_old_holder_and_a_grant_for_the_new() -> None:
    world = World.of("alpha", "beta")
    held = world.granted(world.claim("alpha", path("a")))
    line = "#2 beta takes over a (edit): alpha #1"
    assert told(world, world.takeover("beta", (watched(held),), path("a"))) == [
        ("claim.taken", "alpha", line),
        ("claim.granted", "beta", line),
    ]


def test_a_takeover_that_is_refused_is_told_as_a_refusal() -> None:
    world = World.of("alpha", "beta")
    held = world.granted(world.claim("alpha", path("a")))
    early = world.takeover("beta", (watched(held),), path("a"), at=held.at + 1)
    assert told(world, early) == [("claim.refused", "beta", "beta is refused takeover a (edit): lease not over")]


def test_a_hand_over_is_an_end_and_a_grant() -> None:
    world = World.of("alpha", "beta")
    held = world.granted(world.claim("alpha", path("a")))
    line = "alpha hands #1 to beta as #2"
    assert told(world, world.release("alpha", (held.op, None), to=Agent("beta"))) == [
        ("claim.released", "alpha", line),
        ("claim.granted", "beta", "#2 beta is granted a (edit)"),
    ]


def test_what_one_replaces_or_renews_oneself_is_no_end() -> None:
    world = World.of("alpha")
    held = world.granted(world.claim("alpha", path("a"), path("b")))
    assert told(world, world.renew("alpha", Renewal(held.op, (None, None), ()))) == []
    assert told(world, world.claim("alpha", path("a"))) == [("claim.granted", "alpha", "#2 alpha claims a (edit)")]


def test_a_waiter_whose_time_is_over_is_told_by_whatever_is_placed_next() -> None:
    world = World.of("alpha", "beta")
    held = world.granted(world.claim("alpha", path("a")))
    waits = world.wait("beta", path("a"), path("b"), seconds=60, purpose="why")
    world.queued(waits)
    late = replace(world.release("alpha", (held.op, None)), at=waits.at + 61)
    over, released = events_of(world, late)
    assert (over.kind, over.agent, over.text) == ("claim.timed_out", "beta", "beta waited in vain for a (edit) +1")
    items = [{"path": "a", "intent": "edit"}, {"path": "b", "intent": "edit"}]
    told_with = {"purpose": "why", "since": format_stamp(waits.at), "until": format_stamp(waits.at + 60)}
    assert dict(over.data) == {"position": 7, "items": items, **told_with}
    assert (released.kind, released.agent, released.text) == ("claim.released", "alpha", "alpha releases #1")


def test_a_wait_given_up_early_is_cancelled_and_one_given_up_at_its_end_timed_out() -> None:
    world = World.of("alpha", "beta")
    world.granted(world.claim("alpha", path("a")))
    expected = {59: ("claim.cancelled", "beta cancels the wait for a (edit)")}
    expected[60] = ("claim.timed_out", "beta waited in vain for a (edit)")
    for seconds, (kind, text) in expected.items():
        waits = world.wait("beta", path("a"), seconds=60)
        world.queued(waits)
        cancel = replace(world.cancel("beta", waits.nonce), at=waits.at + seconds)
        assert told(world, cancel) == [(kind, "beta", text)]


def test_blocking_tasks_and_lifting_that_is_told() -> None:
    world = World.of("alpha", "beta")
    op = world.block("alpha", "E-1", "E-2/3", reason="broken build")
    (blocked,) = events_of(world, op)
    assert (blocked.kind, blocked.agent, blocked.text) == ("task.blocked", "alpha", "alpha blocks task:E-1 +1")
    tasks = ["task:E-1", "task:E-2/3"]
    assert dict(blocked.data) == {"position": 7, "tasks": tasks, "reason": "broken build"}
    (lifted,) = events_of(world, world.unblock("beta", op.nonce, reason="fixed"))
    assert (lifted.kind, lifted.agent, lifted.text) == ("task.unblocked", "beta", "beta unblocks task:E-1 +1")
    assert dict(lifted.data) == {"position": 7, "tasks": tasks, "reason": "fixed", "blocked_by": "alpha"}
    assert told(world, world.claim("alpha", task("E-1")))[0][0] == "claim.granted"


def test_the_page_about_watching_names_every_kind_of_event() -> None:
    page = (Path(__file__).parents[2] / "docs/watch.md").read_text()
    table = page[page.index("| event |") : page.index("What happens in this clone")]
    assert sorted(re.findall(r"`((?:claim|task|presence|post|ledger)\.\w+)`", table)) == sorted(KINDS)


def test_tasks_and_branches_are_named_as_they_are_typed() -> None:
    world = World.of("alpha")
    op = world.claim("alpha", task("E-1/2"), branch("main"))
    (event,) = ledger_events(Placed(sealed(op), world.do(op)), 3)
    assert event.data["items"] == [{"path": "task:E-1/2", "intent": "edit"}, {"path": "branch:main", "intent": "edit"}]
