"""What was lost is told by whichever command comes next, once, to each agent of the clone: the fetch has noted it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess

import pytest

from tests.cli.words import forget_sync
from tests.helpers import Repo

LOST = "lost: alpha's claim on a was refused, beta holds a"


def lose(hub: Repo, alpha: Repo, beta: Repo) -> None:
    """Let alpha's push of an offline claim be cut off after its request arrived, and beta be granted it before."""
    away = hub.path.rename(hub.path.with_name("gone"))
    assert alpha.coord_json("claim", "a", "--offline")["confirmed"] is False
    away.rename(hub.path)
    beta.coord_json("claim", "a")
    alpha.git("push", "-q", "origin", "+refs/coord/requests/alpha")
    beta.coord_json("sync")


@pytest.fixture
def lost(trio: tuple[Repo, Repo, Repo]) -> Repo:
    """Return alpha, whose claim a helper has placed and found refused; nothing of that is here yet."""
    hub, alpha, beta = trio
    lose(hub, alpha, beta)
    forget_sync(alpha)
    return alpha


def notices(repo: Repo, *args: str, codes: tuple[int, ...] = (0,)) -> list[str]:
    done = repo.coord(*args, "--json")
    assert done.code in codes, done
    said = json.loads(done.out).get("notices", [])
    assert (f"git coord: {LOST}" in done.err.splitlines()) is (LOST in said)
    return [line for line in said if line.startswith("lost:")]


FETCHING = {
    "claim --require-fresh b": (0, 1),
    "claim task:E-1": (0,),
    "status": (0,),
    "check a": (3,),
    "preflight a": (3,),
    "block task:E-1 -m later": (0,),
    "unblock task:E-1": (0, 1, 4),
    "release a": (4,),
    "renew a": (4,),
    "break #1 -m why": (0, 4),
    "takeover a --dry-run": (3,),
    "posts": (0,),
    "presence": (0,),
    "rejoin": (0,),
    "verify": (0, 1, 3),
    "gc": (0, 1),
}


@pytest.mark.parametrize("words", FETCHING)
def test_any_command_that_learns_of_a_loss_says_it_and_no_other_does_again(lost: Repo, words: str) -> None:
    assert notices(lost, *words.split(), codes=FETCHING[words]) == [LOST]
    assert notices(lost, "status") == []
    assert lost.coord_json("sync")["lost"] == []


def test_a_sync_that_learns_of_a_loss_lists_it_with_exit_four_and_says_it_nowhere_else(lost: Repo) -> None:
    answer = lost.coord_json("sync", code=4)
    assert (answer["code"], answer["lost"]) == ("lost", ["alpha is refused claim a (edit): beta #1"])
    assert (answer["placed"], "notices" in answer) == ([], False)
    assert notices(lost, "status") == []
    assert lost.coord_json("sync")["lost"] == []


def test_a_sync_lists_what_another_process_of_the_clone_has_learned_and_nobody_said(lost: Repo) -> None:
    # What runs beside the commands has nobody to talk to.
    assert lost.run("python3", "-P", "-m", "git_coord.hooks", "beat", "alpha", "--ask").code == 0
    assert lost.coord_json("sync", code=4)["lost"] == ["alpha is refused claim a (edit): beta #1"]
    assert notices(lost, "status") == []


@pytest.mark.parametrize("step", ["before local move", "after local move", "before snapshot", "after snapshot"])
def test_a_command_that_is_killed_before_it_has_said_it_leaves_it_to_the_next(lost: Repo, step: str) -> None:
    killed = lost.with_env(GIT_COORD_FAILPOINT=step).run("git-coord", "sync")
    assert (killed.code, killed.out, killed.err) == (-9, "", "")
    assert notices(lost, "status") == [LOST]
    assert lost.coord_json("sync")["lost"] == []


def test_an_answer_that_nobody_reads_has_told_nothing(lost: Repo) -> None:
    unread, pipe = os.pipe()
    os.close(unread)
    with os.fdopen(pipe, "wb") as deaf:
        subprocess.run(["git-coord", "sync"], cwd=lost.path, env=lost.env, stdout=deaf, stderr=deaf, check=False)
    assert lost.coord_json("sync", code=4)["lost"] != []


def test_each_agent_of_a_clone_is_told_of_its_own(lost: Repo) -> None:
    other = lost.worktree("gamma", agent="gamma")
    assert notices(other, "init", "--agent", "gamma") == []
    assert other.coord_json("sync")["lost"] == []
    assert notices(other, "status") == []
    assert notices(lost, "status", "--local") == [LOST]
    assert notices(other, "status") == []


def test_two_commands_at_once_do_not_both_say_it(lost: Repo) -> None:
    lost.coord_json("check", "b", "--agent", "beta")
    with (lost.path / ".git/coord/lost/alpha").open() as telling:
        fcntl.flock(telling, fcntl.LOCK_EX)
        assert notices(lost, "status") == []
    assert notices(lost, "status") == [LOST]


def test_a_claim_of_ones_own_that_is_refused_is_answered_and_not_lost_besides(trio: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = trio
    alpha.coord_json("sync")
    beta.coord_json("claim", "a")
    assert alpha.coord_json("claim", "a", code=3)["holder"] == "beta"
    assert notices(alpha, "status") == []
    assert alpha.coord_json("sync")["lost"] == []


def test_a_claim_that_was_cancelled_is_no_loss(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    away = hub.path.rename(hub.path.with_name("gone"))
    assert alpha.coord_json("claim", "a", code=5)["code"] == "unknown"
    away.rename(hub.path)
    beta.coord_json("claim", "a")
    alpha.git("push", "-q", "origin", "+refs/coord/requests/alpha")
    beta.coord_json("sync")
    assert alpha.coord_json("sync")["lost"] == []
    assert notices(alpha, "status") == []
