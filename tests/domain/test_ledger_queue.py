"""The queue: who may wait, for how long, and whom that keeps off."""

from __future__ import annotations

import pytest
from tests.domain.world import World, dated, path, served

from git_coord.domain.ledger import Conflict, Refusal
from git_coord.domain.state import Token


@pytest.fixture
def world() -> World:
    """Return a ledger with four members."""
    return World.of("alpha", "beta", "gamma", "delta")


def test_a_claim_that_may_wait_is_queued_under_the_next_number_and_draws_no_token(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("free"), path("a/b"))
    queued = world.queued(op)
    assert (queued.waiter.queue, queued.waiter.op) == (1, op)
    assert queued.conflicts == (Conflict(path("a/b"), held, path("a")),)
    later = world.wait("gamma", path("a"))
    assert world.queued(later).waiter.queue == 2
    state = world.head.state
    assert list(state.waiting) == [op.nonce, later.nonce]
    assert (state.counters.token, state.counters.queue) == (1, 2)
    assert world.holders() == {"a": "alpha"}


def test_a_claim_that_may_wait_and_need_not_is_granted_at_once_and_is_no_waiter(world: World) -> None:
    claim = world.granted(world.wait("beta", path("a")))
    assert (claim.token, claim.unattended, claim.certain_end) == (1, False, claim.at + 7200)
    assert (world.head.state.waiting, world.head.state.counters.queue) == ({}, 0)


@pytest.mark.parametrize(
    ("seconds", "outcome"), [(-1, Refusal.CONFLICT), (0, None), (3600, None), (3601, Refusal.WAIT)]
)
def test_a_wait_ends_between_its_own_date_and_an_hour_later(
    world: World, seconds: int, outcome: Refusal | None
) -> None:
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), seconds=seconds)
    assert getattr(world.do(op), "reason", None) is outcome
    assert (op.nonce in world.head.state.waiting) is (outcome is None)


def test_a_wait_too_long_is_refused_even_where_nothing_is_in_the_way(world: World) -> None:
    assert world.refused(world.wait("beta", path("a"), seconds=3601)).reason is Refusal.WAIT
    assert world.refused(world.wait("beta", path("a"), seconds=3601, ttl=86401)).reason is Refusal.WAIT


def test_a_waiter_goes_with_the_first_operation_dated_after_its_time_a_refused_one_too(world: World) -> None:
    world.granted(world.claim("alpha", path("a"), path("b")))
    world.granted(world.claim("beta", path("c")))
    op = world.wait("beta", path("a"), seconds=600)
    until = world.queued(op).waiter.op.wait_until
    assert until == op.at + 600
    assert world.refused(world.claim("gamma", path("b"), at=until)).queueing.dropped == ()
    assert op.nonce in world.head.state.waiting
    refused = world.refused(world.claim("gamma", path("b"), at=until + 1))
    assert [waiter.op for waiter in refused.queueing.dropped] == [op]
    assert world.head.state.waiting == {}
    assert world.holders() == {"a": "alpha", "b": "alpha", "c": "beta"}


def test_a_waiter_whose_time_is_over_is_dropped_before_the_operation_acts_and_not_served_by_it(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), seconds=60)
    world.queued(op)
    done = world.done(world.release("alpha", (held.op, None), at=op.at + 61))
    assert ([waiter.agent for waiter in done.queueing.dropped], served(done)) == (["beta"], [])
    assert world.holders() == {}


def test_who_cancels_a_wait_leaves_the_queue_and_lets_who_stood_behind_it_pass(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    one = world.wait("beta", path("a"), path("b"))
    world.queued(one)
    two = world.wait("gamma", path("b"))
    world.queued(two)
    done = world.done(world.cancel("beta", one.nonce))
    assert [waiter.op for waiter in done.left] == [one]
    assert (done.changes, served(done)) == ((), [("gamma", 2)])
    assert world.head.state.waiting == {}


def test_nobody_cancels_anothers_wait(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"))
    world.queued(op)
    assert world.done(world.cancel("gamma", op.nonce)).left == ()
    assert list(world.head.state.waiting) == [op.nonce]


def test_the_nonce_of_a_waiter_is_in_use(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"))
    world.queued(op)
    assert world.refused(world.claim("gamma", path("b"), nonce=op.nonce)).reason is Refusal.NONCE
    assert world.refused(world.claim("beta", path("b"), nonce=op.nonce)).reason is Refusal.NONCE
    assert world.refused(world.release("alpha", (held.op, None), to="gamma", nonce=op.nonce)).reason is Refusal.NONCE


@pytest.mark.parametrize(("seconds", "free"), [(0, False), (600, False), (601, True)])
def test_a_waiter_keeps_newcomers_off_for_600_seconds_from_its_own_date(world: World, seconds: int, free: bool) -> None:
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), path("b"))
    world.queued(op)
    outcome = world.do(dated(world.claim("gamma", path("b")), seconds, op))
    assert (getattr(outcome, "reason", None) is Refusal.CONFLICT) is not free
    assert world.holders() == {"a": "alpha"} | ({"b": "gamma"} if free else {})


def test_a_waiter_dated_after_the_newcomer_keeps_it_off_too(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), path("b"))
    world.queued(op)
    assert world.refused(dated(world.claim("gamma", path("b")), -60, op)).reason is Refusal.CONFLICT


def test_a_refusal_by_a_waiter_names_its_claim_with_token_0(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), path("b"), purpose="next")
    world.queued(op)
    (conflict,) = world.refused(world.claim("gamma", path("b/c"))).conflicts
    assert (conflict.asked, conflict.held) == (path("b/c"), path("b"))
    assert (conflict.claim.token, conflict.claim.holder, conflict.claim.purpose) == (Token(0), "beta", "next")


@pytest.mark.parametrize(
    ("theirs", "mine", "free"),
    [("read", "read", True), ("read", "edit", False), ("edit", "read", False), ("edit", "edit", False)],
)
def test_reads_pass_waiters_that_want_to_read(world: World, theirs: str, mine: str, free: bool) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a"), path("b", theirs)))
    outcome = world.do(world.claim("gamma", path("b", mine)))
    assert (getattr(outcome, "reason", None) is Refusal.CONFLICT) is not free


def test_a_waiter_is_never_in_the_way_of_a_holder_it_waits_for(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a/x"), path("b")))
    assert world.granted(world.claim("alpha", path("b"))).token == 2
    assert world.refused(world.claim("gamma", path("b/c"))).reason is Refusal.CONFLICT


def test_a_waiter_is_in_the_way_of_a_holder_that_reads_what_it_waits_to_read(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("gamma", path("r", "read")))
    world.queued(world.wait("beta", path("a"), path("r", "read"), path("b")))
    assert world.refused(world.claim("gamma", path("b"))).reason is Refusal.CONFLICT


def test_an_agents_own_waiters_are_not_in_its_way(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a"), path("b")))
    assert world.granted(world.claim("beta", path("b"))).token == 2


def test_a_claim_that_only_waiters_are_in_the_way_of_may_wait_behind_them(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a"), path("b")))
    queued = world.queued(world.wait("gamma", path("b")))
    assert [(c.claim.holder, c.claim.token) for c in queued.conflicts] == [("beta", 0)]
    assert world.waiters() == ["beta", "gamma"]
