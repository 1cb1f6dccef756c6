"""A beat that is due is pushed beside the command, by a process of its own; what it leaves behind is bounded."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from git_coord.app import App, open_app
from git_coord.app.afterwards import clear_away
from git_coord.clock import SystemClock
from git_coord.service import presence
from git_coord.service.heartbeat import push_beat
from git_coord.service.ledger import open_ledger
from git_coord.service.remote_ledger import ROSTER_FAMILIES, fetch_and_adopt
from git_coord.service.superseded import MANY
from tests.helpers import Repo, run, until

PRESENCE = "refs/coord/presence/alpha"


def acknowledged(repo: Repo) -> Path:
    return repo.path / ".git/coord/beats/alpha"


def make_late(repo: Repo) -> None:
    """Let the last beat be that old."""
    _, session = acknowledged(repo).read_text().split()
    acknowledged(repo).write_text(f"{int(time.time()) - 1000} {session}\n")


def is_fresh(repo: Repo) -> bool:
    return time.time() - int(acknowledged(repo).read_text().split()[0]) < 300


@pytest.fixture
def holder(trio: tuple[Repo, Repo, Repo]) -> tuple[Repo, Repo]:
    """Return the hub and a clone in which alpha holds `README.md` and has not been seen for a while."""
    hub, alpha, _ = trio
    assert alpha.coord("claim", "README.md").code == 0
    make_late(alpha)
    return hub, alpha


def test_any_command_pushes_a_beat_beside_it_when_one_is_due(holder: tuple[Repo, Repo]) -> None:
    hub, alpha = holder
    before = hub.rev(PRESENCE)
    assert alpha.coord("whoami").code == 0
    until(lambda: is_fresh(alpha))
    assert hub.rev(PRESENCE) == alpha.rev(PRESENCE) != before
    assert not (alpha.path / ".git/coord/said/alpha").exists()


def test_a_commit_under_a_claim_is_a_sign_of_life(holder: tuple[Repo, Repo]) -> None:
    hub, alpha = holder
    before = hub.rev(PRESENCE)
    assert alpha.coord("hooks", "install").code == 0
    until(lambda: is_fresh(alpha))
    make_late(alpha)
    (alpha.path / ".git/coord/beat.attempt").unlink()
    alpha.write("README.md", "changed\n")
    done = alpha.run("git", "commit", "-qam", "x")
    assert (done.code, done.err) == (0, "")
    until(lambda: is_fresh(alpha))
    assert hub.rev(PRESENCE) != before


def test_a_remote_that_is_away_holds_no_command_up_and_the_next_one_says_it(holder: tuple[Repo, Repo]) -> None:
    hub, alpha = holder
    hub.path.rename(hub.path.with_name("away.git"))
    assert alpha.coord("whoami").code == 0
    trouble = alpha.path / ".git/coord/beat.trouble"
    until(trouble.exists)
    said = alpha.coord("whoami").err
    assert said.startswith("git coord: the last sign of life did not arrive (origin: ")
    assert said.endswith("; what you hold is good for another 2 h\n")
    hub.path.with_name("away.git").rename(hub.path)
    assert alpha.coord("sync").err == ""


@pytest.mark.parametrize("step", ["before beat", "after beat"])
def test_a_beat_that_is_killed_loses_nothing(holder: tuple[Repo, Repo], step: str) -> None:
    hub, alpha = holder
    before = hub.rev(PRESENCE)
    beat = (os.path.join(os.path.dirname(run(["which", "git-coord"], cwd=alpha.path, env=alpha.env).out), "python"),)
    command = (*beat, "-P", "-m", "git_coord.hooks", "beat", "alpha")
    assert alpha.with_env(GIT_COORD_FAILPOINT=step).run(*command).code == -9
    assert (hub.rev(PRESENCE) == before) is (step == "before beat")
    assert not is_fresh(alpha)
    assert alpha.run(*command).code == 0
    assert is_fresh(alpha)
    assert hub.rev(PRESENCE) == alpha.rev(PRESENCE)
    assert alpha.coord("release", "--all").code == 0


def loose(repo: Repo) -> int:
    objects = list((repo.path / ".git/objects").glob("??/*"))
    for path in objects:  # a day passes
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return len(objects)


class Later(SystemClock):
    """Time that has advanced by what a test says."""

    seconds = 0

    def now(self) -> int:
        return super().now() + self.seconds


def opened(repo: Repo, clock: Later) -> App:
    app = open_app(str(repo.path), repo.env, clock=clock)
    open_ledger(app.coord)
    return app


@pytest.mark.slow(20)
def test_two_hundred_beats_leave_a_bounded_number_of_objects_with_author_and_reader(
    trio: tuple[Repo, Repo, Repo],
) -> None:
    _, alpha, beta = trio
    assert alpha.coord("claim", "README.md").code == 0
    clock = Later()
    start = loose(alpha), loose(beta)
    most = [0, 0]
    for _ in range(200):
        clock.seconds += 400
        author, reader = opened(alpha, clock), opened(beta, clock)
        assert push_beat(author.coord)
        fetch_and_adopt(reader.coord, ROSTER_FAMILIES)
        for at, app in enumerate((author, reader)):
            most[at] = max(most[at], loose((alpha, beta)[at]) - start[at])
            clear_away(app)
    assert [count > 3 * MANY for count in most] == [True, True]
    assert [count < 3 * MANY + 30 for count in most] == [True, True]
    assert [len([*(r.path / ".git/objects/pack").glob("*.pack")]) for r in (alpha, beta)] == [0, 0]
    assert clock.now() - presence.records(opened(beta, clock).coord)[author.coord.me.agent].at < 400  # the last one's
    for repo in (alpha, beta):
        assert repo.run("git", "fsck", "--strict", "--no-dangling").code == 0


def test_what_others_made_of_an_objects_content_is_not_cleared_away(trio: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, _ = trio
    clock = Later()
    for n in range(MANY + 3):
        presence.set_presence(opened(alpha, clock).coord, presence.Wish("busy"))
        if n == 0:  # somebody commits the very bytes of a heartbeat that is about to be replaced
            kept = alpha.rev(f"{PRESENCE}:presence")
            alpha.git("read-tree", "--prefix=stolen/", f"{PRESENCE}^{{tree}}")
            alpha.git("commit", "-qm", "stolen")
            tree = alpha.rev("HEAD:stolen")
    before = loose(alpha)
    clear_away(opened(alpha, clock))
    assert before - loose(alpha) > 3 * MANY - 3
    assert [alpha.git("cat-file", "-t", oid) for oid in (kept, tree)] == ["blob", "tree"]
    assert alpha.run("git", "fsck", "--strict", "--no-dangling").code == 0
