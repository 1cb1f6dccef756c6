"""The fleet over a real sshd, and what is left when that is killed in the middle of a push."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet, assert_history_holds, assert_tokens_are_unique
from tests.e2e.sshd import Sshd, sshd_program
from tests.helpers import PATIENCE, Completed, Repo, new_repo

"""Seconds: twice `coord.fetchTimeout`, and some for a busy machine."""


@pytest.fixture
def sshd(tmp_path: Path, env: dict[str, str]) -> Iterator[Sshd]:
    program = sshd_program()
    if program is None:
        pytest.skip("there is no sshd here; Debian's package is openssh-server")
    server = Sshd(program, tmp_path / "sshd", dict(env))
    server.prepare()
    server.start()
    env["GIT_SSH_COMMAND"] = server.client
    yield server
    server.stop()


@dataclass(frozen=True)
class Pair:
    """A hub behind the server, and the clones of two members."""

    hub: Repo
    alpha: Repo
    beta: Repo

    def hook(self, name: str, lines: str) -> None:
        hook = self.hub.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{lines}")
        hook.chmod(0o755)


@pytest.fixture
def pair(sshd: Sshd, tmp_path: Path, env: dict[str, str]) -> Pair:
    hub = new_repo(tmp_path / "hub.git", env, "--bare")
    new_repo(tmp_path / "seed", env).commit("first", **{"a.txt": "a\n"})
    Repo(tmp_path / "seed", env).git("push", "-q", str(hub.path), "main")
    found = []
    for name in ("alpha", "beta"):
        hub.git("clone", "-q", sshd.url(hub.path), str(tmp_path / name))
        found.append(replace(hub, path=tmp_path / name))
        assert found[-1].coord("init", "--agent", name).code == 0
    return Pair(hub, *found)


@pytest.mark.slow(30)
@pytest.mark.timeout(600)
def test_four_agents_over_ssh_lose_nothing(sshd: Sshd, tmp_path: Path, env: dict[str, str]) -> None:
    fleet = Fleet.launch(tmp_path, env, sshd.url(tmp_path / "hub.git"))
    reports, trouble = fleet.run(fleet.checkouts(["ada", "bob"], ["cyd", "dot"]), edits=2, intrusions=1, seconds=400)
    assert not trouble, trouble
    assert [len(report.granted) for report in reports] == [2, 2, 2, 2]
    assert_history_holds(fleet, reports)
    assert_tokens_are_unique(reports)
    first = fleet.hub.git("rev-list", "--max-parents=0", "main")
    assert fleet.clone("ci", "--depth", "1").coord_json("verify", f"{first}..HEAD")["violations"] == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["pre-receive", "post-receive"])
def test_a_server_killed_during_a_claim_loses_nothing_and_sync_heals(moment: str, sshd: Sshd, pair: Pair) -> None:
    pair.hook(moment, sshd.kill_from_a_hook())

    began = time.monotonic()
    done = pair.alpha.coord("claim", "a.txt")
    assert time.monotonic() - began < PATIENCE
    sshd.wait()
    assert_unknown(done)
    assert_unknown(pair.alpha.coord("sync"))

    sshd.start()
    assert pair.alpha.coord("sync").code == 0
    # The claim was taken back with the command that could not confirm it, whether or not it had got there.
    assert pair.beta.coord_json("check", "a.txt")["resources"][0]["status"] == "free"
    assert pair.beta.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.alpha.coord_json("claim", "a.txt", code=3)["holder"] == "beta"


@pytest.mark.slow
def test_an_offline_claim_is_confirmed_when_the_server_is_back(sshd: Sshd, pair: Pair) -> None:
    sshd.stop()
    assert pair.alpha.coord_json("claim", "a.txt", "--offline")["confirmed"] is False
    assert_unknown(pair.alpha.coord("sync"))
    sshd.start()
    assert pair.alpha.coord("sync").code == 0
    assert pair.beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"


def assert_unknown(done: Completed) -> None:
    """Exit 5, one line that says why, and at most one that says what to do."""
    lines = done.err.splitlines()
    assert (done.code, done.out, lines[0][:11], [line[:7] for line in lines[1:]]) == (
        5,
        "",
        "git coord: ",
        ["next   "] * (len(lines) > 1),
    ), done
