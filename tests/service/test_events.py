"""Which events an operation is: what waiters, takeovers and hand-overs are to those who watch."""

from __future__ import annotations

from tests.domain.world import World, branch, path, sealed, task, watched

from git_coord.domain.chain import Placed
from git_coord.domain.ids import Agent
from git_coord.domain.statements import Operation
from git_coord.service.events import ledger_events

Told = tuple[str, str | None, str]


def told(world: World, op: Operation) -> list[Told]:
    """Place an operation; return kind, agent and words of its events."""
    events = list(ledger_events(Placed(sealed(op), world.do(op)), 7))
    assert [event.id for event in events] == [f"{op.repo[:8]}-7-{n}" for n in range(len(events))]
    return [(event.kind, event.agent, event.text) for event in events]


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
    world.granted(world.claim("alpha", path("a"), path("b")))
    assert told(world, world.claim("alpha", path("a"))) == [("claim.granted", "alpha", "#2 alpha claims a (edit)")]
    assert told(world, world.block("alpha", "E-1")) == []


def test_tasks_and_branches_are_named_as_they_are_typed() -> None:
    world = World.of("alpha")
    op = world.claim("alpha", task("E-1/2"), branch("main"))
    (event,) = ledger_events(Placed(sealed(op), world.do(op)), 3)
    assert event.data["items"] == [{"path": "task:E-1/2", "intent": "edit"}, {"path": "branch:main", "intent": "edit"}]
