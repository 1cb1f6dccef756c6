"""Waiting in the queue: served in order, dropped in time, never half done; with clocks that move only when told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.service.scene import START, Desk, Scene, again, step, trouble, wanted

from git_coord.domain.ids import Session
from git_coord.domain.lease import is_stale, lease_end
from git_coord.domain.ledger import Conflict
from git_coord.errors import CoordError, Kind
from git_coord.service import claims
from git_coord.service.beat import local_beats, note_beat
from git_coord.service.claims import ClaimGranted, ClaimRefused
from git_coord.service.context import Coord
from git_coord.service.selection import by_token
from git_coord.service.waiting import Patience, WaitEnded, claim_waiting

Step = Callable[[], object]


class Waiting:
    """One `claim --wait`; while it looks, each of `meanwhile` happens in turn, one a look."""

    def __init__(self, desk: Desk, *names: str, seconds: int = 600, meanwhile: tuple[Step, ...] = ()) -> None:
        self.desk = desk
        self.told: list[tuple[list[str], int]] = []
        self.is_over = False
        self._names = names
        self._seconds = seconds
        self._meanwhile = list(meanwhile)
        self.coord = desk.coord()

    def run(self, **options: Any) -> ClaimGranted | ClaimRefused | WaitEnded:
        """Claim and wait."""
        plan = Patience(
            seconds=self._seconds,
            interval=10.0,
            moved=lambda: self.desk.store.refs("refs/coord/"),
            look_again=self._forget,
            refresh=lambda: None,
            is_over=lambda: self.is_over,
            tell=self._tell,
        )
        return claim_waiting(self.coord, wanted(*self._names, **options), plan)

    def granted(self) -> ClaimGranted:
        """Claim and wait; it must be granted."""
        result = self.run()
        assert isinstance(result, ClaimGranted), result
        return result

    def _forget(self) -> None:
        self.coord.store.forget()  # type: ignore[attr-defined]
        if self._meanwhile:
            self._meanwhile.pop(0)()

    def _tell(self, conflicts: tuple[Conflict, ...], place: int) -> None:
        self.told.append(([f"{c.claim.holder} {c.held.name}" for c in conflicts], place))


def queue(desk: Desk, *names: str, seconds: int = 600, **options: Any) -> Coord:
    """Let a desk queue and be killed: its waiter stays; return what it worked with."""
    waiting = Waiting(desk, *names, seconds=seconds)

    def die(*_: object) -> None:
        raise SystemExit

    waiting._tell = die  # type: ignore[method-assign]
    with pytest.raises(SystemExit):
        waiting.run(**options)
    return waiting.coord


def waiters(desk: Desk) -> list[str]:
    """Return who is in the queue of this clone's verified ledger."""
    return [str(waiter.agent) for waiter in desk.state().waiting.values()]


def test_a_wait_ends_with_the_release_and_says_whom_it_waited_for(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("src")
    waiting = Waiting(beta, "src/a.py", "b.py", meanwhile=(lambda: None, lambda: again(alpha).release("src")))
    claim = waiting.granted().claim
    assert (claim.token, claim.holder, claim.unattended) == (2, "beta", False)
    assert waiting.told == [(["alpha src"], 1)]
    step(beta, alpha)
    assert alpha.holdings() == {"src/a.py": "beta", "b.py": "beta"}
    assert waiters(alpha) == []


def test_what_is_free_is_granted_at_once_and_says_nothing(team: list[Desk]) -> None:
    waiting = Waiting(team[0], "a.py")
    assert waiting.granted().claim.token == 1
    assert waiting.told == []
    assert team[0].clock.now() == START


def test_a_release_names_whom_it_let_out_of_the_queue(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    queue(beta, "a.py")
    step(gamma)
    queue(gamma, "a.py")
    step(alpha)
    served = alpha.release("a.py").served
    assert [(each.claim.token, str(each.claim.holder)) for each in served] == [(2, "beta")]


def test_waiters_are_served_in_the_order_of_the_queue(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    queue(beta, "a.py")
    step(gamma)
    told = Waiting(
        gamma,
        "a.py",
        meanwhile=(
            lambda: again(alpha).release("a.py"),
            lambda: None,
            lambda: step(again(beta)),
            lambda: again(beta).release("a.py"),
        ),
    )
    assert told.granted().claim.token == 3
    assert told.told[0] == (["alpha a.py", "beta a.py"], 2)


def test_newcomers_are_kept_off_for_ten_minutes_and_no_longer(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    queue(beta, "a.py", "b.py", seconds=3600)
    at = next(iter(beta.state().waiting.values())).op.at
    step(gamma)
    assert gamma.refused("b.py") == [("b.py", "beta", "b.py")]
    gamma.clock.wall += at + 600 - gamma.clock.now()
    step(gamma)
    assert gamma.refused("b.py") == [("b.py", "beta", "b.py")]
    gamma.clock.wall += 1
    assert gamma.granted("b.py").claim.holder == "gamma"


def test_the_holder_is_never_kept_off(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.py")
    queue(beta, "a.py", "b.py")
    step(alpha)
    assert alpha.granted("b.py").claim.holder == "alpha"


def test_a_wait_in_vain_leaves_nothing_in_the_queue(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    waiting = Waiting(beta, "a.py", seconds=90)
    result = waiting.run()
    assert isinstance(result, WaitEnded)
    assert result.is_timeout
    assert [(c.asked.name, c.claim.holder) for c in result.conflicts] == [("a.py", "alpha")]
    assert 90 <= beta.clock.now() - START < 140
    step(gamma)
    assert waiters(gamma) == []
    alpha.release("a.py")
    step(gamma)
    assert gamma.holdings() == {}


def test_a_grant_that_is_seen_when_the_time_is_over_counts(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.py")
    waiting = Waiting(beta, "a.py", seconds=2)
    waiting._meanwhile = [lambda: again(alpha).release("a.py")]
    assert waiting.granted().claim.holder == "beta"


def test_a_grant_in_the_moment_of_giving_up_is_undone(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    waiting = Waiting(beta, "a.py")

    def give_up() -> None:
        waiting.is_over = True
        again(alpha).release("a.py")

    waiting._meanwhile = [give_up]
    result = waiting.run()
    assert isinstance(result, WaitEnded)
    assert not result.is_timeout
    step(beta, gamma)
    assert (gamma.holdings(), waiters(gamma)) == ({}, [])


def test_an_interrupt_takes_the_wait_back(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Waiting(beta, "a.py", meanwhile=(interrupt,)).run()
    step(beta, gamma)
    assert waiters(gamma) == []


def test_two_that_would_wait_for_each_other_are_refused_with_the_round(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    beta.granted("b.py")
    queue(beta, "a.py")
    step(alpha)
    with pytest.raises(CoordError) as caught:
        Waiting(alpha, "b.py").run()
    assert trouble(caught.value) == (
        "conflict",
        "refused, nobody would ever get on: alpha waits for beta (b.py), beta waits for alpha (a.py)",
    )
    assert caught.value.data == {
        "code": "deadlock",
        "cycle": [
            {"agent": "alpha", "waits_for": "beta", "path": "b.py"},
            {"agent": "beta", "waits_for": "alpha", "path": "a.py"},
        ],
    }
    assert caught.value.next == "git coord release '#1'"
    step(alpha, gamma)
    assert waiters(gamma) == ["beta"]


def test_a_waiter_that_was_killed_is_dropped_when_its_time_is_over(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    queue(beta, "a.py", seconds=60)
    step(alpha, gamma)
    gamma.clock.wall += 61
    alpha.release("a.py")
    assert gamma.granted("a.py").claim.holder == "gamma"
    assert waiters(gamma) == []


def test_a_waiter_behind_one_that_was_killed_goes_on_by_itself(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    queue(beta, "a.py", "b.py", seconds=60)
    step(gamma)
    waiting = Waiting(gamma, "b.py")
    assert waiting.granted().claim.token == 2
    assert waiting.told == [(["beta b.py"], 2)]
    assert 60 < gamma.clock.now() - START < 90


def test_what_a_killed_waiter_is_granted_is_stale_after_two_minutes(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.py")
    queue(beta, "a.py")
    step(alpha)
    alpha.release("a.py")
    step(gamma)
    (claim,) = gamma.state().claims.values()
    assert (claim.holder, claim.unattended) == ("beta", True)
    assert lease_end(claim, None) == claim.at + 120
    assert not is_stale(claim, claim.at, claim.at + 180, 60)
    assert is_stale(claim, claim.at, claim.at + 181, 60)
    assert lease_end(claim, claim.at + 1) == claim.at + 1 + claim.ttl


def test_any_command_of_the_holder_is_the_sign_of_life(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a.py")
    queue(beta, "a.py")
    alpha.release("a.py")
    local.clock.sleep(60)
    note_beat(beta.coord())
    state = alpha.state()
    (claim,) = state.claims.values()
    beat = local_beats(alpha.coord(), state)[beta.agent]
    assert not is_stale(claim, beat, local.clock.now() + claim.ttl, 0)


def test_a_broken_grant_is_lost_and_not_reported(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.py")

    def grant_and_break() -> None:
        again(alpha).release("a.py")
        coord = again(alpha).coord()
        claims.break_claims(coord, by_token(coord.known.state, [2], None), "no")

    with pytest.raises(CoordError) as caught:
        Waiting(beta, "a.py", meanwhile=(grant_and_break,)).run()
    assert caught.value.kind is Kind.LOST


def test_without_an_answer_from_the_remote_nothing_waits(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.py")
    assert beta.remote is not None
    beta.remote.offline = True
    with pytest.raises(CoordError) as caught:
        Waiting(beta, "a.py").run()
    assert caught.value.kind is Kind.UNKNOWN
    beta.remote.offline = False
    step(beta, alpha)
    assert waiters(alpha) == []
    alpha.release("a.py")
    step(beta)
    assert beta.holdings() == {}


def test_a_remote_that_falls_silent_meanwhile_is_said_once_and_waited_for(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.py")
    remote = beta.remote
    assert remote is not None
    steps = [lambda: setattr(remote, "offline", True)] + [lambda: None] * 40
    waiting = Waiting(beta, "a.py", meanwhile=(*steps, lambda: setattr(remote, "offline", False)))
    waiting._meanwhile.append(lambda: again(alpha).release("a.py"))
    assert waiting.granted().claim.holder == "beta"
    assert len([line for line in beta.heard if "still waiting" in line]) == 1


def test_a_remote_that_stays_silent_to_the_end_is_unknown_and_cancelled(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.py")
    remote = beta.remote
    assert remote is not None
    with pytest.raises(CoordError) as caught:
        Waiting(beta, "a.py", seconds=60, meanwhile=(lambda: setattr(remote, "offline", True),)).run()
    assert caught.value.kind is Kind.UNKNOWN
    assert "may still be granted until that is synced" in caught.value.message
    remote.offline = False
    step(beta, alpha)
    assert waiters(alpha) == []


def test_a_wait_of_more_than_an_hour_and_one_offline_are_usage_errors(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    with pytest.raises(CoordError) as caught:
        Waiting(alpha, "a.py", seconds=3601).run()
    assert trouble(caught.value) == ("usage", "--wait is 3601 s, and at most 1h")
    offline = again(alpha, settings=alpha.settings._replace(offline="allow"))
    with pytest.raises(CoordError) as caught:
        Waiting(offline, "a.py").run()
    assert caught.value.kind is Kind.USAGE
    assert scene.hub_tip() == alpha.tip()


def test_another_session_neither_waits_nor_is_served(team: list[Desk]) -> None:
    alpha = team[0]
    with pytest.raises(CoordError) as caught:
        Waiting(again(alpha, session=Session("second")), "a.py").run()
    assert caught.value.kind is Kind.LOST


def test_whoever_waits_shows_signs_of_life(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("own.py", ttl=600)
    alpha.granted("a.py")
    before = scene.clock.now()
    result = Waiting(beta, "a.py", seconds=1200).run()
    assert isinstance(result, WaitEnded)
    state = alpha.state()
    alpha.coord()
    (own,) = [claim for claim in state.claims.values() if claim.holder == "beta"]
    beat = local_beats(beta.coord(), beta.state())[beta.agent]
    assert beat > before + 900
    assert not is_stale(own, beat, scene.clock.now(), 0)
