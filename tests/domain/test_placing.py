"""Which operations may be placed at a position, and in which order agents take turns."""

from __future__ import annotations

import hashlib

import pytest
from tests.domain.world import ADMIN, World, key_of, oid_of, path, policy_fields, statement

from git_coord.domain.ids import Agent
from git_coord.domain.placing import EXPELLED, fault, root_fault, turn_order
from git_coord.domain.statements import Listed, Operation, Policy


@pytest.fixture
def world() -> World:
    """Return a ledger with two members."""
    return World.of("alpha", "beta")


def fault_of(world: World, op: Operation, key: str | None = None) -> str | None:
    """Return what is wrong with an operation signed by the first key of a name, its agent's by default."""
    return fault(world.head.state, op, key_of(key or op.agent))


def test_a_root_is_one_policy_signed_by_a_key_of_its_own() -> None:
    root = statement(1, Policy, "alpha", head=None, **policy_fields())
    assert root_fault(root, key_of(ADMIN)) is None
    assert root_fault(root, key_of("alpha")) == "the root's policy is not signed by one of its own keys"
    second = statement(2, Policy, "alpha", head=None, **policy_fields())
    assert root_fault(second, key_of(ADMIN)) == "the root's policy must have seq 1 and no head"
    headed = statement(1, Policy, "alpha", **policy_fields())
    assert root_fault(headed, key_of(ADMIN)) == "the root's policy must have seq 1 and no head"
    assert root_fault(World.born().join("alpha"), key_of("alpha")) == "the root does not place a policy"


def test_operations_of_members_signed_by_their_current_key_may_be_placed(world: World) -> None:
    claim = world.granted(world.claim("alpha", path("a")))
    for op in (
        world.claim("alpha", path("b")),
        world.release("alpha", (claim.op, None)),
        world.cancel("alpha", claim.op),
        world.rejoin("alpha", "s2"),
        world.rotate("alpha", key_of("new")),
    ):
        assert fault_of(world, op) is None
        assert fault_of(world, op, "beta") == "it is not signed by alpha's key"
        assert fault_of(world, op, ADMIN) == "it is not signed by alpha's key"


def test_an_operation_names_this_ledger_and_a_head(world: World) -> None:
    other = "00000000-0000-4000-8000-000000000002"
    assert fault_of(world, world.claim("alpha", path("a"), repo=other)) == "it belongs to another ledger"
    assert fault_of(world, world.claim("alpha", path("a"), head=None)) == "it names no ledger head"
    assert fault_of(world, world.join("gamma", head=None)) == "it names no ledger head"
    assert fault_of(world, world.claim("alpha", path("a"), head=oid_of("9"))) is None


def test_only_members_have_operations_placed(world: World) -> None:
    assert fault_of(world, world.claim("gamma", path("a"))) == "gamma has not joined"
    assert fault_of(world, world.policy("gamma"), ADMIN) == "gamma has not joined"


def test_seq_grows_but_may_leave_numbers_out(world: World) -> None:
    assert fault_of(world, world.claim("alpha", path("a"), seq=2)) == "seq 2 is not above alpha's last, 2"
    assert fault_of(world, world.claim("alpha", path("a"), seq=3)) is None
    assert fault_of(world, world.claim("alpha", path("a"), seq=2**53 - 1)) is None


def test_a_join_needs_an_unused_name_and_an_unused_key_that_signs_it(world: World) -> None:
    assert fault_of(world, world.join("gamma")) is None
    assert fault_of(world, world.join("alpha", key=key_of("new")), "new") == "the name alpha is taken"
    assert fault_of(world, world.join("gamma"), ADMIN) == "a join must be signed by the key it names"
    used = "its key belongs to another agent, or did"
    assert fault_of(world, world.join("gamma", key=key_of("beta")), "beta") == used
    world.done(world.rotate("beta", key_of("beta 2")))
    assert fault_of(world, world.join("gamma", key=key_of("beta")), "beta") == used
    assert fault_of(world, world.join("gamma", key=key_of(ADMIN)), ADMIN) is None


def test_a_listed_policy_admits_keys_under_their_name_or_any(world: World) -> None:
    listed = (Listed(None, key_of("gamma")), Listed(Agent("delta"), key_of("delta")))
    world.done(world.policy("alpha", join="listed", listed=listed))
    assert fault_of(world, world.join("gamma")) is None
    assert fault_of(world, world.join("any", key=key_of("gamma")), "gamma") is None
    assert fault_of(world, world.join("delta")) is None
    refusal = "the policy does not list its key for this name"
    assert fault_of(world, world.join("other", key=key_of("delta")), "delta") == refusal
    assert fault_of(world, world.join("epsilon")) == refusal


def test_policy_and_break_need_a_policy_key_and_a_member_to_carry_them(world: World) -> None:
    for op in (world.policy("alpha"), world.break_("alpha", world.granted(world.claim("beta", path("a"))).op)):
        assert fault_of(world, op, ADMIN) is None
        assert fault_of(world, op) == "it is not signed by a policy key"


def test_a_key_taken_out_of_the_policy_ends_what_it_may_do(world: World) -> None:
    world.done(world.policy("alpha", admins=(key_of("new admin"),)))
    assert fault_of(world, world.policy("alpha"), ADMIN) == "it is not signed by a policy key"
    assert fault_of(world, world.policy("alpha"), "new admin") is None


def test_a_rotation_goes_to_a_key_nobody_has_or_had(world: World) -> None:
    in_use = "its new key is or was in use"
    assert fault_of(world, world.rotate("alpha", key_of("beta"))) == in_use
    assert fault_of(world, world.rotate("alpha", key_of("alpha"))) == in_use
    world.done(world.rotate("alpha", key_of("new")))
    assert fault_of(world, world.claim("alpha", path("a"))) == "it is not signed by alpha's key"
    assert fault_of(world, world.rotate("alpha", key_of("alpha")), "new") == in_use


def test_agents_take_turns_by_the_hash_of_parent_and_name() -> None:
    agents = [Agent(name) for name in "abcdefgh"]
    parent = oid_of("0")
    hashes = {agent: hashlib.sha256(parent.encode() + b"\0" + agent.encode()).hexdigest() for agent in agents}
    assert turn_order(parent, agents) == sorted(agents, key=lambda agent: hashes[agent])
    assert turn_order(parent, reversed(agents)) == turn_order(parent, agents)
    assert turn_order(oid_of("1"), agents) != turn_order(parent, agents)


def test_nothing_of_who_was_put_out_can_be_placed(world: World) -> None:
    world.done(world.rotate("beta", key_of("rotated")))
    world.done(world.expel("alpha", "beta"))
    for key in ("beta", "rotated"):
        assert fault_of(world, world.claim("beta", path("a")), key) == "beta has not joined"
        taken = world.join("gamma", key=key_of(key))
        assert fault_of(world, taken, key) == "its key belongs to another agent, or did"
        assert fault_of(world, world.rotate("alpha", key_of(key))) == "its new key is or was in use"


@pytest.mark.parametrize("join", ["open", "listed"])
def test_a_name_that_was_put_out_needs_a_policy_keys_word_for_exactly_it(world: World, join: str) -> None:
    world.done(world.expel("alpha", "beta"))
    op = world.join("beta", key=key_of("new"))
    for names in ("gamma", None, "b*"):
        world.done(world.policy("alpha", join=join, listed=(Listed(names, key_of("new")),)))
        assert fault_of(world, op, "new") == EXPELLED
    world.done(world.policy("alpha", join=join, listed=(Listed("beta", key_of("new")),)))
    assert fault_of(world, op, "new") is None


def test_only_a_policy_key_puts_anybody_out(world: World) -> None:
    assert fault_of(world, world.expel("alpha", "beta")) == "it is not signed by a policy key"
    assert fault_of(world, world.expel("alpha", "beta"), ADMIN) is None
