"""Clones that race through one bare repository: the remote's swap decides, and who loses is helped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.helpers import Repo
from tests.race.crew import at_once, count_hook, holdings, init, wrong

Clones = Callable[..., tuple[Repo, ...]]


def test_of_two_clones_that_claim_one_path_exactly_one_wins(hub_and_clones: Clones) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    for turn in range(3):
        ended = at_once([(clone, ["claim", f"{turn}.txt"]) for clone in (alpha, beta)])
        assert sorted(one.code for one in ended) == [0, 3]
        winner = "alpha" if ended[0].code == 0 else "beta"
        assert [one.answer["holder"] for one in ended if one.code == 3] == [winner]
        for clone in (alpha, beta):
            clone.coord_json("sync")
            assert holdings(clone)[f"{turn}.txt"] == winner
    assert (wrong(alpha), wrong(beta)) == ([], [])


def test_two_inits_at_once_end_with_one_ledger(hub_and_clones: Clones) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    ended = at_once([(clone, ["init"]) for clone in (alpha, beta)])
    assert [(one.code, one.answer.get("code")) for one in ended] == [(0, None), (0, None)]
    assert len(hub.git("rev-list", "--max-parents=0", "refs/coord/claims").splitlines()) == 1
    alpha.coord_json("sync")
    beta.coord_json("sync")
    for clone in (alpha, beta):
        assert [one["agent"] for one in clone.coord_json("status")["agents"]] == ["alpha", "beta"]
        assert wrong(clone) == []


def test_agents_of_one_clone_and_of_another_all_get_their_paths(hub_and_clones: Clones) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    agents = [alpha.with_env(GIT_COORD_AGENT=f"agent{n}") for n in range(3)]
    init(alpha, beta, *agents)
    crew = [alpha, beta, *agents]
    ended = at_once([(one, ["claim", f"f{n}"]) for n, one in enumerate(crew)])
    assert [one.code for one in ended] == [0] * 5, ended
    beta.coord_json("sync")
    names = ["alpha", "beta", "agent0", "agent1", "agent2"]
    assert holdings(beta) == {f"f{n}": name for n, name in enumerate(names)}
    assert (wrong(alpha), wrong(beta)) == ([], [])


@pytest.mark.slow
def test_sixteen_clones_at_once_are_all_granted_with_three_pushes_each_at_most(hub_and_clones: Clones) -> None:
    names = [f"agent{n}" for n in range(16)]
    hub, *clones = hub_and_clones(*names)
    init(*clones)
    log = count_hook(hub)
    ended = at_once([(clone, ["claim", f"{name}.txt"]) for clone, name in zip(clones, names, strict=True)])
    assert [(one.code, one.answer.get("message")) for one in ended] == [(0, None)] * 16
    assert len(log.read_text().splitlines()) <= 3 * 16
    clones[0].coord_json("sync")
    assert holdings(clones[0]) == {f"{name}.txt": name for name in names}
    assert wrong(clones[0]) == []


@pytest.mark.slow
def test_sixteen_clones_that_claim_one_path_agree_on_the_winner(hub_and_clones: Clones) -> None:
    names = [f"agent{n}" for n in range(16)]
    _, *clones = hub_and_clones(*names)
    init(*clones)
    ended = at_once([(clone, ["claim", "a.txt"]) for clone in clones])
    assert sorted(one.code for one in ended) == [0] + [3] * 15
    (winner,) = [one.answer["agent"] for one in ended if one.code == 0]
    assert {one.answer["holder"] for one in ended if one.code == 3} == {winner}
