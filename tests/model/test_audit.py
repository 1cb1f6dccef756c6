"""The second implementation is no echo of the first: each rule that is broken in ours, it notices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from git_coord.domain import changing, granting, ledger
from git_coord.domain.statements import Claim, Release
from tests.service.scene import Desk, Scene

from .audit import Auditor, check_doors
from .world import space


def both_claim(alpha: Desk, beta: Desk) -> None:
    alpha.granted("a")
    beta.claim("a/b")


def claim_and_release(alpha: Desk, beta: Desk) -> None:
    alpha.granted("a", "b")
    alpha.release("a")


def claim_again(alpha: Desk, beta: Desk) -> None:
    alpha.granted("a")
    alpha.granted("a")


def never_conflicts(*_: object) -> tuple[()]:
    return ()


def does_nothing(state: ledger.State, _op: object) -> ledger.Outcome:
    return ledger.Done(state)


def skips_a_token(state: ledger.State, op: Claim) -> ledger.Outcome:
    counters = state.counters._replace(token=state.counters.token + 1)
    return granting.claim(replace(state, counters=counters), op)


Rules = tuple[Callable[[Desk, Desk], None], object, str, object, object]
STORIES: dict[str, Rules] = {
    "conflicts are not seen": (both_claim, granting, "obstacles", None, never_conflicts),
    "a release does nothing": (claim_and_release, ledger, "_RULES", Release, does_nothing),
    "a token is left out": (claim_again, ledger, "_RULES", Claim, skips_a_token),
    "what is claimed again is not replaced": (claim_again, changing, "_replaced", None, lambda *_: {}),
}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Desk, Desk]:
    alpha, beta = Scene(tmp_path).joined("alpha", "beta")
    return alpha, beta


def audit(desk: Desk) -> None:
    tip = desk.tip()
    assert tip is not None
    Auditor(space("none")).audit(desk.store, tip)


@pytest.mark.parametrize("name", STORIES)
def test_a_rule_broken_in_the_ledger_is_noticed(
    name: str, pair: tuple[Desk, Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    story, module, attribute, key, broken = STORIES[name]
    if key is None:
        monkeypatch.setattr(module, attribute, broken)
    else:
        monkeypatch.setitem(getattr(module, attribute), key, broken)
    story(*pair)
    with pytest.raises(AssertionError):
        [audit(desk) for desk in pair]


@pytest.mark.parametrize("story", [both_claim, claim_and_release, claim_again])
def test_the_same_without_a_broken_rule_is_accepted(story: Callable[..., Any], pair: tuple[Desk, Desk]) -> None:
    story(*pair)
    for desk in pair:
        audit(desk)
        check_doors(desk, space("none"))


def test_a_door_that_lets_through_what_the_others_refuse_is_noticed(
    pair: tuple[Desk, Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = pair
    alpha.granted("a")
    beta.sync()
    monkeypatch.setattr("git_coord.guard.verdict.Picture.flags", lambda *_: 0)
    with pytest.raises(AssertionError):
        check_doors(beta, space("none"))
