"""Many processes in one repository without a remote: the swap of refs decides, and nobody is lost."""

from __future__ import annotations

import json

import pytest
from tests.helpers import Repo
from tests.race.crew import at_once, holdings, init, wrong


@pytest.fixture
def crew(repo: Repo) -> list[Repo]:
    """Return eight agents at work in one repository."""
    agents = [repo.with_env(GIT_COORD_AGENT=f"agent{number}") for number in range(8)]
    init(*agents)
    return agents


def operations(repo: Repo) -> list[tuple[str, int, str]]:
    """Return `(agent, seq, kind)` of every operation placed, in order."""
    found = []
    for commit in repo.git("rev-list", "--first-parent", "--reverse", "refs/coord/claims").splitlines():
        for name in repo.git("ls-tree", "--name-only", f"{commit}:op").splitlines():
            op = json.loads(repo.git("show", f"{commit}:op/{name}").splitlines()[0])
            found.append((op["agent"], op["seq"], op["kind"]))
    return found


@pytest.mark.slow
def test_of_eight_processes_that_claim_one_path_exactly_one_wins(crew: list[Repo]) -> None:
    for turn in range(3):
        ended = at_once([(agent, ["claim", f"{turn}.txt"]) for agent in crew])
        assert sorted(one.code for one in ended) == [0, 3, 3, 3, 3, 3, 3, 3]
        (winner,) = [one.answer["agent"] for one in ended if one.code == 0]
        assert {one.answer["holder"] for one in ended if one.code == 3} == {winner}
        assert holdings(crew[0])[f"{turn}.txt"] == winner
    assert wrong(crew[0]) == []


@pytest.mark.slow
def test_eight_processes_that_claim_different_paths_all_get_them(crew: list[Repo]) -> None:
    for turn in range(2):
        ended = at_once([(agent, ["claim", f"{turn}-{n}"]) for n, agent in enumerate(crew)])
        assert [one.code for one in ended] == [0] * 8, ended
        assert len({one.answer["token"] for one in ended}) == 8
    expected = {f"{turn}-{n}": f"agent{n}" for turn in range(2) for n in range(8)}
    assert holdings(crew[0]) == expected
    assert wrong(crew[0]) == []


def test_eight_processes_of_one_agent_lose_nothing_and_number_their_operations(crew: list[Repo]) -> None:
    ended = at_once([(crew[0], ["claim", f"f{n}"]) for n in range(8)])
    assert [one.code for one in ended] == [0] * 8, ended
    assert holdings(crew[0]) == {f"f{n}": "agent0" for n in range(8)}
    seqs = [seq for agent, seq, _ in operations(crew[0]) if agent == "agent0" and seq > 1]
    assert seqs == sorted(set(seqs))
    assert len(seqs) == 8
    assert wrong(crew[0]) == []


@pytest.mark.slow
def test_claims_and_releases_at_once_leave_a_ledger_that_verifies(crew: list[Repo]) -> None:
    for agent in crew[:4]:
        agent.coord_json("claim", f"old-{agent.env['GIT_COORD_AGENT']}")
    releases = [(agent, ["release", "--all"]) for agent in crew[:4]]
    claims = [(agent, ["claim", f"new-{agent.env['GIT_COORD_AGENT']}"]) for agent in crew[4:]]
    assert [one.code for one in at_once([*releases, *claims])] == [0] * 8
    assert holdings(crew[0]) == {f"new-agent{n}": f"agent{n}" for n in range(4, 8)}
    assert wrong(crew[0]) == []


@pytest.mark.slow
def test_eight_inits_at_once_end_with_one_ledger_and_eight_members(repo: Repo) -> None:
    agents = [repo.with_env(GIT_COORD_AGENT=f"agent{number}") for number in range(8)]
    ended = at_once([(agent, ["init"]) for agent in agents])
    assert [(one.code, one.err if one.code else "") for one in ended] == [(0, "")] * 8
    assert len(repo.git("rev-list", "--max-parents=0", "refs/coord/claims").splitlines()) == 1
    assert len(agents[0].coord_json("status")["agents"]) == 8
    assert wrong(agents[0]) == []
