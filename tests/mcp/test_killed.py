"""`kill -9` of the server in a claim that waits: queued once or not at all, and nobody behind it is stuck."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from git_coord.service.failpoints import VARIABLE
from tests.helpers import PATIENCE, Repo
from tests.helpers.waiter import Waiters
from tests.mcp.desk import Server, greeting, message
from tests.race.crew import holdings, init, wrong
from tests.race.test_killed import KILLED
from tests.race.test_queue import check_killed

Clones = Callable[..., tuple[Repo, ...]]
NAMES = ("alpha", "beta", "gamma")


@pytest.fixture
def crew(repo: Repo) -> tuple[Repo, ...]:
    """Return one repository as each of three members; alpha holds `a.txt`."""
    found = tuple(repo.with_env(GIT_COORD_AGENT=name) for name in NAMES)
    init(*found)
    found[0].coord_json("claim", "a.txt")
    return found


def _waits(repo: Repo, step: str | None = None) -> Server:
    """Let a server claim `a.txt` and wait for it, to be killed at a step if one is named."""
    server = Server(repo.with_env(**({VARIABLE: step} if step else {})))
    call = {"name": "claim_files", "arguments": {"files": ["a.txt"], "wait": "10m"}}
    server.say(greeting() + message("tools/call", call, 2))
    return server


def _ended(server: Server) -> int:
    server.process.communicate(timeout=PATIENCE)
    return server.process.returncode


def _until_waiting(repo: Repo) -> None:
    while not repo.coord_json("status", "--local")["waiting"]:
        pass


@pytest.mark.parametrize("step", ["before publish", "after publish"])
def test_a_server_killed_as_it_queues_waits_or_does_not(crew: tuple[Repo, ...], step: str) -> None:
    alpha, beta, gamma = crew
    assert _ended(_waits(beta, step)) == KILLED
    check_killed(alpha, beta, gamma, queued=step == "after publish")


@pytest.mark.slow
@pytest.mark.parametrize("step", ["before push", "push answered"])
def test_a_server_killed_on_its_way_to_the_hub_waits_once(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    beta.coord_json("sync")
    assert _ended(_waits(beta, step)) == KILLED
    beta.coord_json("sync")
    alpha.coord_json("sync")
    gamma = alpha.with_env(GIT_COORD_AGENT="gamma")
    init(gamma)
    check_killed(alpha, beta, gamma, queued=True)


def test_a_server_killed_while_it_waits_takes_its_turn_and_stops_nobody(crew: tuple[Repo, ...], start: Waiters) -> None:
    alpha, beta, gamma = crew
    server = _waits(beta)
    _until_waiting(beta)
    behind = start(gamma, "a.txt", "--wait", "--json")
    server.process.kill()
    assert _ended(server) == KILLED
    assert wrong(alpha) == []
    assert alpha.coord("claim", "b.txt").code == 0
    alpha.coord_json("release", "a.txt")
    (claim,) = [each for each in alpha.coord_json("status")["claims"] if each["agent"] == "beta"]
    assert claim["unattended"] is True
    # The next server of the same agent has it, and gives it back to who waited behind.
    again = Server(beta)
    assert again.ask("check_files", files=["a.txt"])["resources"][0]["status"] == "mine"
    assert again.ask("release_files", files=["a.txt"])["granted"][0]["agent"] == "gamma"
    assert behind.answer()[0] == 0
    assert again.end()[0] == 0
    assert holdings(alpha) == {"a.txt": "gamma", "b.txt": "alpha"}


def test_an_agent_whose_server_was_killed_may_wait_anew_and_has_it_once(crew: tuple[Repo, ...]) -> None:
    alpha, beta, gamma = crew
    server = _waits(beta)
    _until_waiting(beta)
    server.process.kill()
    assert _ended(server) == KILLED
    again = Server(beta)
    found = again.ask("claim_files", files=["a.txt"], wait="1s")
    assert (found["ok"], found["code"], found["holder"]) == (False, "timeout", "alpha")
    assert again.end()[0] == 0
    alpha.coord_json("release", "a.txt")
    assert holdings(gamma) == {"a.txt": "beta"}
    assert beta.coord("release", "a.txt").code == 0
    assert gamma.coord("claim", "a.txt").code == 0


def test_a_server_killed_as_it_sees_its_grant_has_it(crew: tuple[Repo, ...]) -> None:
    alpha, beta, gamma = crew
    server = _waits(beta, "before snapshot")
    _until_waiting(gamma)
    alpha.coord_json("release", "a.txt")
    assert _ended(server) == KILLED
    assert holdings(gamma) == {"a.txt": "beta"}
    assert beta.coord("release", "a.txt").code == 0
    assert wrong(gamma) == []
