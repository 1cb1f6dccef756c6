"""Rules of waiting, other hands, blocked tasks and settling, broken in ours: the second implementation notices each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from git_coord.domain import granting, ledger, obstacles, rules, state
from git_coord.domain.statements import Settle, Unblock
from tests.service.scene import Desk, Scene, wanted

from . import moves
from .audit import Auditor
from .oracle import Thing
from .test_audit import does_nothing
from .world import item, space

Desks = tuple[Desk, Desk, Desk]
Story = Callable[[Desk, Desk, Desk], None]


def ask(desk: Desk, *names: str, seconds: int = 3600, ttl: int = 7200, intent: str = "edit") -> None:
    """Claim, past every check before the ledger; it waits for so long, when it must."""
    desk.sync()
    moves.wait(desk.coord(), wanted(*names, ttl=ttl, intent=intent), seconds)


def ask_for_task(desk: Desk, name: str) -> None:
    desk.sync()
    moves.wait(desk.coord(), wanted()._replace(items=(item(Thing("task", name), "edit"),)), 60)


def free(desk: Desk, *names: str) -> None:
    desk.sync()
    desk.release(*names)


def later(desk: Desk, seconds: int) -> None:
    """Let time pass, and anything be placed."""
    desk.clock.sleep(seconds)
    ask(desk, f"z/{seconds}", seconds=-1)


def a_newcomer(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "a", "b")
    ask(gamma, "b")


def a_newcomer_after_ten_minutes(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "a", "b")
    gamma.clock.sleep(601)
    ask(gamma, "b")


def a_holder_asks_for_more(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "a", "b")
    ask(alpha, "b")


def two_wait(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "a")
    ask(gamma, "a")
    free(alpha, "a")


def two_wait_for_long(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "a")
    ask(gamma, "a")
    gamma.clock.sleep(601)
    free(alpha, "a")


def two_wait_and_one_is_stuck(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a", "b")
    ask(beta, "a", "b")
    ask(gamma, "b")
    free(alpha, "b")


def one_waits_too_long(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "a", seconds=60)
    later(gamma, 61)


def each_waits_for_the_other(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    ask(beta, "b")
    ask(alpha, "b")
    ask(beta, "a")


def takes_at_once(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    take(beta, 2)


def takes_when_over_unwatched(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    beta.clock.sleep(7261)
    take(beta, 2)


def takes_by_the_rules(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    beta.clock.sleep(7261)
    take(beta, 0)


def take(desk: Desk, number: int) -> None:
    """Take over the only claim there is; 0 is with evidence that is enough, 2 is not."""
    desk.sync()
    moves.take_over(desk.coord(), number, wanted("a"))


def hands_over(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a", "b")
    moves.hand_over(alpha.coord(), 1, "beta")


def hands_over_what_meets_the_rest(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a/b", "a")
    moves.hand_over(alpha.coord(), 1, "beta")


def lands_and_settles(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    moves.land(alpha.coord(), 0)
    beta.sync()
    moves.settle(beta.coord(), 0)


def settles_what_never_landed(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    alpha.granted("a")
    beta.sync()
    moves.settle(beta.coord(), 0)


def a_blocked_task(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    moves.block(alpha.coord(), 0)
    ask_for_task(beta, "E-1/2")


def a_block_that_is_lifted(alpha: Desk, beta: Desk, gamma: Desk) -> None:
    moves.block(alpha.coord(), 0)
    beta.sync()
    moves.unblock(beta.coord(), 0)


class Broken(NamedTuple):
    """A story, and what to break for it: an attribute, or an entry of one."""

    story: Story
    module: Any
    attribute: str
    value: object
    key: object = None


def only_claims(state: ledger.State, agent: Any, items: Any, *_: object) -> bool:
    return not obstacles.conflicts(state, agent, items)


def ends_them(state: ledger.State, op: Settle) -> ledger.Outcome:
    return rules.break_(state, op)  # type: ignore[arg-type]


def lifts_nothing(state: ledger.State, _op: Unblock) -> ledger.Outcome:
    return ledger.Refused(state, ledger.Refusal.NOT_BLOCKED)


def keeps_its_token(*args: Any) -> object:
    return MOVED(*args)._replace(token=args[2].token)


def serves_backwards(outcome: Any, dropped: Any, at: int, only: Any) -> object:
    waiting = dict(reversed(outcome.state.waiting.items()))
    return SERVE(outcome._replace(state=replace(outcome.state, waiting=waiting)), dropped, at, only)


MOVED, SERVE = granting._moved, granting.serve
BROKEN: dict[str, Broken] = {
    "a waiter keeps nobody off": Broken(a_newcomer, obstacles, "PROTECTED_SECONDS", -1),
    "a waiter keeps off for ever": Broken(a_newcomer_after_ten_minutes, obstacles, "PROTECTED_SECONDS", 1 << 40),
    "a waiter keeps off who holds what it waits for": Broken(
        a_holder_asks_for_more, obstacles, "_waits_for", lambda *_: False
    ),
    "nobody is served": Broken(two_wait, granting, "serve", lambda outcome, *_: outcome),
    "who came last is served first": Broken(two_wait_for_long, granting, "serve", serves_backwards),
    "who waits passes who waited before": Broken(two_wait_and_one_is_stuck, granting, "is_clear", only_claims),
    "who is served has a whole lease": Broken(two_wait, state, "UNATTENDED_SECONDS", 7200),
    "who waits waits for ever": Broken(one_waits_too_long, ledger, "overdue", lambda *_: ()),
    "two wait for each other": Broken(each_waits_for_the_other, granting, "cycle", lambda *_: ()),
    "a takeover at once": Broken(takes_at_once, granting, "_barred", lambda *_: None),
    "a takeover without having watched": Broken(takes_when_over_unwatched, granting, "_barred", lambda *_: None),
    "no takeover ever": Broken(takes_by_the_rules, granting, "_barred", lambda *_: ledger.Refusal.UNWATCHED),
    "a hand-over keeps the token": Broken(hands_over, granting, "_moved", keeps_its_token),
    "a hand-over makes two writers": Broken(hands_over_what_meets_the_rest, granting, "conflicts", lambda *_: ()),
    "what landed ends at once": Broken(lands_and_settles, rules, "_until", lambda *_: None),
    "what settles stays": Broken(lands_and_settles, ledger, "_RULES", does_nothing, Settle),
    "anything settles": Broken(settles_what_never_landed, ledger, "_RULES", ends_them, Settle),
    "a blocked task is claimed": Broken(a_blocked_task, granting, "blocking", lambda *_: ()),
    "a block stays": Broken(a_block_that_is_lifted, ledger, "_RULES", lifts_nothing, Unblock),
}


@pytest.fixture
def desks(tmp_path: Path) -> Desks:
    alpha, beta, gamma = Scene(tmp_path).joined("alpha", "beta", "gamma")
    return alpha, beta, gamma


def audit(desks: Desks) -> None:
    for desk in desks:
        desk.sync()
        tip = desk.tip()
        assert tip is not None
        Auditor(space("none")).audit(desk.store, tip)


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_broken_in_the_ledger_is_noticed(name: str, desks: Desks, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = BROKEN[name]
    if broken.key is None:
        monkeypatch.setattr(broken.module, broken.attribute, broken.value)
    else:
        monkeypatch.setitem(getattr(broken.module, broken.attribute), broken.key, broken.value)
    broken.story(*desks)
    with pytest.raises(AssertionError):
        audit(desks)


@pytest.mark.parametrize("story", {broken.story: None for broken in BROKEN.values()})
def test_the_same_without_a_broken_rule_is_accepted(story: Story, desks: Desks) -> None:
    story(*desks)
    audit(desks)
