"""Tasks that are blocked, branches that are claimed, and claims that settle until a branch has their work."""

from __future__ import annotations

import pytest
from tests.domain.world import World, branch, oid_of, path, task, watched

from git_coord.domain.ids import Nonce, Session
from git_coord.domain.ledger import Change, Granted, Refusal
from git_coord.domain.state import Block
from git_coord.domain.statements import Landed, LandedPath, Renewal, Stamp

UNKNOWN = Nonce("f" * 32)
LANDED = Landed("topic", oid_of("c"), (LandedPath("a", oid_of("b")),), "main")


@pytest.fixture
def world() -> World:
    """Return a ledger with three members."""
    return World.of("alpha", "beta", "gamma")


# Blocked tasks


def test_a_block_is_kept_under_its_position_with_who_said_so(world: World) -> None:
    op = world.block("alpha", "E-1", "E-2/3", reason="the server is away")
    assert world.done(op).changes == ()
    assert world.head.state.blocks == {
        op.nonce: Block(5, op.nonce, op.agent, op.at, ("E-1", "E-2/3"), "the server is away")
    }


@pytest.mark.parametrize(
    ("name", "blocked"),
    [("E-1", True), ("E-1/2", True), ("E-1/2/x", True), ("E", False), ("E-10", False), ("e-1", False), ("E-2", False)],
)
@pytest.mark.parametrize("intent", ["edit", "read"])
def test_a_blocked_task_and_what_is_below_it_may_not_be_claimed(
    world: World, name: str, blocked: bool, intent: str
) -> None:
    op = world.block("alpha", "Z", "E-1")
    world.done(op)
    outcome = world.do(world.claim("beta", path("a"), task(name, intent)))
    assert getattr(outcome, "reason", None) is (Refusal.BLOCKED if blocked else None)
    assert [block.op for block in getattr(outcome, "blocks", ())] == ([op.nonce] if blocked else [])
    assert world.holders() == ({} if blocked else {"a": "beta", name: "beta"})


def test_what_is_above_a_blocked_task_may_be_claimed_and_paths_of_its_name_too(world: World) -> None:
    world.done(world.block("alpha", "E-1/2"))
    world.granted(world.claim("beta", task("E-1"), path("E-1/2"), branch("E-1/2")))


def test_a_block_stops_who_made_it_as_well_and_a_claim_that_would_wait(world: World) -> None:
    world.done(world.block("alpha", "E-1"))
    assert world.refused(world.claim("alpha", task("E-1"))).reason is Refusal.BLOCKED
    world.granted(world.claim("gamma", path("a")))
    assert world.refused(world.wait("beta", path("a"), task("E-1"))).reason is Refusal.BLOCKED
    assert world.head.state.waiting == {}


def test_a_block_does_not_stop_the_holder(world: World) -> None:
    held = world.granted(world.claim("alpha", task("E-1")))
    world.done(world.block("beta", "E-1"))
    renew = world.renew("alpha", Renewal(held.op, (None,), ()))
    world.done(renew)
    world.done(world.release("alpha", (held.op, None), to="gamma"))
    assert world.holders() == {"E-1": "gamma"}


def test_a_blocked_task_may_not_be_taken_over_but_a_claim_of_it_may_be_ended_so(world: World) -> None:
    held = world.granted(world.claim("alpha", task("E-1"), path("a")))
    world.done(world.block("beta", "E-1"))
    assert world.refused(world.takeover("gamma", (watched(held),), task("E-1/2"))).reason is Refusal.BLOCKED
    assert isinstance(world.do(world.takeover("gamma", (watched(held),), path("a"))), Granted)
    assert world.holders() == {"a": "gamma"}


def test_a_waiter_for_a_task_that_is_blocked_stays_in_its_place_until_that_is_lifted(world: World) -> None:
    held = world.granted(world.claim("alpha", task("E-1")))
    op = world.wait("beta", task("E-1/2"), path("b"))
    world.queued(op)
    block = world.block("gamma", "E-1")
    world.done(block)
    assert world.done(world.release("alpha", (held.op, None))).queueing.served == ()
    assert world.refused(world.claim("gamma", path("b"))).reason is Refusal.CONFLICT
    done = world.done(world.unblock("gamma", block.nonce))
    assert [(each.waiter.op, each.claim.token) for each in done.queueing.served] == [(op, 2)]


def test_anybody_lifts_a_block_and_one_block_leaves_the_others(world: World) -> None:
    one, two = world.block("alpha", "E-1"), world.block("alpha", "E-1", "E-2")
    for op in (one, two):
        world.done(op)
    lifted = world.done(world.unblock("beta", one.nonce)).lifted
    assert [block.op for block in lifted] == [one.nonce]
    assert list(world.head.state.blocks) == [two.nonce]
    assert world.refused(world.claim("beta", task("E-1"))).reason is Refusal.BLOCKED
    world.done(world.unblock("gamma", two.nonce))
    world.granted(world.claim("beta", task("E-1")))


def test_blocks_are_lifted_all_or_none(world: World) -> None:
    op = world.block("alpha", "E-1")
    world.done(op)
    assert world.refused(world.unblock("alpha", op.nonce, UNKNOWN)).reason is Refusal.NOT_BLOCKED
    assert list(world.head.state.blocks) == [op.nonce]
    world.done(world.unblock("alpha", op.nonce))
    assert world.refused(world.unblock("alpha", op.nonce)).reason is Refusal.NOT_BLOCKED


def test_a_block_under_the_nonce_of_a_block_is_refused_and_under_that_of_a_claim_is_not(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.block("alpha", "E-1")
    world.done(op)
    assert world.refused(world.block("beta", "E-2", nonce=op.nonce)).reason is Refusal.NONCE
    world.done(world.block("beta", "E-2", nonce=held.op))
    assert [block.tasks for block in world.head.state.blocks.values()] == [("E-1",), ("E-2",)]


def test_blocks_of_another_session_are_refused_before_anything_else(world: World) -> None:
    op = world.block("alpha", "E-1")
    world.done(op)
    other = Session("other")
    assert world.refused(world.block("alpha", "E-2", session=other, nonce=op.nonce)).reason is Refusal.SESSION
    assert world.refused(world.unblock("alpha", UNKNOWN, session=other)).reason is Refusal.SESSION
    assert list(world.head.state.blocks) == [op.nonce]


# Branches


def test_a_branch_is_claimed_with_what_is_below_it_and_is_no_path_and_no_task() -> None:
    world = World.of("alpha", "beta", fold="case+nfc")
    world.granted(world.claim("alpha", branch("release")))
    assert world.refused(world.claim("beta", branch("release/1.0"))).reason is Refusal.CONFLICT
    world.granted(world.claim("beta", path("release"), task("release"), branch("Release"), branch("release2")))


def test_readers_share_a_branch_and_who_claims_it_again_replaces_its_claim(world: World) -> None:
    one = world.granted(world.claim("alpha", branch("main", "read"), path("main")))
    world.granted(world.claim("beta", branch("main", "read")))
    assert world.refused(world.claim("alpha", branch("main"))).reason is Refusal.CONFLICT
    world.granted(world.claim("alpha", branch("main", "read")))
    assert world.head.state.claims[one.op].gone == {0}


# Settling


def test_a_claim_that_landed_for_a_branch_settles_and_blocks_until_it_is_settled(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a"), path("b")))
    op = world.release("alpha", (held.op, None), landed=LANDED)
    settling = held._replace(settling=LANDED)
    assert world.done(op).changes == (Change(held, settling),)
    assert world.head.state.claims == {held.op: settling}
    assert world.refused(world.claim("beta", path("a"))).reason is Refusal.CONFLICT
    world.queued(world.wait("beta", path("b")))
    done = world.done(world.settle("gamma", held.op))
    assert done.changes == (Change(settling, None),)
    assert world.holders() == {"b": "beta"}


def test_what_landed_without_a_branch_to_wait_for_ends_at_once(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a"), path("b")))
    world.done(world.release("alpha", (held.op, (0,)), landed=LANDED._replace(until=None)))
    assert (world.holders(), world.head.state.claims[held.op].settling) == ({"b": "alpha"}, None)
    world.done(world.release("alpha", (held.op, None), landed=LANDED._replace(until=None)))
    assert world.holders() == {}


def test_claims_settle_whole_or_not_at_all(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b")))
    two = world.granted(world.claim("alpha", path("c")))
    part = world.release("alpha", (two.op, None), (one.op, (0,)), landed=LANDED)
    assert world.refused(part).reason is Refusal.ITEMS
    assert [claim.settling for claim in world.head.state.claims.values()] == [None, None]
    world.done(world.release("alpha", (two.op, None), (one.op, None), landed=LANDED))
    assert [claim.settling for claim in world.head.state.claims.values()] == [LANDED, LANDED]


@pytest.mark.parametrize("who", ["alpha", "beta"])
def test_anybody_settles_claims_of_anybody_all_or_none(world: World, who: str) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("gamma", path("b")))
    world.done(world.release("alpha", (one.op, None), landed=LANDED))
    assert world.refused(world.settle(who, one.op, two.op)).reason is Refusal.SETTLING
    assert world.refused(world.settle(who, one.op, UNKNOWN)).reason is Refusal.SETTLING
    world.done(world.release("gamma", (two.op, None), landed=LANDED))
    world.done(world.settle(who, one.op, two.op))
    assert world.holders() == {}


def test_a_settlement_of_another_session_is_refused(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    other = world.settle("alpha", one.op, session=Session("other"))
    assert world.refused(other).reason is Refusal.SESSION


def test_a_settling_claim_may_be_released_landed_anew_renewed_and_claimed_again_by_its_holder(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b"), path("c")))
    world.done(world.release("alpha", (one.op, None), landed=LANDED))
    world.done(world.release("alpha", (one.op, (0,))))
    again = LANDED._replace(commit=oid_of("d"))
    world.done(world.release("alpha", (one.op, None), landed=again))
    world.done(world.renew("alpha", Renewal(one.op, (None,) * 3, (Stamp("n", "v"),))))
    assert (world.head.state.claims[one.op].settling, world.head.state.claims[one.op].gone) == (again, {0})
    new = world.granted(world.claim("alpha", path("b")))
    assert (world.head.state.claims[one.op].settling, new.settling) == (again, None)
    assert world.holders() == {"b": "alpha", "c": "alpha"}


def test_a_settling_claim_is_taken_over_by_the_same_gates(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    world.done(world.release("alpha", (one.op, None), landed=LANDED))
    now = world.head.state.claims[one.op]
    soon = world.takeover("beta", (watched(now),), path("a"), at=now.certain_end)
    assert world.refused(soon).reason is Refusal.ALIVE
    assert isinstance(world.do(world.takeover("beta", (watched(now),), path("a"))), Granted)
    assert world.holders() == {"a": "beta"}
