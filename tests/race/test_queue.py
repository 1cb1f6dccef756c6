"""Many that wait at once, and waiters killed at each step: served in order, dropped in time, nothing stuck."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.helpers import Repo
from tests.helpers.waiter import Waiters
from tests.race.crew import holdings, init, wrong
from tests.race.test_killed import BEFORE_PUBLISH, PUSHED, killed

from git_coord.service.failpoints import VARIABLE

Clones = Callable[..., tuple[Repo, ...]]
NAMES = ("alpha", "beta", "gamma", "delta")


def served(repo: Repo) -> list[str]:
    """Return who was granted a claim out of the queue, in order."""
    lines = repo.git("log", "--reverse", "--format=%B", "refs/coord/claims")
    return re.findall(r"; #\d+ (\S+) is granted", lines)


def one_after_the_other(holder: Repo, others: list[Repo], start: Waiters) -> None:
    """Let the others queue behind the holder, then each give back what it was granted; all are served in order."""
    holder.coord_json("claim", "a.txt")
    waiters = [start(repo, "a.txt", "--wait", "--json") for repo in others]
    for repo, waiter in zip((holder, *others), (*waiters, None), strict=True):
        repo.coord_json("release", "a.txt")
        if waiter is not None:
            code, answer = waiter.answer()
            assert (code, [item["path"] for item in answer["items"]]) == (0, ["a.txt"])
    assert served(others[-1]) == [repo.env["GIT_COORD_AGENT"] for repo in others]
    assert holdings(others[-1]) == {}


@pytest.mark.slow
def test_waiters_of_one_repository_are_served_in_order(repo: Repo, start: Waiters) -> None:
    agents = [repo.with_env(GIT_COORD_AGENT=name) for name in NAMES]
    init(*agents)
    one_after_the_other(agents[0], agents[1:], start)
    assert wrong(agents[0]) == []


@pytest.mark.slow
def test_waiters_in_clones_are_served_in_order(hub_and_clones: Clones, start: Waiters) -> None:
    _, *clones = hub_and_clones(*NAMES)
    agents = [clone.with_env(GIT_COORD_AGENT=name) for clone, name in zip(clones, NAMES, strict=True)]
    init(*agents)
    one_after_the_other(agents[0], agents[1:], start)
    assert [wrong(agent) for agent in agents] == [[]] * len(agents)


def check_killed(alpha: Repo, beta: Repo, gamma: Repo, *, queued: bool) -> None:
    """See that a waiter killed after it was published is served and attends with any command; else it never was."""
    alpha.coord_json("release", "a.txt")
    assert holdings(gamma) == ({"a.txt": "beta"} if queued else {})
    assert gamma.coord("claim", "a.txt").code == (3 if queued else 0)
    assert beta.coord("claim", "b.txt").code == 0
    if queued:
        assert beta.coord_json("renew", "a.txt")["claims"][0]["unattended"] is False
        assert beta.coord_json("release", "a.txt")["granted"] == []
    assert wrong(gamma) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [*BEFORE_PUBLISH, "after publish"])
def test_a_waiter_killed_in_one_repository_waits_or_does_not(repo: Repo, step: str) -> None:
    alpha, beta, gamma = (repo.with_env(GIT_COORD_AGENT=name) for name in NAMES[:3])
    init(alpha, beta, gamma)
    alpha.coord_json("claim", "a.txt")
    killed(beta, step, "claim", "a.txt", "--wait")
    check_killed(alpha, beta, gamma, queued=step not in BEFORE_PUBLISH)


@pytest.mark.slow
@pytest.mark.parametrize("step", [step for step in PUSHED if "snapshot" not in step and "beat" not in step])
def test_a_waiter_killed_on_its_way_to_the_hub_waits_or_does_not(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    beta.coord_json("sync")
    killed(beta, step, "claim", "a.txt", "--wait")
    beta.coord_json("sync")  # what was published and not pushed goes on its way
    alpha.coord_json("sync")
    gamma = alpha.with_env(GIT_COORD_AGENT="gamma")
    init(gamma)
    check_killed(alpha, beta, gamma, queued=step not in BEFORE_PUBLISH)


@pytest.mark.parametrize("step", ["before snapshot", "after snapshot"])
def test_a_waiter_killed_as_it_sees_its_grant_has_it_for_two_minutes(repo: Repo, start: Waiters, step: str) -> None:
    alpha, beta, gamma = (repo.with_env(GIT_COORD_AGENT=name) for name in NAMES[:3])
    init(alpha, beta, gamma)
    for _ in range(20):
        alpha.coord_json("claim", "a.txt")
        waiter = start(beta.with_env(**{VARIABLE: step}), "a.txt", "--wait")
        alpha.coord_json("release", "a.txt")
        assert waiter.ends()[0] == -9
        (claim,) = gamma.coord_json("status")["claims"]
        assert claim["agent"] == "beta"
        if claim["unattended"]:
            break
        # Its first look found the grant already: then it is killed at the same step of what it says to that.
        beta.coord_json("release", "a.txt")
    assert claim["unattended"] is True
    assert "came to you" in beta.coord("status").err
    assert beta.coord_json("status")["claims"][0]["holder_stale"] is False
    assert beta.coord("release", "a.txt").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("step", [*BEFORE_PUBLISH, "after publish"])
def test_a_hand_over_killed_on_its_way_is_made_once_or_not_at_all(repo: Repo, step: str) -> None:
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in NAMES[:2])
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    killed(alpha, step, "release", "a.txt", "--to", "beta")
    assert holdings(beta) == {"a.txt": "alpha" if step in BEFORE_PUBLISH else "beta"}
    assert alpha.coord("release", "a.txt", "--to", "beta").code == (0 if step in BEFORE_PUBLISH else 4)
    assert holdings(beta) == {"a.txt": "beta"}
    assert wrong(alpha) == []
