"""The line of the ledger's log for each operation: ASCII, no free text, to the letter."""

from __future__ import annotations

import pytest
from tests.domain.world import World, glob, key_of, path, task

from git_coord.domain.ids import Session
from git_coord.domain.statements import Renewal, Stamp


@pytest.fixture
def world() -> World:
    """Return a ledger with two members."""
    return World.of("alpha", "beta")


def line(world: World, *operations: object) -> str:
    """Return the message of the commit that places operations."""
    commit = world.place(*operations).objects[-1].data  # type: ignore[arg-type]
    return commit.decode("ascii").partition("\n\n")[2]


def test_a_root_says_whose_ledger_begins() -> None:
    world = World.born()
    commit = next(found for found in world.objects.values() if found.type == "commit")
    assert commit.data.endswith(b" +0000\n\nroot begins ledger 00000000-0000-4000-8000-000000000001\n")


def test_membership_has_a_line_each(world: World) -> None:
    assert line(world, world.join("gamma")) == "gamma joins\n"
    assert line(world, world.rejoin("gamma", "s2")) == "gamma rejoins\n"
    assert line(world, world.rotate("beta", key_of("new"))) == "beta rotates its key\n"
    assert line(world, world.policy("alpha", max_lease=1)) == "alpha sets the policy\n"
    assert line(world, world.policy("alpha", skew=1)) == "alpha is refused policy: fixed at birth\n"


def test_a_claim_shows_token_first_item_and_how_many_more(world: World) -> None:
    one = world.claim("alpha", path("src/a.py"), purpose="no \nfree text", stamps=(Stamp("n", "v"),))
    assert line(world, one) == "#1 alpha claims src/a.py (edit)\n"
    two = world.claim("alpha", glob("x/**", "read"), path("b"), task("E-1"))
    assert line(world, two) == "#2 alpha claims glob:x/** (read) +2\n"
    assert line(world, world.claim("beta", task("E-2"))) == "#3 beta claims task:E-2 (edit)\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('a"b\\c', r"a\"b\\c"),
        ("é\U0001f600", r"\u00e9\ud83d\ude00"),
        ("\udcff", r"\udcff"),
        ("a\nb\x1b[31m\u202e", r"a\nb\u001b[31m\u202e"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "..."),
        ("é" * 201, r"\u00e9" * 200 + "..."),
    ],
)
def test_names_are_escaped_as_json_and_cut_at_200_code_points(world: World, name: str, shown: str) -> None:
    assert line(world, world.claim("alpha", path(name))) == f"#1 alpha claims {shown} (edit)\n"


def test_a_refused_claim_names_up_to_ten_holders_by_token(world: World) -> None:
    for n in range(12):
        world.granted(world.claim("beta", path(f"a/{n:02}"), path(f"b/{n:02}")))
    shown = ", ".join(f"beta #{n}" for n in range(1, 11))
    assert line(world, world.claim("alpha", path("free"), path("."))) == (
        f"alpha is refused claim free (edit) +1: {shown}\n"
    )


def test_other_refusals_say_why(world: World) -> None:
    one = world.granted(world.claim("beta", path("a")))
    assert line(world, world.claim("alpha", path("b"), ttl=86401)) == (
        "alpha is refused claim b (edit): lease too long\n"
    )
    assert (
        line(world, world.claim("alpha", path("b"), nonce=one.op)) == "alpha is refused claim b (edit): nonce in use\n"
    )
    assert line(world, world.claim("alpha", path("b"), session=Session("s"))) == (
        "alpha is refused claim b (edit): another session\n"
    )
    assert line(world, world.claim("alpha", path("b"), not_after=0)) == "alpha is refused claim b (edit): too late\n"
    assert line(world, world.release("alpha", (one.op, None))) == "alpha is refused release: not held\n"
    assert line(world, world.release("beta", (one.op, (1,)))) == "beta is refused release: no such item\n"


def test_changes_show_token_and_what_was_given_back(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), glob("b*"), path("c"), path("d")))
    two = world.granted(world.claim("alpha", path("e")))
    renewals = (Renewal(two.op, (None,), ()), Renewal(one.op, (None,) * 4, ()))
    assert line(world, world.renew("alpha", *renewals)) == "alpha renews #2 #1\n"
    assert line(world, world.release("alpha", (one.op, (2, 1)))) == "alpha releases #1 glob:b* +1\n"
    assert line(world, world.release("alpha", (one.op, (0,)), (two.op, None))) == "alpha releases #1 a #2\n"
    assert line(world, world.break_("beta", one.op)) == "beta breaks #1\n"
    three = world.granted(world.claim("beta", path("a")))
    assert line(world, world.cancel("beta", three.op)) == "beta cancels #3\n"
    assert line(world, world.cancel("beta", three.op)) == "beta cancels\n"


def test_at_most_ten_claims_are_shown_of_one_operation(world: World) -> None:
    claims = [world.granted(world.claim("alpha", path(f"f{n}"))) for n in range(12)]
    shown = " ".join(f"#{n}" for n in range(1, 11))
    assert line(world, world.release("alpha", *((claim.op, None) for claim in claims))) == f"alpha releases {shown}\n"


def test_a_commit_has_a_line_for_each_operation_in_order(world: World) -> None:
    message = line(world, world.claim("alpha", path("a")), world.claim("alpha", path("b")))
    assert message == "#1 alpha claims a (edit)\n#2 alpha claims b (edit)\n"
