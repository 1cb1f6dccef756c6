"""A claim lives as long as its holder shows signs of life; a stale one still blocks."""

from __future__ import annotations

from tests.domain.world import START, World, path, statement

from git_coord.domain.announcements import Presence
from git_coord.domain.ids import Agent, Session
from git_coord.domain.lease import (
    CLASSES,
    beat_interval,
    counting_beat,
    is_stale,
    lease_end,
    vouched_until,
    warned_from,
)
from git_coord.domain.state import Member
from git_coord.domain.statements import Renewal

MEMBER = Member(keys=(), seq=1, session=Session("s1"))


def beat(at: int, session: str = "s1", state: str = "online") -> Presence:
    """Return a heartbeat."""
    fields = {"branch": None, "note": None, "queue": 0, "since": at, "state": state, "task": None, "ttl": 60}
    fields |= {"host": None, "place": None, "will": None}
    return statement(1, Presence, "alpha", at=at, session=Session(session), **fields)


def test_classes_last_half_an_hour_two_and_four() -> None:
    assert CLASSES == {"quick": 1800, "standard": 7200, "long": 14400}


def test_a_lease_ends_a_ttl_after_the_newest_of_grant_renewal_and_beat() -> None:
    world = World.of("alpha")
    claim = world.granted(world.claim("alpha", path("a"), ttl=100))
    assert lease_end(claim, None) == claim.at + 100
    assert lease_end(claim, claim.at - 1) == claim.at + 100
    assert lease_end(claim, claim.at + 5) == claim.at + 105
    renewal = world.renew("alpha", Renewal(claim.op, (None,), ()), ttl=1000)
    world.done(renewal)
    assert lease_end(world.head.state.claims[claim.op], claim.at + 5) == renewal.at + 1000


def test_a_claim_that_came_unattended_ends_in_two_minutes_unless_a_later_beat_follows() -> None:
    world = World.of("alpha")
    claim = world.granted(world.claim("alpha", path("a"), ttl=1000))._replace(unattended=True)
    assert lease_end(claim, None) == claim.at + 120
    assert lease_end(claim, claim.at) == claim.at + 120
    assert lease_end(claim, claim.at + 1) == claim.at + 1001
    assert lease_end(claim._replace(ttl=30), None) == claim.at + 30
    assert vouched_until(claim, None, 60) == claim.at + 60
    assert warned_from(claim, claim.at + 60) == claim.at + 30
    assert warned_from(claim, claim.at + 941) == claim.at + 691


def test_a_claim_is_stale_only_after_the_last_second_of_its_lease_and_still_held() -> None:
    world = World.of("alpha", "beta")
    claim = world.granted(world.claim("alpha", path("a"), ttl=100))
    assert not is_stale(claim, None, claim.at + 160, 60)
    assert is_stale(claim, None, claim.at + 161, 60)
    assert not is_stale(claim, claim.at + 1, claim.at + 161, 60)
    world.refused(world.claim("beta", path("a"), at=claim.at + 10_000))
    assert world.head.state.held_by(Agent("alpha")) == [claim]


def test_only_beats_of_the_current_session_that_are_not_of_the_future_count() -> None:
    assert counting_beat(MEMBER, None, START, 60) is None
    assert counting_beat(MEMBER, beat(START, "s2"), START, 60) is None
    assert counting_beat(MEMBER, beat(START), START, 60) == START
    assert counting_beat(MEMBER, beat(START + 60), START, 60) == START + 60
    assert counting_beat(MEMBER, beat(START + 61), START, 60) is None


def test_the_holder_gives_up_before_others_see_the_lease_end() -> None:
    world = World.of("alpha")
    claim = world.granted(world.claim("alpha", path("a"), ttl=600))
    assert vouched_until(claim, None, 60) == claim.at + 540
    assert vouched_until(claim, claim.at + 50, 60) == claim.at + 590
    assert vouched_until(claim, None, 0) == claim.at + 600
    assert warned_from(claim, claim.at + 540) == claim.at + 390


def test_a_short_lease_is_not_over_as_soon_as_it_begins() -> None:
    world = World.of("alpha")
    claim = world.granted(world.claim("alpha", path("a"), ttl=30))
    assert vouched_until(claim, None, 60) == claim.at + 20


def test_a_beat_is_due_after_a_third_of_the_shortest_lease_or_when_it_is_ones_turn() -> None:
    assert beat_interval([], 1) == 300
    assert beat_interval([7200, 600], 1) == 200
    assert beat_interval([7200], 1) == 300
    assert beat_interval([7200], 100) == 1500
    assert beat_interval([7200], 1000) == 2400
    assert beat_interval([1], 1) == 1
