"""Hand-over: one claim, or items of it, in the hands of another member."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.world import World, oid_of, path

from git_coord.domain.ids import Nonce, Session
from git_coord.domain.ledger import Change, Conflict, Refusal
from git_coord.domain.statements import Landed, Renewal, Stamp

UNKNOWN = Nonce("f" * 32)


@pytest.fixture
def world() -> World:
    """Return a ledger with four members."""
    return World.of("alpha", "beta", "gamma", "delta")


def test_a_claim_handed_over_is_the_receivers_with_all_it_has_under_a_new_token(world: World) -> None:
    pin, stamps = oid_of("1"), (Stamp("n", "v"),)
    old = world.granted(world.claim("alpha", path("a", blob=pin), path("b"), purpose="why", stamps=stamps, ttl=900))
    op = world.release("alpha", (old.op, None), to="beta")
    done = world.done(op)
    new = world.head.state.claims[op.nonce]
    assert done.changes == (Change(old, None), Change(None, new))
    assert new == old._replace(token=2, op=op.nonce, holder="beta", at=op.at, renewed=op.at, unattended=True)
    assert (new.pins, new.certain_end, world.head.state.counters.token) == ((pin, None), op.at + 120, 2)
    assert list(world.head.state.claims) == [op.nonce]


def test_items_handed_over_leave_the_rest_with_the_giver(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a"), path("b"), path("c")))
    world.done(world.release("alpha", (old.op, (0,))))
    op = world.release("alpha", (old.op, (2,)), to="beta")
    world.done(op)
    new = world.head.state.claims[op.nonce]
    assert (new.items, new.gone) == (old.items, frozenset({0, 1}))
    assert world.holders() == {"b": "alpha", "c": "beta"}


def test_the_receiver_renews_and_releases_by_the_nonce_of_the_release_and_the_positions_of_the_claim(
    world: World,
) -> None:
    old = world.granted(world.claim("alpha", path("a"), path("b")))
    op = world.release("alpha", (old.op, (1,)), to="beta")
    world.done(op)
    assert world.refused(world.release("beta", (old.op, (1,)))).reason is Refusal.NOT_HELD
    assert world.refused(world.renew("beta", Renewal(op.nonce, (None,), ()))).reason is Refusal.ITEMS
    world.done(renew := world.renew("beta", Renewal(op.nonce, (None, oid_of("2")), ()), ttl=600))
    assert world.head.state.claims[op.nonce].certain_end == renew.at + 600
    assert world.refused(world.release("beta", (op.nonce, (0,)))).reason is Refusal.ITEMS
    world.done(world.release("beta", (op.nonce, (1,))))
    assert world.holders() == {"a": "alpha"}


@pytest.mark.parametrize("to", ["nobody", "alpha"])
def test_the_receiver_is_another_member(world: World, to: str) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    assert world.refused(world.release("alpha", (old.op, None), to=to)).reason is Refusal.RECEIVER
    assert world.head.state.claims == {old.op: old}


def test_one_claim_is_handed_over_at_a_time_and_none_that_waits_for_a_branch(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("alpha", path("b")))
    both = world.release("alpha", (one.op, None), (two.op, None), to="beta")
    assert world.refused(both).reason is Refusal.SEVERAL
    landed = Landed("topic", oid_of("c"), (), "main")
    assert world.refused(world.release("alpha", (one.op, None), to="beta", landed=landed)).reason is Refusal.SEVERAL
    world.done(world.release("alpha", (one.op, None), to="beta", landed=Landed("topic", oid_of("c"), (), None)))
    assert world.holders() == {"a": "beta", "b": "alpha"}


def test_a_claim_that_settles_is_handed_over_as_one_that_does_not(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    world.done(world.release("alpha", (old.op, None), landed=Landed("topic", oid_of("c"), (), "main")))
    op = world.release("alpha", (old.op, None), to="beta")
    world.done(op)
    assert world.head.state.claims[op.nonce].settling is None


def test_nothing_is_handed_over_under_a_nonce_in_use(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    other = world.granted(world.claim("gamma", path("g")))
    for nonce in (other.op, old.op):
        assert world.refused(world.release("alpha", (old.op, None), to="beta", nonce=nonce)).reason is Refusal.NONCE
    assert world.holders() == {"a": "alpha", "g": "gamma"}


def test_what_is_handed_over_may_not_conflict_with_what_its_giver_or_anybody_keeps(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a"), path("a/b"), path("r", "read")))
    refused = world.refused(world.release("alpha", (old.op, (1,)), to="beta"))
    left = old._replace(gone=frozenset({1}))
    assert (refused.reason, refused.conflicts) == (Refusal.CONFLICT, (Conflict(path("a/b"), left, path("a")),))
    assert world.head.state.claims == {old.op: old}
    assert world.head.state.counters.token == 1
    world.done(world.release("alpha", (old.op, (0, 1)), to="beta"))
    assert world.holders() == {"a": "beta", "a/b": "beta", "r": "alpha"}


def test_waiters_are_not_in_the_way_of_what_is_handed_over(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("gamma", path("a")))
    done = world.done(world.release("alpha", (old.op, None), to="beta"))
    assert done.queueing.served == ()
    assert world.holders() == {"a": "beta"}
    assert [waiter.agent for waiter in world.head.state.waiting.values()] == ["gamma"]


def test_nothing_is_handed_to_who_would_then_wait_for_itself(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("gamma", path("g")))
    world.queued(world.wait("gamma", path("a")))
    world.queued(world.wait("beta", path("g")))
    refused = world.refused(world.release("alpha", (old.op, None), to="beta"))
    assert (refused.reason, refused.cycle) == (Refusal.CYCLE, ("beta", "gamma", "beta"))
    assert (world.head.state.claims[old.op], world.head.state.counters.token) == (old, 2)


def test_what_the_receiver_holds_of_the_same_name_stays_its_own(world: World) -> None:
    mine = world.granted(world.claim("beta", path("r", "read")))
    old = world.granted(world.claim("alpha", path("r", "read")))
    world.done(op := world.release("alpha", (old.op, None), to="beta"))
    assert list(world.head.state.claims) == [mine.op, op.nonce]
    assert world.head.state.claims[mine.op] == mine


def test_the_refusals_of_a_hand_over_come_after_those_of_a_release_and_in_their_order(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("a/b")))
    two = world.granted(world.claim("alpha", path("b")))
    bad: list[tuple[Refusal, tuple[tuple[Nonce, tuple[int, ...] | None], ...], dict[str, Any]]] = [
        (Refusal.SESSION, ((UNKNOWN, None),), {"session": Session("other"), "to": "nobody"}),
        (Refusal.NOT_HELD, ((UNKNOWN, (5,)),), {"to": "nobody"}),
        (Refusal.ITEMS, ((one.op, (5,)), (two.op, None)), {"to": "nobody"}),
        (Refusal.RECEIVER, ((one.op, (1,)), (two.op, None)), {"to": "nobody", "nonce": one.op}),
        (Refusal.SEVERAL, ((one.op, (1,)), (two.op, None)), {"to": "beta", "nonce": one.op}),
        (Refusal.NONCE, ((one.op, (1,)),), {"to": "beta", "nonce": one.op}),
        (Refusal.CONFLICT, ((one.op, (1,)),), {"to": "beta"}),
    ]
    for reason, targets, fields in bad:
        assert world.refused(world.release("alpha", *targets, **fields)).reason is reason
    assert world.holders() == {"a": "alpha", "a/b": "alpha", "b": "alpha"}
