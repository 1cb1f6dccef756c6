"""`kill -9` at each step of a command: held once or not at all, nothing stuck, nothing wrong afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from tests.helpers import Repo
from tests.race.crew import holdings, init, wrong

from git_coord.service.failpoints import NAMES, VARIABLE

fromisoformat = datetime.fromisoformat
Clones = Callable[..., tuple[Repo, ...]]
KILLED = -9
BEFORE_PUBLISH = ("before write", "after write", "before publish")
LOCAL = (*BEFORE_PUBLISH, "after publish", "before snapshot", "after snapshot")
"""What a command passes in a repository without a remote, where publishing and placing are one swap."""
FETCH = ("before lock", "after lock")
"""What only a command passes that fetches."""
BEAT = ("before beat", "after beat")
"""What only the process passes that pushes a beat beside the commands; killed in `tests/cli/test_beats.py`."""
PUSHED = [name for name in NAMES if name not in (*FETCH, *BEAT)]
"""What a command passes that publishes and pushes."""


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
    held = {"a.txt": "alpha"} if step not in BEFORE_PUBLISH else {}
    assert holdings(beta) == held
    assert beta.coord("claim", "a.txt").code == (3 if held else 0)
    assert alpha.coord("claim", "b.txt").code == 0
    assert beta.coord("claim", "c.txt").code == 0
    assert wrong(repo.with_env(GIT_COORD_AGENT="alpha")) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", LOCAL)
@pytest.mark.parametrize("verb", ["renew", "release", "break"])
def test_a_change_killed_in_one_repository_is_made_once_or_not_at_all(repo: Repo, verb: str, step: str) -> None:
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    init(alpha, beta)
    before = alpha.coord_json("claim", "a.txt", "--ttl", "1h")["lease_until"]
    what = {"renew": ("a.txt", "--ttl", "2h"), "release": ("a.txt",), "break": ("#1", "-m", "gone")}[verb]
    killed(alpha, step, verb, *what)
    claims = beta.coord_json("status")["claims"]
    if step in BEFORE_PUBLISH or verb == "renew":
        assert [(claim["agent"], claim["token"]) for claim in claims] == [("alpha", 1)]
        longer = fromisoformat(claims[0]["lease_until"]) - fromisoformat(before)
        # A heartbeat may have moved the end by seconds, never by an hour.
        assert (longer.total_seconds() > 3000) is (step not in BEFORE_PUBLISH)
        # Done again it does what it says, or finds it done.
        assert alpha.coord(verb, *what).code == 0
    else:
        assert claims == []
        assert beta.coord_json("claim", "a.txt")["token"] == 2
    assert wrong(alpha) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", LOCAL)
def test_blocking_and_landing_killed_in_one_repository_happen_once_or_not_at_all(repo: Repo, step: str) -> None:
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    killed(alpha, step, "block", "task:T", "-m", "x")
    happened = step not in BEFORE_PUBLISH
    assert alpha.coord("sync").code == 0
    assert beta.coord("check", "task:T").code == (8 if happened else 0)
    killed(alpha, step, "release", "--all", "--when-merged", "never")
    assert alpha.coord("sync").code == 0
    assert ["landed" in claim for claim in beta.coord_json("status")["claims"]] == [happened]
    assert beta.coord("claim", "a.txt").code == 3
    assert wrong(alpha) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", PUSHED)
def test_a_claim_killed_on_its_way_to_the_hub_is_held_once_or_not_at_all(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    killed(alpha, step, "claim", "a.txt")
    # Another agent first, who may or may not see it; then the one that was killed.
    assert beta.coord("claim", "other.txt").code == 0
    assert alpha.coord("claim", "b.txt").code == 0
    held = holdings(alpha)
    assert held.pop("a.txt", None) == (None if step in BEFORE_PUBLISH else "alpha")
    assert held == {"b.txt": "alpha", "other.txt": "beta"}
    beta.coord_json("sync")
    assert beta.coord("claim", "a.txt").code == (0 if step in BEFORE_PUBLISH else 3)
    assert (wrong(alpha), wrong(beta)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("step", [name for name in PUSHED if name not in BEFORE_PUBLISH])
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
@pytest.mark.parametrize("step", [*FETCH, *PUSHED])
def test_an_init_killed_anywhere_is_finished_by_the_next(hub_and_clones: Clones, step: str) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    killed(alpha, step, "init")
    assert beta.coord("init").code == 0
    assert alpha.coord("init").code == 0
    assert len(hub.git("rev-list", "--max-parents=0", "refs/coord/claims").splitlines()) == 1
    assert alpha.coord("claim", "a.txt").code == 0
    assert beta.coord("claim", "b.txt").code == 0
    assert (wrong(alpha), wrong(beta)) == ([], [])


SYNC = (*FETCH, "before write", "after write", "before push", "push sent", "push answered", "after push")


@pytest.mark.slow
@pytest.mark.parametrize("step", [*SYNC, "before local move", "after local move", "before snapshot", "after snapshot"])
def test_a_sync_killed_anywhere_is_finished_by_the_next(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.git("config", "remote.origin.url", str(alpha.path.parent / "nowhere.git"))
    assert alpha.coord_json("claim", "a.txt", "--offline")["confirmed"] is False
    alpha.git("config", "remote.origin.url", str(alpha.path.parent / "hub.git"))
    killed(alpha, step, "sync")
    answer = alpha.coord_json("sync")
    assert holdings(alpha) == {"a.txt": "alpha"}
    assert (answer["code"], answer["lost"]) == ("ok", [])
    assert beta.coord("claim", "a.txt").code == 3
    assert (wrong(alpha), wrong(beta)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("step", [*FETCH, "before local move", "after local move", "before snapshot", "after snapshot"])
def test_a_look_killed_anywhere_hides_nothing_from_the_next(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    beta.path.joinpath(".git/coord/synced").unlink()
    beta.path.joinpath(".git/coord/synced.presence").unlink(missing_ok=True)
    killed(beta, step, "status")
    assert holdings(beta) == {"a.txt": "alpha"}
    # The guard too, whatever became of its picture.
    beta.coord_json("hooks", "install")
    beta.write("a.txt", "mine")
    beta.git("add", "a.txt")
    done = beta.run("git", "commit", "-q", "-m", "on a claim")
    assert (done.code, "alpha #1" in done.err) == (1, True), done
    assert (wrong(alpha), wrong(beta)) == ([], [])


def test_every_step_has_a_command_that_is_killed_there() -> None:
    assert {*FETCH, *LOCAL, *PUSHED, *BEAT} == set(NAMES)
