"""What becomes of operations on policy and membership, by the rules of `apply`."""

from __future__ import annotations

import pytest
from tests.domain.world import ADMIN, START, World, key_of, path, sealed, served

from git_coord.domain.ids import Agent
from git_coord.domain.ledger import Done, Refusal
from git_coord.domain.statements import Listed


@pytest.fixture
def world() -> World:
    """Return a ledger with two members."""
    return World.of("alpha", "beta")


def test_a_root_makes_an_empty_ledger_at_position_one() -> None:
    state = World.born().head.state
    assert (state.counters.ops, state.counters.token, state.counters.queue) == (1, 0, 0)
    assert state.counters.at == START + 60
    assert (state.agents, state.claims, len(state.index)) == ({}, {}, 0)


def test_a_join_binds_key_and_session_from_its_own_position(world: World) -> None:
    member = world.head.state.agents[Agent("beta")]
    assert [(since.position, since.key) for since in member.keys] == [(3, key_of("beta"))]
    assert (member.seq, member.session) == (3, "beta-1")


@pytest.mark.parametrize("change", [{"fold": "case+nfc"}, {"skew": 61}])
def test_fold_and_skew_never_change(world: World, change: dict[str, object]) -> None:
    before = world.head.state.policy
    assert world.refused(world.policy("alpha", **change)).reason is Refusal.FIXED
    assert world.head.state.policy is before


def test_a_policy_replaces_the_one_before_as_a_whole(world: World) -> None:
    listed = (Listed(None, key_of("gamma")),)
    op = world.policy("alpha", join="listed", listed=listed, admins=(key_of("x"), key_of(ADMIN)))
    assert world.done(op).state.policy == op


def test_a_rotation_adds_a_key_that_counts_from_its_position(world: World) -> None:
    world.done(world.rotate("alpha", key_of("new")))
    member = world.head.state.agents[Agent("alpha")]
    assert [(since.position, since.key) for since in member.keys] == [(2, key_of("alpha")), (4, key_of("new"))]
    assert member.key == key_of("new")
    assert world.granted(sealed(world.claim("alpha", path("a")), key_of("new"))).token == 1


def test_a_rejoin_sets_the_session_and_keeps_claims(world: World) -> None:
    claim = world.granted(world.claim("alpha", path("a")))
    assert isinstance(world.do(world.rejoin("alpha", "s2")), Done)
    assert world.head.state.agents[Agent("alpha")].session == "s2"
    assert world.head.state.held_by(claim.holder) == [claim]


def test_who_is_put_out_holds_nothing_waits_for_nothing_and_lets_who_waited_pass() -> None:
    world = World.of("alpha", "beta", "gamma")
    held = [world.granted(world.claim("beta", path(name))) for name in ("a", "b")]
    kept = world.granted(world.claim("alpha", path("c")))
    waits = world.wait("beta", path("c"))
    world.queued(waits)
    world.queued(world.wait("gamma", path("a")))
    done = world.done(world.expel("alpha", "beta"))
    assert ([change.before for change in done.changes], [waiter.op for waiter in done.left]) == (held, [waits])
    assert served(done) == [("gamma", 4)]
    assert world.holders() == {"a": "gamma", "c": "alpha"}
    assert world.head.state.held_by(kept.holder) == [kept]
    gone = world.head.state.expelled[Agent("beta")]
    assert (gone.by, gone.reason, gone.position) == ("alpha", "a stolen key", done.state.counters.ops)
    assert Agent("beta") not in world.head.state.agents


def test_who_is_put_out_is_nobody_to_hand_over_to(world: World) -> None:
    claim = world.granted(world.claim("alpha", path("a")))
    world.done(world.expel("alpha", "beta"))
    given = world.release("alpha", (claim.op, None), to=Agent("beta"))
    assert world.refused(given).reason is Refusal.RECEIVER
    assert world.refused(world.expel("alpha", "alpha", "beta")).reason is Refusal.MEMBER
    assert world.head.state.held_by(claim.holder) == [claim]


def test_who_comes_back_has_a_new_key_behind_those_that_ended(world: World) -> None:
    world.done(world.expel("alpha", "beta"))
    world.done(world.policy("alpha", listed=(Listed("beta", key_of("new")),)))
    world.done(sealed(world.join("beta", key=key_of("new")), key_of("new")))
    member = world.head.state.agents[Agent("beta")]
    assert [since.key for since in member.keys] == [key_of("beta"), key_of("new")]
    assert world.head.state.expelled == {}
    assert world.granted(sealed(world.claim("beta", path("a")), key_of("new"))).holder == "beta"
