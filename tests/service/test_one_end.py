"""A lease ends once: what is called stale can be taken over as far as the lease goes, and presence keeps its pace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.domain.world import World, path, watched

from git_coord.domain.items import file_item
from git_coord.domain.ledger import Refusal
from git_coord.domain.obstacles import in_the_way
from git_coord.service import query, takeover
from git_coord.service.beat import beat_if_due, interval, note_beat
from git_coord.service.presence import DEFAULT_TTL, Wish, own_record, roster, set_presence
from git_coord.service.remote_ledger import ROSTER_FAMILIES, fetch_and_adopt

from .scene import Desk, Scene


@pytest.mark.parametrize("late", range(-2, 4))
@pytest.mark.parametrize("around", [0, 60])
def test_what_status_calls_stale_a_takeover_finds_over_and_nothing_else(tmp_path, late: int, around: int) -> None:
    scene = Scene(tmp_path, with_hub=False)
    alpha, beta = scene.joined("alpha", "beta")
    claim = alpha.granted("a", ttl=600).claim
    scene.clock.steady += 600 + around + late
    coord = beta.coord()
    (asked,) = query.check(coord, [file_item("a")])
    (found,) = takeover.examine(coord, [claim], coord.clock.monotonic())
    (shown,) = query.status(coord).claims
    lease = next(gate for gate in found.gates if gate.name == "lease")
    assert (asked.status == "stale", shown.is_stale) == (lease.is_passed, lease.is_passed)
    assert lease.is_passed is (around + late > coord.known.state.skew)


@pytest.mark.parametrize("late", range(58, 63))
def test_the_ledger_finds_over_what_a_reader_calls_stale(late: int) -> None:
    world = World.of("alpha", "beta")
    claim = world.granted(world.claim("alpha", path("a"), ttl=600))
    at = claim.certain_end + late
    outcome = world.do(replace(world.takeover("beta", (watched(claim),), path("a")), at=at))
    now = query.Picture(world.head.state, frozenset(), {}, at, {})
    assert now.held(claim).is_stale is (getattr(outcome, "reason", None) is not Refusal.ALIVE)


def test_beats_follow_the_shortest_presence_that_was_asked_for(tmp_path) -> None:
    scene = Scene(tmp_path)
    alpha, beta = scene.joined("alpha", "beta")
    set_presence(coord := alpha.coord(), Wish("busy", ttl=60))
    assert interval(coord) == 20
    for _ in range(12):
        scene.clock.steady += 20
        coord = alpha.coord()
        assert beat_if_due(coord) is True
        alpha.sync()
        fetch_and_adopt(beta.coord(), ROSTER_FAMILIES)
        assert state_of(beta, "alpha") == "busy"
    assert own_record(alpha.coord()).ttl == 60
    set_presence(coord := alpha.coord(), Wish("busy", ttl=DEFAULT_TTL))
    assert interval(coord) == 300
    set_presence(coord := alpha.coord(), Wish("offline", ttl=60))
    assert interval(coord) == 300


def test_without_a_remote_a_later_sign_of_life_is_believed_as_long_as_the_first(tmp_path) -> None:
    alpha, beta = Scene(tmp_path, with_hub=False).joined("alpha", "beta")
    set_presence(alpha.coord(), Wish("busy", ttl=60))
    alpha.clock.steady += 50
    note_beat(alpha.coord())
    alpha.clock.steady += 50
    assert state_of(beta, "alpha") == "busy"
    alpha.clock.steady += 20
    assert state_of(beta, "alpha") == "unknown"


def state_of(desk: Desk, agent: str) -> str | None:
    """Return what the roster says of an agent."""
    return next(seen.state for seen in roster(desk.coord()) if seen.agent == agent)


def test_the_queue_ends_with_online_and_a_beat_keeps_it(tmp_path) -> None:
    (alpha,) = Scene(tmp_path, with_hub=False).joined("alpha")
    assert set_presence(alpha.coord(), Wish("busy", queue=3)).queue == 3
    assert set_presence(alpha.coord(), Wish("busy", note="still")).queue == 3
    assert set_presence(alpha.coord(), Wish("busy", is_beat=True)).queue == 3
    assert set_presence(alpha.coord(), Wish("draining")).queue == 3
    assert set_presence(alpha.coord(), Wish("online")).queue == 0
    assert set_presence(alpha.coord(), Wish("online", queue=2)).queue == 2
    assert set_presence(alpha.coord(), Wish("online", is_beat=True)).queue == 2
    assert set_presence(alpha.coord(), Wish("online")).queue == 0


def test_a_waiter_is_in_the_way_of_nobody_when_its_time_is_over() -> None:
    world = World.of("alpha", "beta", "gamma")
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), path("b"), seconds=100)
    world.queued(op)
    gamma = world.claim("gamma", path("b")).agent
    for at, count in ((op.at + 100, 1), (op.at + 101, 0)):
        assert len(in_the_way(world.head.state, gamma, (path("b"),), at)) == count
