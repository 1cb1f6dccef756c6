"""The hold after a ledger was restored: what is refused, what waits, and what a replay exempts from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.domain.world import World, oid_of, path, sealed, watched

from git_coord.domain import chain, restoring
from git_coord.domain.ids import Oid
from git_coord.domain.ledger import Refusal
from git_coord.domain.loading import load_state
from git_coord.domain.state import Restored
from git_coord.domain.statements import Renewal


@pytest.fixture
def world() -> World:
    """Return a ledger with three members; operations are a minute apart, the hold is ten."""
    return World.of("alpha", "beta", "gamma")


def test_nothing_is_granted_until_the_hold_is_over(world: World) -> None:
    restore = world.restore("beta")
    world.done(restore)
    end = restore.at + 600
    assert (restoring.hold_end(world.head.state), world.head.state.restored) == (
        end,
        Restored("beta", restore.at, world.head.state.counters.ops, None),
    )
    assert world.refused(world.claim("alpha", path("a"), at=end - 1)).reason is Refusal.RESTORED
    assert world.holders() == {}
    world.granted(world.claim("alpha", path("a"), at=end))
    assert world.holders() == {"a": "alpha"}


def test_who_vouches_takes_or_hands_over_is_refused_and_who_frees_is_not(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b"), ttl=60))
    world.done(world.restore("beta"))
    at = world.head.state.counters.at + 500
    refusals = (
        world.renew("alpha", Renewal(one.op, (None, None), ()), ttl=60, at=at),
        world.takeover("beta", (watched(one),), path("a"), at=at),
        world.release("alpha", (one.op, (0,)), to="beta", at=at),
    )
    assert [world.refused(op).reason for op in refusals] == [Refusal.RESTORED] * 3
    world.done(world.release("alpha", (one.op, (0,)), at=at))
    assert world.holders() == {"b": "alpha"}
    world.done(replace(world.break_("gamma", one.op), at=at))
    assert world.holders() == {}


def test_a_conflict_names_the_holder_also_in_the_hold(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.done(world.restore("beta"))
    refused = world.refused(world.claim("beta", path("a")))
    assert (refused.reason, [found.claim.holder for found in refused.conflicts]) == (Refusal.CONFLICT, ["alpha"])


def test_a_claim_that_may_wait_is_queued_and_served_when_the_hold_is_over(world: World) -> None:
    world.done(world.restore("beta"))
    restored = world.head.state.counters.at
    op = world.wait("alpha", path("a"))
    assert world.queued(op).conflicts == ()
    world.done(replace(world.cancel("beta", op.nonce), at=restored + 599))
    assert world.waiters() == ["alpha"]
    world.done(replace(world.cancel("beta", op.nonce), at=restored + 600))
    assert world.holders() == {"a": "alpha"}


def test_the_hold_is_the_policys_so_that_a_maintainer_ends_it(world: World) -> None:
    world.done(world.restore("beta"))
    world.queued(world.wait("alpha", path("a")))
    world.done(world.policy("alpha", restore_hold=0))
    assert world.holders() == {"a": "alpha"}
    world.done(world.restore("beta"))
    world.granted(world.claim("beta", path("b")))


def test_the_hold_counts_from_the_ledgers_own_time_when_a_clock_is_behind(world: World) -> None:
    now = world.head.state.counters.at
    world.done(world.restore("beta", at=now - 86400))
    assert restoring.hold_end(world.head.state) == now + 600
    assert world.refused(world.claim("alpha", path("a"), at=now + 599)).reason is Refusal.RESTORED


def test_a_claim_that_was_made_long_before_is_not_refused_when_the_hold_is_over(world: World) -> None:
    before = world.head.state.counters.at
    late = world.claim("alpha", path("a"), at=before)
    world.done(world.restore("beta"))
    world.done(replace(world.rejoin("beta", "beta-1"), at=before + 3600))
    world.granted(late)


def test_what_a_replay_lists_is_placed_as_if_there_were_no_hold_and_late_or_not(world: World) -> None:
    one = world.granted(world.claim("gamma", path("g")))
    lost = world.claim("alpha", path("a"), not_after=world.head.state.counters.at)
    renew = world.renew("gamma", Renewal(one.op, (None,), ()))
    other = world.claim("beta", path("b"))
    world.done(world.restore("beta"))
    world.done(replace(world.rejoin("beta", "beta-1"), at=world.head.state.counters.at + 120))
    world.done(world.replay("alpha", lost, renew, token=7))
    claim = world.granted(lost)
    assert claim.token == 8
    world.done(renew)
    assert world.refused(replace(other, seq=99)).reason is Refusal.RESTORED
    assert world.holders() == {"g": "gamma", "a": "alpha"}


def test_a_waiter_is_served_by_what_was_lost_with_it_and_by_nothing_else(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b")))
    lost, free = world.wait("beta", path("a")), world.release("alpha", (one.op, (0,)))
    other = world.wait("gamma", path("b"))
    world.done(world.restore("gamma"))
    world.queued(other)
    world.done(world.replay("beta", lost, free))
    world.queued(lost)
    world.done(world.rejoin("gamma", "gamma-1"))
    assert world.waiters() == ["gamma", "beta"]
    world.done(free)
    assert world.holders() == {"b": "alpha", "a": "beta"}
    assert world.waiters() == ["gamma"]


def test_who_waits_stays_listed_through_the_next_replay_and_a_restore_ends_all(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    lost, other = world.wait("beta", path("a")), world.claim("gamma", path("b"))
    world.done(world.restore("gamma"))
    world.done(world.replay("beta", lost, other))
    world.queued(lost)
    world.done(world.replay("gamma"))
    state = world.head.state
    assert state.restored is not None
    assert state.restored.replayed == {("beta", lost.nonce)}
    world.done(world.restore("gamma"))
    assert world.head.state.restored == Restored(
        "gamma", world.head.state.counters.at, world.head.state.counters.ops, None
    )


def test_neither_moves_the_number_of_its_author_so_that_what_it_had_pending_still_comes(world: World) -> None:
    pending = world.rejoin("beta", "beta-1")
    seq = world.head.state.agents["beta"].seq
    world.done(world.restore("beta"))
    world.done(world.replay("beta"))
    assert world.head.state.agents["beta"].seq == seq
    world.done(pending)


def test_both_are_placed_on_the_commit_that_they_name_and_nowhere_else(world: World) -> None:
    restore, replay = world.restore("beta"), world.replay("beta")
    world.done(world.rejoin("alpha", "alpha-1"))
    for op in (restore, replay):
        assert chain.extend(world.head, [sealed(op)], world.algorithm) is None
        assert chain.extend(world.head, [sealed(replace(op, head=world.head.oid))], world.algorithm) is not None


def test_a_replay_lifts_the_token_and_not_without_bounds(world: World) -> None:
    world.done(world.replay("alpha", token=2**53 - 1))
    assert world.head.state.counters.token == 1_000_000
    world.done(world.replay("alpha", token=5))
    assert world.granted(world.claim("alpha", path("a"))).token == 1_000_001


@pytest.mark.parametrize("found", [None, oid_of("e")])
def test_a_restored_state_is_read_back_from_its_tree(world: World, found: Oid | None) -> None:
    lost = world.claim("alpha", path("a"))
    world.done(world.restore("beta", found=found))
    world.done(world.replay("alpha", lost))
    assert load_state(world.files()).restored == world.head.state.restored
