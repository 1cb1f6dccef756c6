"""Takeover: what it ends, what it gets, and every gate that keeps it from who may be alive."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.world import World, path, task, watched

from git_coord.domain.ids import Agent, Nonce, Session
from git_coord.domain.ledger import Change, Conflict, Granted, Refusal
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Renewal, Stamp, Takeover

UNKNOWN = Nonce("f" * 32)
SKEW = 60


@pytest.fixture
def world() -> World:
    """Return a ledger with four members."""
    return World.of("alpha", "beta", "gamma", "delta")


def taken(world: World, op: Takeover) -> LiveClaim:
    """Place a takeover that must be granted, and return its claim."""
    outcome = world.do(op)
    assert isinstance(outcome, Granted), outcome
    return outcome.claim


def test_a_takeover_ends_the_claims_it_names_whole_and_is_granted_its_own_items_attended(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a"), path("b"), purpose="theirs"))
    op = world.takeover("beta", (watched(old),), path("a"), path("c"), purpose="mine", ttl=900)
    outcome = world.do(op)
    assert isinstance(outcome, Granted)
    claim = outcome.claim
    assert outcome.changes == (Change(old, None), Change(None, claim))
    assert (claim.token, claim.op, claim.holder, claim.purpose) == (2, op.nonce, "beta", "mine")
    assert (claim.at, claim.unattended, claim.certain_end) == (op.at, False, op.at + 900)
    assert world.holders() == {"a": "beta", "c": "beta"}


def test_a_takeover_of_claims_of_several_holders_ends_them_all(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("gamma", path("b")))
    assert taken(world, world.takeover("beta", (watched(two), watched(one)), path("."))).token == 3
    assert world.holders() == {".": "beta"}


def test_a_late_renewal_or_release_of_who_was_taken_over_changes_nothing(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    new = taken(world, world.takeover("beta", (watched(old),), path("a")))
    assert world.refused(world.renew("alpha", Renewal(old.op, (None,), ()))).reason is Refusal.NOT_HELD
    assert world.refused(world.release("alpha", (old.op, None))).reason is Refusal.NOT_HELD
    assert world.head.state.claims == {new.op: new}


@pytest.mark.parametrize("late", [SKEW, SKEW + 1])
def test_a_lease_is_over_when_the_takeover_is_later_by_more_than_the_skew(world: World, late: int) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    outcome = world.do(world.takeover("beta", (watched(old),), path("a"), at=old.at + 7200 + late))
    assert getattr(outcome, "reason", None) is (Refusal.ALIVE if late == SKEW else None)


def test_the_skew_is_that_of_the_policy() -> None:
    world = World.of("alpha", "beta", skew=0)
    old = world.granted(world.claim("alpha", path("a")))
    assert world.refused(world.takeover("beta", (watched(old),), path("a"), at=old.at + 7200)).reason is Refusal.ALIVE
    taken(world, world.takeover("beta", (watched(old),), path("a"), at=old.at + 7201))


def test_evidence_may_say_that_a_lease_ended_later_than_the_ledger_tells_and_never_earlier(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    early = watched(old, lease_end=old.certain_end - 1)
    assert world.refused(world.takeover("beta", (early,), path("a"), at=old.at + 86400)).reason is Refusal.ALIVE
    later = watched(old, lease_end=old.certain_end + 500)
    soon = world.takeover("beta", (later,), path("a"), at=old.certain_end + 500 + SKEW)
    assert world.refused(soon).reason is Refusal.ALIVE
    taken(world, world.takeover("beta", (later,), path("a")))


def test_a_renewal_moves_the_certain_end(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    renew = world.renew("alpha", Renewal(old.op, (None,), ()), ttl=600, at=old.at + 7000)
    world.done(renew)
    assert world.refused(world.takeover("beta", (watched(old),), path("a"))).reason is Refusal.ALIVE
    now = world.head.state.claims[old.op]
    assert now.certain_end == renew.at + 600
    taken(world, world.takeover("beta", (watched(now),), path("a")))


@pytest.mark.parametrize("how", ["served", "handed over"])
def test_what_came_unattended_may_be_taken_over_after_two_minutes_and_the_skew(world: World, how: str) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    if how == "served":
        world.queued(world.wait("gamma", path("a")))
    release = world.release("alpha", (held.op, None), to=None if how == "served" else "gamma")
    world.done(release)
    (now,) = world.head.state.claims.values()
    assert (now.holder, now.certain_end) == ("gamma", release.at + 120)
    op = world.takeover("beta", (watched(now),), path("a"), at=release.at + 120 + SKEW)
    assert world.refused(op).reason is Refusal.ALIVE
    taken(world, world.takeover("beta", (watched(now),), path("a"), at=release.at + 120 + SKEW + 1))


def test_what_came_unattended_is_watched_for_its_whole_ttl_all_the_same(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    world.done(world.release("alpha", (held.op, None), to="gamma"))
    (now,) = world.head.state.claims.values()
    assert world.refused(world.takeover("beta", (watched(now, unchanged=7199),), path("a"))).reason is Refusal.UNWATCHED
    taken(world, world.takeover("beta", (watched(now, unchanged=7200),), path("a")))


@pytest.mark.parametrize("seconds", [7199, 7200])
def test_who_has_watched_a_claim_for_its_ttl_needs_no_witness(world: World, seconds: int) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    outcome = world.do(world.takeover("beta", (watched(old, unchanged=seconds),), path("a")))
    assert getattr(outcome, "reason", None) is (Refusal.UNWATCHED if seconds == 7199 else None)


@pytest.mark.parametrize(("ttl", "long"), [(300, 600), (600, 600), (7200, 7200)])
@pytest.mark.parametrize("more", [0, 1])
def test_a_witness_counts_when_the_lease_is_over_by_more_than_its_ttl_and_ten_minutes(
    world: World, ttl: int, long: int, more: int
) -> None:
    old = world.granted(world.claim("alpha", path("a"), ttl=ttl))
    seen = watched(old, unchanged=0, witness=Agent("gamma"))
    outcome = world.do(world.takeover("beta", (seen,), path("a"), at=old.certain_end + long + more))
    assert getattr(outcome, "reason", None) is (None if more else Refusal.UNWATCHED)


@pytest.mark.parametrize("witness", [None, "alpha", "beta", "nobody"])
def test_a_witness_is_a_member_and_neither_the_agent_nor_the_holder(world: World, witness: str | None) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    seen = watched(old, unchanged=0, witness=witness)
    op = world.takeover("beta", (seen,), path("a"), at=old.certain_end + 86400)
    assert world.refused(op).reason is Refusal.UNWATCHED
    assert world.holders() == {"a": "alpha"}


def test_nobody_takes_over_its_own_claim_or_one_that_is_gone(world: World) -> None:
    mine = world.granted(world.claim("beta", path("a")))
    assert world.refused(world.takeover("beta", (watched(mine),), path("a"))).reason is Refusal.NOT_HELD
    gone = watched(mine)._replace(claim=UNKNOWN)
    assert world.refused(world.takeover("alpha", (gone,), path("b"))).reason is Refusal.NOT_HELD
    assert world.holders() == {"a": "beta"}


def test_a_takeover_is_all_or_nothing_and_refused_for_the_first_claim_that_may_not_be_taken(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("gamma", path("b")))
    bad = watched(two, unchanged=0)
    assert world.refused(world.takeover("beta", (watched(one), bad), path("a"))).reason is Refusal.UNWATCHED
    gone = watched(two)._replace(claim=UNKNOWN)
    assert world.refused(world.takeover("beta", (bad, gone), path("a"))).reason is Refusal.UNWATCHED
    assert world.refused(world.takeover("beta", (gone, bad), path("a"))).reason is Refusal.NOT_HELD
    assert world.holders() == {"a": "alpha", "b": "gamma"}


def test_a_takeover_conflicts_with_what_it_does_not_end(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("alpha", path("b")))
    refused = world.refused(world.takeover("beta", (watched(one),), path("a"), path("b")))
    assert (refused.reason, refused.conflicts) == (Refusal.CONFLICT, (Conflict(path("b"), two, path("b")),))
    assert (world.holders(), world.head.state.counters.token) == ({"a": "alpha", "b": "alpha"}, 2)


def test_a_takeover_is_a_newcomer_to_who_waits(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    late = old.certain_end + SKEW + 1
    world.queued(world.wait("gamma", path("a"), at=late - 600))
    refused = world.refused(world.takeover("beta", (watched(old),), path("a"), at=late))
    assert [(each.claim.holder, each.claim.token) for each in refused.conflicts] == [("gamma", 0)]
    assert taken(world, world.takeover("beta", (watched(old),), path("a"), at=late + 1)).holder == "beta"


def test_who_waits_first_may_take_over_what_it_waits_for_and_who_waits_second_may_not(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a"), path("b")))
    late = old.certain_end + SKEW + 1
    world.queued(world.wait("beta", path("a"), at=late - 20))
    world.queued(world.wait("gamma", path("a"), at=late - 10))
    refused = world.refused(world.takeover("gamma", (watched(old),), path("a"), at=late))
    assert [each.claim.holder for each in refused.conflicts] == ["beta"]
    assert taken(world, world.takeover("beta", (watched(old),), path("a"), at=late)).holder == "beta"


def test_waiting_for_something_else_gives_a_taker_no_place(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    late = old.certain_end + SKEW + 1
    world.granted(world.claim("alpha", path("x")))
    world.queued(world.wait("beta", path("x"), at=late - 20))
    world.queued(world.wait("gamma", path("a"), at=late - 10))
    refused = world.refused(world.takeover("beta", (watched(old),), path("a"), at=late))
    assert [each.claim.holder for each in refused.conflicts] == ["gamma"]


def test_what_a_takeover_frees_and_does_not_want_goes_to_who_waits(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a"), path("b")))
    world.queued(world.wait("gamma", path("b"), at=old.certain_end))
    outcome = world.do(world.takeover("beta", (watched(old),), path("a")))
    assert [(each.claim.holder, each.claim.token) for each in outcome.queueing.served] == [("gamma", 3)]
    assert world.holders() == {"a": "beta", "b": "gamma"}


def test_a_takeover_replaces_own_items_and_keeps_their_stamps(world: World) -> None:
    mine = world.granted(world.claim("beta", path("a", "read"), path("x"), stamps=(Stamp("n", "v"),)))
    old = world.granted(world.claim("alpha", path("a", "read")))
    outcome = world.do(world.takeover("beta", (watched(old),), path("a"), stamps=None))
    assert isinstance(outcome, Granted)
    cut = mine._replace(gone=frozenset({0}))
    assert outcome.changes == (Change(old, None), Change(mine, cut), Change(None, outcome.claim))
    assert outcome.claim.stamps == (Stamp("n", "v"),)


def test_a_takeover_after_which_its_agent_would_wait_for_itself_is_refused(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("gamma", path("g")))
    late = old.certain_end + SKEW + 601
    world.queued(world.wait("gamma", path("a"), at=late - 601))
    world.queued(world.wait("beta", path("g"), at=late - 601))
    refused = world.refused(world.takeover("beta", (watched(old),), path("a"), at=late))
    assert (refused.reason, refused.cycle) == (Refusal.CYCLE, ("beta", "gamma", "beta"))
    assert world.holders() == {"a": "alpha", "g": "gamma"}


def test_the_refusals_of_a_takeover_come_in_their_order(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("alpha", path("b")))
    block = world.block("gamma", "E-1")
    world.done(block)
    bad: list[tuple[Refusal, dict[str, Any]]] = [
        (Refusal.SESSION, {"session": Session("other")}),
        (Refusal.NEVER, {}),
        (Refusal.TTL, {"ttl": 86401}),
        (Refusal.NONCE, {"nonce": old.op}),
        (Refusal.BLOCKED, {}),
        (Refusal.ALIVE, {"at": old.at}),
        (Refusal.CONFLICT, {}),
    ]
    world.done(world.policy("alpha", takeover="never"))
    for number, (reason, change) in enumerate(bad):
        if reason is Refusal.TTL:
            world.done(world.policy("alpha"))
        if reason is Refusal.ALIVE:
            world.done(world.unblock("gamma", block.nonce))
        changes = {name: value for _, each in reversed(bad[number:]) for name, value in each.items()} | change
        refused = world.refused(world.takeover("beta", (watched(old),), path("b"), task("E-1"), **changes))
        assert refused.reason is reason
    assert world.holders() == {"a": "alpha", "b": "alpha"}
