"""`kill -9` at each step of a command: held once or not at all, nothing stuck, nothing wrong afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.helpers import Repo
from tests.race.crew import holdings, init, wrong

from git_coord.service.failpoints import NAMES, VARIABLE

Clones = Callable[..., tuple[Repo, ...]]
KILLED = -9
LOCAL = ("before publish", "after publish", "after snapshot")
"""What a claim passes in a repository without a remote, where publishing and placing are one swap."""


def killed(repo: Repo, step: str, *args: str) -> None:
    """Run a command that is killed at the step."""
    # Not through `git coord`: git would turn the signal of its child into a status of its own.
    done = repo.with_env(**{VARIABLE: step}).run("git-coord", *args)
    assert done.code == KILLED, (step, done)


@pytest.mark.parametrize("step", LOCAL)
def test_a_claim_killed_in_one_repository_is_held_once_or_not_at_all(repo: Repo, step: str) -> None:
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    init(alpha, beta)
    killed(alpha, step, "claim", "a.txt")
    assert alpha.coord("sync").code == 0
    held = {"a.txt": "alpha"} if step != "before publish" else {}
    assert holdings(beta) == held
    assert beta.coord("claim", "a.txt").code == (3 if held else 0)
    assert alpha.coord("claim", "b.txt").code == 0
    assert beta.coord("claim", "c.txt").code == 0
    assert wrong(repo.with_env(GIT_COORD_AGENT="alpha")) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", NAMES)
def test_a_claim_killed_on_its_way_to_the_hub_is_held_once_or_not_at_all(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    killed(alpha, step, "claim", "a.txt")
    # Another agent first, who may or may not see it; then the one that was killed.
    assert beta.coord("claim", "other.txt").code == 0
    assert alpha.coord("claim", "b.txt").code == 0
    held = holdings(alpha)
    assert held.pop("a.txt", None) == (None if step == "before publish" else "alpha")
    assert held == {"b.txt": "alpha", "other.txt": "beta"}
    beta.coord_json("sync")
    assert beta.coord("claim", "a.txt").code == (0 if step == "before publish" else 3)
    assert (wrong(alpha), wrong(beta)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("step", [name for name in NAMES if name != "before publish"])
def test_a_release_killed_on_its_way_is_carried_out(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    killed(alpha, step, "release", "a.txt")
    alpha.coord_json("sync")
    assert holdings(alpha) == {}
    assert beta.coord("claim", "a.txt").code == 0
    assert (wrong(alpha), wrong(beta)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("step", ["before publish", "after publish", "before push", "after push", "after local move"])
def test_an_init_killed_anywhere_is_finished_by_the_next(hub_and_clones: Clones, step: str) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    killed(alpha, step, "init")
    assert beta.coord("init").code == 0
    assert alpha.coord("init").code == 0
    assert len(hub.git("rev-list", "--max-parents=0", "refs/coord/claims").splitlines()) == 1
    assert alpha.coord("claim", "a.txt").code == 0
    assert beta.coord("claim", "b.txt").code == 0
    assert (wrong(alpha), wrong(beta)) == ([], [])


def test_a_sync_killed_after_its_push_is_finished_by_the_next(hub_and_clones: Clones) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.git("config", "remote.origin.url", str(alpha.path.parent / "nowhere.git"))
    assert alpha.coord_json("claim", "a.txt", "--offline")["confirmed"] is False
    alpha.git("config", "remote.origin.url", str(alpha.path.parent / "hub.git"))
    killed(alpha, "after push", "sync")
    answer = alpha.coord_json("sync")
    assert holdings(alpha) == {"a.txt": "alpha"}
    assert (answer["code"], answer["lost"]) == ("ok", [])
    assert beta.coord("claim", "a.txt").code == 3
