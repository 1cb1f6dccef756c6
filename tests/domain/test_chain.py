"""Ledger commits as a function of parent and operations; and what git makes of them."""

from __future__ import annotations

import random

import pytest
from tests.domain.world import START, World, oid_of, path, sealed
from tests.helpers import Repo

from git_coord.domain import chain
from git_coord.domain.chain import Extension, Sealed
from git_coord.domain.ids import Agent
from git_coord.domain.placing import MAX_PLACED, turn_order
from git_coord.store.codec import pack


def placed(made: Extension | None) -> list[tuple[str, int]]:
    """Return agent and seq of everything placed, in order."""
    assert made is not None
    return [(entry.sealed.op.agent, entry.sealed.op.seq) for entry in made.placed]


def extend(world: World, *candidates: Sealed) -> Extension | None:
    """Return the extension of a world's head, which stays where it is."""
    return chain.extend(world.head, candidates, world.algorithm)


def test_builders_with_the_same_operations_build_the_same_commit() -> None:
    world = World.of("alpha", "beta", "gamma")
    candidates = [sealed(world.claim(agent, path(agent))) for agent in ("alpha", "beta", "gamma") for _ in range(3)]
    made = extend(world, *candidates)
    assert made is not None
    for seed in range(5):
        again = extend(world, *random.Random(seed).sample(candidates, len(candidates)))
        assert again is not None
        assert (again.head.oid, again.objects) == (made.head.oid, made.objects)


def test_agents_take_turns_and_each_goes_by_seq() -> None:
    world = World.of("alpha", "beta")
    ops = {agent: [world.claim(agent, path(agent)) for _ in range(3)] for agent in ("beta", "alpha")}
    order = turn_order(world.head.oid, [Agent("alpha"), Agent("beta")])
    made = extend(world, *(sealed(op) for agent in ops for op in reversed(ops[agent])))
    assert placed(made) == [(agent, op.seq) for agent in order for op in ops[agent]]


def test_the_first_operation_that_cannot_be_placed_ends_its_agents_turn_only() -> None:
    world = World.of("alpha", "beta")
    good, bad, after, other = (world.claim(agent, path(agent)) for agent in ("alpha", "alpha", "alpha", "beta"))
    made = extend(world, sealed(good), sealed(bad, sealed(other).key), sealed(after), sealed(other))
    assert sorted(placed(made)) == [("alpha", good.seq), ("beta", other.seq)]


def test_what_was_placed_before_is_passed_over() -> None:
    world = World.of("alpha")
    old, new = sealed(world.claim("alpha", path("a"))), sealed(world.claim("alpha", path("b")))
    world.place(old)
    assert placed(extend(world, old, new)) == [("alpha", new.op.seq)]


def test_nothing_placeable_makes_no_commit() -> None:
    world = World.of("alpha")
    assert extend(world) is None
    assert extend(world, sealed(world.claim("beta", path("a")))) is None


def test_of_two_operations_with_one_seq_the_same_is_placed_whatever_came_first() -> None:
    world = World.of("alpha")
    one, two = (sealed(world.claim("alpha", path(name), seq=9)) for name in "ab")
    both, again = extend(world, one, two), extend(world, two, one)
    assert placed(both) == placed(again) == [("alpha", 9)]
    assert both is not None
    assert again is not None
    assert both.objects == again.objects


def test_a_join_and_what_follows_it_go_into_one_commit() -> None:
    world = World.born()
    made = world.place(world.join("alpha"), world.claim("alpha", path("a")))
    assert made.objects[-1].data.endswith(b"\n\nalpha joins\n#1 alpha claims a (edit)\n")


def test_a_commit_places_at_most_256_operations_and_the_rest_waits() -> None:
    world = World.of("alpha")
    candidates = [sealed(world.claim("alpha", path(f"f{n}"))) for n in range(MAX_PLACED + 2)]
    made = extend(world, *candidates)
    assert placed(made) == [("alpha", one.op.seq) for one in candidates[:256]]
    assert made is not None
    world.head = made.head
    assert placed(extend(world, *candidates)) == [("alpha", one.op.seq) for one in candidates[256:]]


def test_the_commit_says_who_when_and_what_and_nothing_else() -> None:
    world = World.of("alpha")
    parent = world.head.oid
    made = world.place(world.claim("alpha", path("a b")), world.claim("alpha", path("c"), at=START))
    date = START + 60 * 3
    assert made.objects[-1].data.decode() == (
        f"tree {made.head.tree.oid}\n"
        f"parent {parent}\n"
        f"author git-coord <git-coord> {date} +0000\n"
        f"committer git-coord <git-coord> {date} +0000\n"
        "\n"
        "#1 alpha claims a b (edit)\n"
        "#2 alpha claims c (edit)\n"
    )
    assert made.head.date == date


def test_dates_never_go_back_though_operations_do() -> None:
    world = World.of("alpha")
    before = world.head.date
    assert world.place(world.claim("alpha", path("c"), at=START)).head.date == before
    assert world.head.state.counters.at == START


def test_every_object_is_listed_once_and_the_record_of_a_claim_lies_in_two_places() -> None:
    world = World.of("alpha")
    made = world.place(world.claim("alpha", path("a")))
    ids = [found.oid for found in made.objects]
    assert len(ids) == len(set(ids))
    assert made.head.tree.get("op/0000") == made.head.tree.get("claims/0/1/claim")


def test_what_is_made_and_freed_in_one_commit_leaves_no_object() -> None:
    world = World.of("alpha")
    claim = world.claim("alpha", path("a"))
    made = world.place(claim, world.cancel("alpha", claim.nonce))
    assert made.head.tree.get("claims") is None
    assert [found.type for found in made.objects] == ["blob"] * 4 + ["tree"] * 3 + ["commit"]


def test_files_of_a_claim_come_and_go_with_what_changes_it() -> None:
    world = World.of("alpha")
    one = world.granted(world.claim("alpha", path("a"), path("b"), path("c")))
    world.done(world.release("alpha", (one.op, (0,))))
    world.granted(world.claim("alpha", path("b")))
    assert sorted(world.files()) == [
        "agents/alpha",
        *[
            "claims/0/1/claim",
            "claims/0/1/cut-000000000004-0000",
            "claims/0/1/cut-000000000005-0000",
            "claims/0/1/grant",
        ],
        *["claims/0/2/claim", "claims/0/2/grant"],
        *["counters", "format", "policy"],
    ]
    world.done(world.release("alpha", (one.op, None)))
    assert [name for name in world.files() if name.startswith("claims/")] == ["claims/0/2/grant", "claims/0/2/claim"]


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_git_finds_a_ledger_sound_complete_and_readable(repo: Repo, algorithm: str) -> None:
    repo.git("init", "-q", "--bare", f"--object-format={algorithm}", "ledger")
    ledger = Repo(repo.path / "ledger", repo.env)
    world = World.born(algorithm)
    written = list(world.objects.values())
    written += world.place(world.join("alpha"), world.join("beta")).objects
    written += world.place(*(world.claim("alpha", path(f"d/{n}")) for n in range(120))).objects
    written += world.place(world.claim("beta", path("d"))).objects
    written += world.place(world.claim("beta", path("\udcff\n\x1b[31m\u202e"))).objects
    claims = list(world.head.state.claims)
    written += world.place(world.break_("beta", *claims[:110])).objects
    # As a pack of exactly what was said to be new: one object missing and git would say so.
    ledger.git("unpack-objects", "-q", "--strict", input=pack(list(dict.fromkeys(written)), algorithm))
    for ref in ("refs/coord/claims", "refs/heads/main"):  # the second so that HEAD is not unborn
        ledger.git("update-ref", ref, world.head.oid)
    assert ledger.run("git", "fsck", "--strict", "--full").err == ""
    log = ledger.git("log", "--format=%an <%ae> %s", "refs/coord/claims").splitlines()
    assert log[0].startswith("git-coord <git-coord> beta breaks #1 #2")
    assert log[1] == r"git-coord <git-coord> #121 beta claims \udcff\n\u001b[31m\u202e (edit)"
    assert log[2] == "git-coord <git-coord> beta is refused claim d (edit): " + ", ".join(
        f"alpha #{n}" for n in range(1, 11)
    )
    assert log[-1] == "git-coord <git-coord> root begins ledger 00000000-0000-4000-8000-000000000001"
    assert oid_of("a") not in world.objects
