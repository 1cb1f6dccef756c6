"""Attacks through takeovers: evidence that lies is refused where the ledger knows better, and else kept and told."""

from __future__ import annotations

from typing import Any

import pytest

from git_coord.app import open_app
from git_coord.clock import SystemClock
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Base, Evidence, Takeover
from git_coord.service import takeover as service
from git_coord.service.ledger import open_ledger
from tests.cli.past import Late, claim_long_ago
from tests.cli.words import forget_sync, plain
from tests.hostile.attacker import CLAIMS, Attacker
from tests.hostile.conftest import Arena

NOBODY = Base(None, None, None)


def takeover(by: Attacker, claim: LiveClaim, *, at: int | None = None, agent: str = "mallory", **lies: Any) -> Takeover:
    """Return the takeover of a claim with what is said to have been seen of it."""
    seen = Evidence(claim.op, None, claim.certain_end, None, claim.ttl, None)._replace(**lies)
    fields = {
        "agent": agent,
        "base": NOBODY,
        "items": claim.items,
        "lease": "quick",
        "purpose": "",
        "reason": "mine",
        "stamps": None,
    }
    made: Takeover = by.op(Takeover, claims=(seen,), ttl=1800, **fields, **({} if at is None else {"at": at}))
    return made


def held(by: Attacker) -> LiveClaim:
    """Return alpha's claim."""
    return next(claim for claim in by.head.state.claims.values() if claim.holder == "alpha")


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "lease over before the ledger says": ({"lease_end": 1}, "lease not over"),
    "lease over at its true end": ({}, "lease not over"),
}


@pytest.mark.parametrize("lie", LIES)
def test_evidence_against_a_lease_that_runs_is_refused(arena: Arena, lie: str) -> None:
    by, (lies, why) = arena.mallory, LIES[lie]
    by.push_requests("mallory", by.sealed(takeover(by, held(by), **lies)))
    arena.beta.coord_json("sync")
    assert f"mallory is refused takeover a.txt (edit): {why}" in arena.beta.coord("log").out
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}


@pytest.mark.parametrize(
    "lies",
    [
        {"unchanged": 0},
        {"unchanged": 299},
        {"unchanged": 0, "witness": "alpha"},
        {"unchanged": 0, "witness": "mallory"},
        {"unchanged": 0, "witness": "nobody"},
    ],
    ids=str,
)
def test_evidence_of_too_short_a_watch_or_of_a_false_witness_is_refused(arena: Arena, lies: dict[str, Any]) -> None:
    claim_long_ago(arena.alpha, "old.txt")
    arena.mallory.clone.coord_json("sync")
    by = arena.mallory
    old = next(claim for claim in by.head.state.claims.values() if claim.ttl == 300)
    by.push_requests("mallory", by.sealed(takeover(by, old, **lies)))
    arena.beta.coord_json("sync")
    assert "mallory is refused takeover old.txt (edit): not watched long enough" in arena.beta.coord("log").out
    assert arena.holders(arena.beta) == {"a.txt": "alpha", "old.txt": "alpha"}


def test_a_takeover_that_another_key_signed_is_never_placed(arena: Arena) -> None:
    by = arena.mallory
    forged = by.places(by.sealed(takeover(by, held(by), agent="beta")))
    by.push_ledger(forged)
    forget_sync(arena.beta)
    done = arena.beta.coord("sync")
    assert (done.code, "takeover of beta cannot be placed" in done.err) == (6, True), done
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}


def test_a_takeover_dated_ahead_is_not_placed_by_honest_clones(arena: Arena) -> None:
    by = arena.mallory
    claim = held(by)
    by.push_requests("mallory", by.sealed(takeover(by, claim, at=claim.certain_end + 3600)))
    arena.beta.coord_json("sync")
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    assert "mallory" not in arena.hub.git("log", "-1", "--format=%B", CLAIMS)


def test_a_lie_that_the_ledger_cannot_know_is_signed_kept_and_told_to_its_victim(arena: Arena) -> None:
    # A heartbeat keeps the claim alive, which mallory does not mention.
    claim_long_ago(arena.alpha, "old.txt", ago=1000, ttl=600)
    arena.alpha.coord_json("presence", "set", "busy")
    arena.alpha.coord_json("sync")
    arena.mallory.clone.coord_json("sync")
    by = arena.mallory
    old = next(claim for claim in by.head.state.claims.values() if claim.ttl == 600)
    assert by.clone.coord_json("takeover", "old.txt", code=3)["code"] == "conflict"  # our program does not do it
    by.push_requests("mallory", by.sealed(takeover(by, old)))
    arena.beta.coord_json("sync")
    assert arena.holders(arena.beta) == {"a.txt": "alpha", "old.txt": "mallory"}
    token = next(one["token"] for one in arena.beta.coord_json("status")["claims"] if one["agent"] == "mallory")
    record = arena.hub.git("show", f"{CLAIMS}:claims/0/{token}/claim")
    assert '"beat":null' in record
    assert '"agent":"mallory"' in record
    forget_sync(arena.alpha)
    said = plain(arena.alpha.coord("status").err)
    assert 'git coord: lost: #2 old.txt, taken over by mallory <age> ago, "mine"' in said


def test_deleting_a_presence_helps_nobody_to_a_claim(arena: Arena) -> None:
    claim_long_ago(arena.alpha, "old.txt")
    arena.mallory.delete("refs/coord/presence/alpha")
    answer = arena.mallory.clone.coord_json("takeover", "old.txt", code=7)
    assert answer["code"] == "presence_unknown"
    assert answer["may_pass_at"] is None


def test_a_takeover_by_a_clock_that_is_wrong_is_stopped_by_the_watch(arena: Arena) -> None:
    # Beta's clock is a day ahead: everybody's leases are over, by that clock.
    app = open_app(str(arena.beta.path), arena.beta.env, clock=Late(-86400))
    assert open_ledger(app.coord) is not None
    began = service.look_again(app.coord)
    looks = service.examine(app.coord, [held(arena.mallory)], began)
    assert [(gate.name, gate.is_passed) for gate in looks[0].gates] == [
        ("lease", True),
        ("presence", True),
        ("commits", True),
        ("watched", False),
    ]
    assert SystemClock().now() < looks[0].lease_until
