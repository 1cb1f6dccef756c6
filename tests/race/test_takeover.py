"""`kill -9` at each step of a takeover, and two that take over at once: one holder, nothing stuck, nothing wrong."""

from __future__ import annotations

import pytest
from tests.cli.past import claim_long_ago, watched_long_ago
from tests.helpers import Repo
from tests.race.crew import at_once, holdings, init, wrong
from tests.race.test_killed import BEFORE_PUBLISH, FETCH, LOCAL, PUSHED, Clones, killed

LOOKED = ("before snapshot", "after snapshot")
"""Where a takeover also passes when it has only looked."""


def ready(alpha: Repo, *others: Repo) -> None:
    """Let alpha hold `a.txt` from long ago, and the others have watched for long enough."""
    claim_long_ago(alpha, "a.txt")
    for other in others:
        assert other.coord("takeover", "a.txt").code == 7
        watched_long_ago(other, 300)


@pytest.mark.slow
@pytest.mark.parametrize("step", [*FETCH, *PUSHED])
def test_a_takeover_killed_on_its_way_to_the_hub_is_made_once_or_not_at_all(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    ready(alpha, beta)
    killed(beta, step, "takeover", "a.txt")
    beta.coord_json("sync")
    before = (*FETCH, *BEFORE_PUBLISH, *LOOKED)
    assert holdings(beta) == {"a.txt": "alpha" if step in before else "beta"}
    assert beta.coord("takeover", "a.txt").code == (0 if step in before else 1)
    late = alpha.coord("renew", "a.txt")
    assert (late.code, "taken over by beta" in late.err) == (4, True), late
    assert holdings(alpha) == holdings(beta) == {"a.txt": "beta"}
    assert (wrong(alpha), wrong(beta)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("step", LOCAL)
def test_a_takeover_killed_in_one_repository_is_made_once_or_not_at_all(repo: Repo, step: str) -> None:
    repo.git("config", "coord.agent", "alpha")
    beta = repo.worktree("beta", agent="beta")  # one checkout for both would be a person's to judge
    init(repo, beta)
    claim_long_ago(repo, "a.txt")
    assert beta.coord("takeover", "a.txt").code == 7
    watched_long_ago(repo, 300)
    killed(beta, step, "takeover", "a.txt")
    before = (*BEFORE_PUBLISH, *LOOKED)
    assert holdings(beta) == {"a.txt": "alpha" if step in before else "beta"}
    assert beta.coord("takeover", "a.txt").code == (0 if step in before else 1)
    late = repo.coord("renew", "a.txt")
    assert (late.code, "taken over by beta" in late.err) == (4, True), late
    assert holdings(repo) == holdings(beta) == {"a.txt": "beta"}
    assert (wrong(repo), wrong(beta)) == ([], [])


@pytest.mark.slow
def test_of_three_that_take_over_at_once_one_has_it(hub_and_clones: Clones) -> None:
    _, alpha, *others = hub_and_clones("alpha", "beta", "gamma", "delta")
    init(alpha, *others)
    for other in others:
        other.coord_json("sync")
    claim_long_ago(alpha, "a.txt")  # each is a witness of the other two
    ended = at_once([(other, ["takeover", "a.txt"]) for other in others])
    assert sorted(each.code for each in ended) == [0, 3, 3], ended
    winner = next(each.answer["agent"] for each in ended if each.code == 0)
    assert {each.answer["holder"] for each in ended if each.code == 3} == {winner}
    for repo in (alpha, *others):
        repo.coord_json("sync")
        assert holdings(repo) == {"a.txt": winner}
