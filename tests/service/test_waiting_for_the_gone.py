"""Waiting for a holder who is gone: the wait ends once a takeover would be granted, and keeps nobody from that."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, again, step
from tests.service.test_takeover import SKEW, TTL, look, silent, take
from tests.service.test_waiting import Waiting, queue, waiters

from git_coord.service import membership
from git_coord.service.claims import ClaimGranted
from git_coord.service.presence import Wish, set_presence
from git_coord.service.waiting import WaitEnded


@pytest.fixture
def left(team: list[Desk]) -> list[Desk]:
    """Return the team, alpha holding a.txt for ten minutes and never seen again."""
    alpha, beta, gamma = team
    alpha.granted("a.txt", ttl=TTL)
    silent(alpha)
    for desk in (beta, gamma):
        look(desk, "a.txt")
    return team


def test_a_wait_for_a_holder_who_is_gone_ends_when_a_takeover_is_open(left: list[Desk]) -> None:
    _, beta, gamma = left
    begun = beta.clock.now()
    result = Waiting(beta, "a.txt", "b.txt", seconds=3600).run()
    assert isinstance(result, WaitEnded)
    assert (result.is_gone, result.is_timeout) == (True, False)
    assert [(c.asked.name, c.claim.holder) for c in result.conflicts] == [("a.txt", "alpha")]
    assert TTL + SKEW < beta.clock.now() - begun < 3 * TTL
    step(gamma)
    assert waiters(gamma) == []
    assert take(beta, "a.txt", "b.txt").claim.holder == "beta"


def test_who_is_behind_another_waiter_waits_on(left: list[Desk]) -> None:
    _, beta, gamma = left
    beta.clock.sleep(TTL + SKEW + 1)
    queue(beta, "a.txt", seconds=3600)  # as one that is killed: it keeps who is new off for ten minutes
    result = Waiting(gamma, "a.txt", seconds=300).run()
    assert isinstance(result, WaitEnded)
    assert (result.is_gone, result.is_timeout) == (False, True)


def test_a_holder_who_comes_back_is_waited_for(left: list[Desk]) -> None:
    alpha, beta, _ = left
    waiting = Waiting(beta, "a.txt", seconds=3600)

    def come_back() -> None:
        again(alpha).release("a.txt")

    waiting._meanwhile = [*[lambda: None] * 3, come_back]
    assert isinstance(waiting.run(), ClaimGranted)


def test_a_holder_whose_heartbeats_go_on_is_waited_for(left: list[Desk]) -> None:
    alpha, beta, _ = left
    waiting = Waiting(beta, "a.txt", seconds=3600)

    def show_life() -> None:
        waiting._meanwhile.append(show_life)
        set_presence(again(alpha).coord(), Wish("busy", ttl=TTL))
        alpha.sync()

    waiting._meanwhile = [show_life]
    result = waiting.run()
    assert isinstance(result, WaitEnded)
    assert (result.is_gone, result.is_timeout) == (False, True)


def test_where_nothing_may_be_taken_over_the_wait_goes_on(left: list[Desk]) -> None:
    alpha, beta, _ = left
    membership.set_policy(alpha.coord(), membership.PolicyChange(takeover="never"))
    step(beta)
    result = Waiting(beta, "a.txt", seconds=2 * TTL).run()
    assert isinstance(result, WaitEnded)
    assert (result.is_gone, result.is_timeout) == (False, True)
