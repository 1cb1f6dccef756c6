"""Blocks, settling and landed work: what a hostile member can say, and what follows from it."""

from __future__ import annotations

import pytest

from git_coord.domain.canonical import loads
from git_coord.domain.statements import BlockTasks, Landed, LandedPath, Operation, Release, Settle, Target, Unblock
from tests.hostile.attacker import Attacker
from tests.hostile.conftest import Arena
from tests.hostile.test_attacks_requests import claim_of

UNMERGED = "1" * 40


def _waits(arena: Arena) -> None:
    """Let alpha's work on `a.txt` wait for main, and mallory see it."""
    arena.alpha.git("checkout", "-q", "-b", "topic")
    arena.alpha.commit("work", **{"a.txt": "new\n"})
    assert arena.alpha.coord("release", "#1", "--when-merged", "main").code == 0
    arena.mallory.clone.coord_json("sync")


def _op(by: Attacker, what: str, **fields: str) -> Operation:
    claim = next(iter(by.head.state.claims.values()))
    made: Operation = {
        "block": lambda: by.op(BlockTasks, tasks=("E",), reason="mine", **fields),
        "unblock": lambda: by.op(Unblock, blocks=tuple(by.head.state.blocks) or ("0" * 32,), reason="", **fields),
        "settle": lambda: by.op(Settle, claims=(claim.op,), commit=UNMERGED, **fields),
    }[what]()
    return made


@pytest.mark.parametrize("what", ["block", "unblock", "settle"])
def test_in_alphas_name_nobody_blocks_unblocks_or_settles(arena: Arena, what: str) -> None:
    arena.alpha.coord_json("block", "task:T", "-m", "decided")
    _waits(arena)
    by = arena.mallory
    by.push_requests("alpha", by.sealed(_op(by, what, agent="alpha")))
    arena.beta.coord_json("sync")
    assert arena.beta.coord("check", "task:T").code == 8
    assert arena.beta.coord("check", "task:E").code == 0
    assert arena.beta.coord("claim", "a.txt").code == 3


def test_who_has_not_joined_blocks_nothing(arena: Arena) -> None:
    by = arena.mallory
    op = by.op(BlockTasks, tasks=("T",), reason="", agent="stranger")
    by.push_requests("stranger", by.sealed(op, by.new_key("stranger")))
    arena.beta.coord_json("sync")
    assert arena.beta.coord("check", "task:T").code == 0


def test_a_claim_that_does_not_wait_for_a_branch_cannot_be_settled(arena: Arena) -> None:
    by = arena.mallory
    by.push_requests("mallory", by.sealed(_op(by, "settle")))
    arena.beta.coord_json("sync")
    assert "mallory is refused settle: not settling" in arena.beta.coord("log").out
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}


def test_who_settles_by_a_commit_that_is_not_merged_is_believed_and_has_signed_it(arena: Arena) -> None:
    _waits(arena)
    by = arena.mallory
    by.push_requests("mallory", by.sealed(_op(by, "settle")))
    arena.beta.coord_json("sync")
    assert "mallory settles #1" in arena.beta.coord("log").out
    assert arena.holders(arena.beta) == {}
    shown = arena.beta.git("show", "refs/coord/claims:op/0000").splitlines()[0]
    assert (loads(shown.encode())["agent"], loads(shown.encode())["commit"]) == ("mallory", UNMERGED)
    assert [one["branch"] for one in arena.beta.coord_json("claim", "a.txt")["warnings"]] == ["main"]


@pytest.mark.parametrize("name", ["--upload-pack=touch evil", "x; touch evil", "a\u00a0b", "../../heads/main", "@{-1}"])
def test_a_branch_that_a_release_names_never_becomes_an_option_or_a_command(arena: Arena, name: str) -> None:
    by = arena.mallory
    by.push_requests("mallory", by.sealed(claim_of(by, "m.txt")))
    arena.beta.coord_json("sync")
    by.clone.coord_json("sync")
    del by.__dict__["coord"]
    claim = next(claim for claim in by.head.state.claims.values() if claim.holder == "mallory")
    paths = (LandedPath("m.txt", None),)
    for until in (name, None):
        work = Landed(branch=name, commit=UNMERGED, paths=paths, until=until)
        op = by.op(Release, reason="", targets=(Target(claim.op, None),), landed=work)
        by.push_requests("mallory", by.sealed(op))
        done = arena.beta.coord("sync")
        assert done.code == 0
        by.clone.coord_json("sync")
        del by.__dict__["coord"]
    arena.beta.commit("m", **{"m.txt": "here\n"})
    warning = arena.beta.coord_json("claim", "m.txt")["warnings"][0]
    assert warning["commit"] == UNMERGED
    assert warning["next"] in (
        f"git fetch origin && git merge {UNMERGED[:10]}",
        f"git fetch origin 'a\u00a0b' && git merge {UNMERGED[:10]}",
    )
    assert not (arena.beta.path / "evil").exists()
