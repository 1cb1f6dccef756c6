"""The lines of the ledger's log for waiting, other hands, blocked tasks and settling: to the letter of the format."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.test_message import line
from tests.domain.world import World, branch, dated, oid_of, path, task, watched

from git_coord.domain.statements import Landed

LANDED = Landed("topic", oid_of("c"), (), "main")


@pytest.fixture
def world() -> World:
    """Return a ledger with four members."""
    return World.of("alpha", "beta", "gamma", "delta")


def test_a_claim_of_a_branch_has_its_kind_before_it(world: World) -> None:
    assert line(world, world.claim("alpha", branch("release/1.0"))) == "#1 alpha claims branch:release/1.0 (edit)\n"


def test_a_queued_claim_names_the_claims_in_its_way_by_token_then_who_waits_by_name(world: World) -> None:
    world.granted(world.claim("beta", path("d")))
    world.granted(world.claim("alpha", path("a"), path("b")))
    asked = (path("x"), path("b"), path("a/1"), path("d", "read"))
    assert line(world, world.wait("gamma", *asked)) == "gamma waits for x (edit) +3: beta #1, alpha #2\n"
    queued = line(world, world.wait("delta", *asked))
    assert queued == "delta waits for x (edit) +3: beta #1, alpha #2, gamma waiting\n"
    refused = line(world, world.claim("alpha", path("y"), path("d"), path("x")))
    assert refused == "alpha is refused claim y (edit) +2: beta #1\n"


def test_claims_and_waiters_in_the_way_are_ten_at_most_together(world: World) -> None:
    for n in range(9):
        world.granted(world.claim("alpha", path(f"a/{n}")))
    world.queued(world.wait("gamma", path("a/1"), path("x")))
    world.queued(world.wait("delta", path("a/2"), path("x")))
    shown = ", ".join(f"alpha #{n}" for n in range(1, 10))
    assert line(world, world.claim("beta", path("x"), path("a"))) == (
        f"beta is refused claim x (edit) +1: {shown}, delta waiting\n"
    )


def test_an_agent_that_waits_twice_is_named_once(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("gamma", path("a"), path("x")))
    world.queued(world.wait("gamma", path("a"), path("y")))
    assert (
        line(world, world.claim("beta", path("y"), path("x"))) == "beta is refused claim y (edit) +1: gamma waiting\n"
    )


def test_a_deadlock_is_one_even_where_something_is_in_the_way(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("beta", path("b")))
    world.queued(world.wait("alpha", path("b")))
    assert line(world, world.wait("beta", path("a"))) == "beta is refused claim a (edit): deadlock\n"


@pytest.mark.parametrize(("fields", "why"), [({"seconds": 3601}, "wait too long"), ({"ttl": 86401}, "lease too long")])
def test_a_wait_refused_says_why(world: World, fields: dict[str, Any], why: str) -> None:
    assert line(world, world.wait("beta", path("a"), **fields)) == f"beta is refused claim a (edit): {why}\n"


def test_who_is_served_follows_on_the_line_of_what_freed_it_ten_at_most(world: World) -> None:
    held = world.granted(world.claim("alpha", path(".")))
    for n in range(11):
        world.queued(world.wait(("beta", "gamma")[n % 2], path(f"f{n}"), task(f"T-{n}")))
    shown = "".join(f"; #{n + 2} {('beta', 'gamma')[n % 2]} is granted f{n} (edit) +1" for n in range(10))
    assert line(world, world.release("alpha", (held.op, None))) == f"alpha releases #1{shown}\n"


def test_who_is_served_follows_a_refusal_too(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    first = world.wait("beta", path("a"), path("b"))
    world.queued(first)
    world.queued(world.wait("gamma", path("b")))
    assert line(world, dated(world.claim("delta", path("a")), 601, first)) == (
        "delta is refused claim a (edit): alpha #1; #2 gamma is granted b (edit)\n"
    )


def test_a_cancelled_wait_is_named_by_what_it_waited_for(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a", "read"), path("b"))
    world.queued(op)
    assert line(world, world.cancel("beta", op.nonce)) == "beta cancels the wait for a (read) +1\n"


def test_a_takeover_names_whose_claims_it_ended_by_token(world: World) -> None:
    one = world.granted(world.claim("gamma", path("b")))
    two = world.granted(world.claim("alpha", path("a")))
    own = world.granted(world.claim("beta", path("c")))
    op = world.takeover("beta", (watched(two), watched(one)), path("a"), path("c"))
    assert line(world, op) == "#4 beta takes over a (edit) +1: gamma #1, alpha #2\n"
    assert own.op not in world.head.state.claims


def test_a_takeover_names_ten_claims_at_most(world: World) -> None:
    held = [world.granted(world.claim("alpha", path(f"a/{n:02}"))) for n in range(12)]
    shown = ", ".join(f"alpha #{n}" for n in range(1, 11))
    op = world.takeover("beta", tuple(map(watched, held)), path("a"))
    assert line(world, op) == f"#13 beta takes over a (edit): {shown}\n"


def test_a_refused_takeover_names_who_is_in_the_way_or_the_gate(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("gamma", path("b")))
    start = "beta is refused takeover a (edit)"
    assert line(world, world.takeover("beta", (watched(one),), path("a"), path("b"))) == f"{start} +1: gamma #2\n"
    for fields, why in (
        ({"lease_end": one.at}, "lease not over"),
        ({"unchanged": 0}, "not watched long enough"),
    ):
        assert line(world, world.takeover("beta", (watched(one, **fields),), path("a"))) == f"{start}: {why}\n"
    mine = world.takeover("alpha", (watched(one),), path("a"))
    assert line(world, mine) == "alpha is refused takeover a (edit): not held\n"
    world.done(world.policy("alpha", takeover="never"))
    assert line(world, world.takeover("beta", (watched(one),), path("a"))) == f"{start}: takeover is off\n"


def test_a_hand_over_shows_both_tokens_and_what_of_less_than_the_whole(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), task("E-1"), path("c"), path("d")))
    assert line(world, world.release("alpha", (one.op, (2, 1)), to="beta")) == (
        "alpha hands #1 task:E-1 +1 to beta as #2\n"
    )
    assert line(world, world.release("alpha", (one.op, (0,)), to="gamma")) == "alpha hands #1 a to gamma as #3\n"
    assert line(world, world.release("alpha", (one.op, (3,)), to="beta")) == "alpha hands #1 to beta as #4\n"


def test_a_refused_hand_over_names_who_is_in_the_way_or_why(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("a/b")))
    two = world.granted(world.claim("alpha", path("c")))
    start = "alpha is refused release"
    assert line(world, world.release("alpha", (one.op, (1,)), to="beta")) == f"{start}: alpha #1\n"
    assert line(world, world.release("alpha", (one.op, None), to="eve")) == f"{start}: no such receiver\n"
    both = world.release("alpha", (one.op, None), (two.op, None), to="beta")
    assert line(world, both) == f"{start}: one claim at a time\n"
    world.granted(world.claim("gamma", path("g")))
    world.queued(world.wait("beta", path("g")))
    world.queued(world.wait("gamma", path("c")))
    assert line(world, world.release("alpha", (two.op, None), to="beta")) == f"{start}: deadlock\n"


def test_blocks_name_the_first_task_and_how_many_more(world: World) -> None:
    one, two = world.block("alpha", "E-1", "E-2/3", "E-4"), world.block("beta", "E-5")
    assert line(world, one) == "alpha blocks task:E-1 +2\n"
    assert line(world, two) == "beta blocks task:E-5\n"
    assert (
        line(world, world.claim("gamma", path("a"), task("E-2/3"))) == "gamma is refused claim a (edit) +1: blocked\n"
    )
    assert line(world, world.unblock("gamma", two.nonce, one.nonce)) == "gamma unblocks task:E-5 +3\n"
    assert line(world, world.unblock("gamma", two.nonce)) == "gamma is refused unblock: not blocked\n"
    world.done(world.block("alpha", "E-1", nonce=one.nonce))
    assert line(world, world.block("alpha", "E-1", nonce=one.nonce)) == "alpha is refused block: nonce in use\n"


def test_landing_and_settling_name_the_claims_in_their_order(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b")))
    two = world.granted(world.claim("alpha", path("c")))
    landed = world.release("alpha", (two.op, None), (one.op, None), landed=LANDED)
    assert line(world, world.settle("beta", one.op)) == "beta is refused settle: not settling\n"
    assert line(world, landed) == "alpha lands #2 #1\n"
    assert line(world, world.settle("beta", two.op, one.op)) == "beta settles #2 #1\n"
    three = world.granted(world.claim("alpha", path("a")))
    gone = world.release("alpha", (three.op, None), landed=LANDED._replace(until=None))
    assert line(world, gone) == "alpha releases #3\n"
