"""Attacks on the ledger itself: whatever is pushed there, nobody adopts it, it is named, and repair heals it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from git_coord.domain.ids import Oid
from tests.hostile import forgeries as f
from tests.hostile.attacker import CLAIMS, Attacker
from tests.hostile.conftest import Arena

REASONS: dict[Callable[[Attacker], Oid], str] = {
    f.forged_in_alphas_name: "release of alpha cannot be placed: ",
    f.unsigned: "not an armored SSH signature",
    f.signature_of_other_bytes: "signature ",
    f.wrong_namespace: "signature is for namespace git, not git-coord",
    f.of_another_ledger: "cancel of mallory cannot be placed: it belongs to another ledger",
    f.replayed: "claim of alpha cannot be placed: seq ",
    f.key_of_a_stranger: "cancel of mallory cannot be placed: ",
    f.key_joins_again_under_another_name: "join of mallet cannot be placed: ",
    f.taken_name: "join of alpha cannot be placed: the name alpha is taken",
    f.no_head: "cancel of mallory cannot be placed: it names no ledger head",
    f.session_moved_by_a_stranger: "rejoin of alpha cannot be placed: ",
    f.break_by_a_stranger: "break of mallory cannot be placed: ",
    f.policy_by_a_stranger: "policy of mallory cannot be placed: ",
    f.void_by_a_stranger: "policy of mallory cannot be placed: ",
    f.holder_changed_without_an_operation: "it does not follow from its parent",
    f.claim_dropped_without_an_operation: "it does not follow from its parent",
    f.extra_file: "it does not follow from its parent",
    f.extra_folder_of_git: "it does not follow from its parent",
    f.operation_swapped: "it does not follow from its parent",
    f.operation_is_a_folder: "an operation of it is a tree",
    f.no_operation: "it places no operation",
    f.twice_the_same_name: "an operation of it cannot be placed there",
    f.executable_mode: "it does not follow from its parent",
    f.second_parent: "it does not follow from its parent",
    f.merge_beside_the_chain: "",
    f.another_author: "it does not follow from its parent",
    f.another_message: "it does not follow from its parent",
    f.extra_header: "it does not follow from its parent",
    f.another_date: "it does not follow from its parent",
    f.out_of_turn: "it does not follow from its parent",
    f.too_many: "it does not follow from its parent",
    f.future_version: "statement version 4 needs a newer git coord",
    f.future_kind: "operation kind 'retire' needs a newer git coord",
    f.future_member: "of cancel needs a newer git coord",
    f.duplicate_key: "not canonical JSON",
    f.deep_json: "not canonical JSON: nested too deeply",
    f.line_of_a_megabyte: "an operation of it is too large",
    f.escapes_in_a_purpose: "field 'purpose' of claim is not ",
    f.cyrillic_agent: "field 'agent' of join is not ",
}
"""Each attack and how the refusal of its commit begins."""


@pytest.mark.parametrize("attack", REASONS, ids=lambda attack: attack.__name__)
def test_a_bad_ledger_commit_is_refused_by_name_and_repaired(arena: Arena, attack: Callable[[Attacker], Oid]) -> None:
    good = arena.alpha.rev(CLAIMS)
    bad = attack(arena.mallory)
    arena.mallory.push(CLAIMS, bad)
    answer = arena.beta.coord_json("claim", "b.txt", code=6)
    assert (answer["code"], arena.beta.rev(CLAIMS)) == ("untrusted", good)
    if attack is not f.merge_beside_the_chain:
        assert (answer["commit"], answer["kept"]) == (bad, good)
        assert REASONS[attack] in answer["reason"]
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    assert arena.beta.coord("doctor", "--repair-ledger").code == 0
    assert arena.alpha.coord_json("claim", "c.txt")["confirmed"] is True
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "c.txt": "alpha"}


@pytest.mark.parametrize("what", ["blob", "tree", "tag", "user commit"])
def test_a_ledger_ref_at_something_else_is_refused_and_repaired(arena: Arena, what: str) -> None:
    arena.mallory.push(CLAIMS, _something_else(arena, what))
    assert arena.beta.coord_json("claim", "b.txt", code=6)["code"] == "untrusted"
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    assert arena.beta.coord("doctor", "--repair-ledger").code == 0
    assert arena.alpha.coord_json("claim", "c.txt")["confirmed"] is True


def _something_else(arena: Arena, what: str) -> str:
    by = arena.mallory
    if what == "tag":
        by.clone.git("tag", "-a", "-m", "x", "evil", by.head.oid)
        return by.clone.rev("refs/tags/evil")
    return {"blob": by.put("blob", b"x"), "tree": by.clone.rev("main^{tree}"), "user commit": by.clone.rev("main")}[
        what
    ]


def test_a_ledger_ref_at_a_missing_object_is_unknown_and_mended_by_the_host(arena: Arena) -> None:
    good = arena.hub.rev(CLAIMS)
    (arena.hub.path / CLAIMS).write_text("12" * 20 + "\n")
    for verb in ("check", "claim"):
        assert arena.beta.coord_json(verb, "b.txt", code=5)["code"] == "unknown"
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    (arena.hub.path / CLAIMS).write_text(f"{good}\n")
    assert arena.beta.coord_json("claim", "b.txt")["confirmed"] is True


def test_a_truncated_ledger_is_put_forward_again_and_said(arena: Arena) -> None:
    good = arena.alpha.rev(CLAIMS)
    arena.mallory.push(CLAIMS, arena.mallory.clone.rev(f"{good}~2"))
    done = arena.beta.coord("sync")
    assert (done.code, "had gone back to" in done.err) == (0, True)
    assert arena.hub.git("log", "-1", "--format=%P %s", CLAIMS) == f"{good} beta restores the ledger"


def test_a_deleted_ledger_is_put_forward_again_and_said(arena: Arena) -> None:
    good = arena.alpha.rev(CLAIMS)
    arena.mallory.delete(CLAIMS)
    done = arena.beta.coord("sync")
    assert (done.code, "had lost the ledger" in done.err) == (0, True)
    assert arena.hub.git("log", "-1", "--format=%P %s", CLAIMS) == f"{good} beta restores the ledger"


def test_a_forked_ledger_of_valid_commits_takes_nothing_from_who_saw_the_other_branch(arena: Arena) -> None:
    """A member signs two histories: the clones that saw the first one place again what the second does not have."""
    fork = arena.mallory.places(arena.mallory.sealed(arena.mallory.cancel()))
    mine = arena.alpha.coord_json("claim", "c.txt")["token"]
    arena.mallory.push_ledger(fork)
    assert f"placed again 1 operation that this clone had: #{mine} is #{mine + 1} now" in arena.alpha.coord("sync").err
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "c.txt": "alpha"}
    assert arena.beta.coord_json("claim", "c.txt", code=3)["token"] == mine + 1


def test_a_ref_below_the_ledgers_name_keeps_the_hub_from_taking_it_until_it_is_deleted(arena: Arena) -> None:
    arena.mallory.delete(CLAIMS)
    arena.mallory.push(f"{CLAIMS}/x", arena.mallory.head.oid)
    assert arena.beta.coord_json("claim", "b.txt", code=5)["code"] == "unknown"
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    arena.mallory.delete(f"{CLAIMS}/x")
    assert arena.beta.coord_json("claim", "b.txt", code=5)["restored_by"] == "beta"


def test_an_operation_from_the_far_future_does_not_stop_anybody(arena: Arena) -> None:
    later = arena.mallory.coord.clock.now() + 50 * 365 * 86400
    arena.mallory.push_ledger(arena.mallory.places(arena.mallory.sealed(arena.mallory.cancel(at=later))))
    assert arena.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert arena.alpha.coord_json("release", "a.txt")["ok"] is True


@pytest.mark.parametrize("how", ["replace", "grafts", "shallow"])
def test_a_decoy_that_git_would_show_in_place_of_the_ledger_is_not_looked_at(arena: Arena, how: str) -> None:
    tip = arena.alpha.rev(CLAIMS)
    if how == "replace":
        arena.mallory.push("refs/replace/" + tip, f.claim_dropped_without_an_operation(arena.mallory))
        arena.alpha.git("fetch", "-q", "origin", "+refs/replace/*:refs/replace/*")
    elif how == "grafts":
        (arena.alpha.path / ".git/info").mkdir(exist_ok=True)
        (arena.alpha.path / ".git/info/grafts").write_text(f"{tip}\n")
    else:
        (arena.alpha.path / ".git/shallow").write_text(f"{arena.alpha.rev('main')}\n")
    assert arena.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert arena.beta.coord_json("claim", "c.txt")["confirmed"] is True
    assert arena.alpha.coord_json("claim", "a.txt", "d.txt")["confirmed"] is True
    assert arena.holders(arena.alpha) == dict.fromkeys(("a.txt", "d.txt"), "alpha") | dict.fromkeys(
        ("b.txt", "c.txt"), "beta"
    )
    assert "operations verified" in arena.alpha.coord("doctor").out
