"""Processes killed while git holds the locks of a swap: the next command heals, and a live lock is never stolen."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.helpers import Repo
from tests.race.crew import holdings, init, wrong
from tests.store.conftest import ends

Clones = Callable[..., tuple[Repo, ...]]
LOCKS = ("refs/coord/claims", "refs/coord/requests/alpha", "refs/coord-local/seen")


class Prepared(NamedTuple):
    """A command whose git stands still with all locks of its swap taken."""

    process: subprocess.Popen[str]
    git: int
    hook: int

    def kill(self) -> None:
        """Kill all of it at once, as a power cut does."""
        for pid in (self.process.pid, self.git, self.hook):
            os.kill(pid, signal.SIGKILL)
        self.process.communicate()
        assert ends(self.git)
        assert ends(self.hook)


@pytest.fixture
def alpha(repo: Repo) -> Repo:
    made = repo.with_env(GIT_COORD_AGENT="alpha")
    init(made, made.with_env(GIT_COORD_AGENT="beta"))
    return made


@pytest.fixture
def prepared(alpha: Repo, tmp_path: Path) -> Iterator[Prepared]:
    """Return a claim of `a.txt` by alpha that stands still in the middle of its swap."""
    os.mkfifo(tmp_path / "note")
    # Git runs this hook with the locks taken and written; it runs it again for others, who pass.
    hook = alpha.write(
        ".git/hooks/reference-transaction",
        f"#!/bin/sh\n[ \"$1\" = prepared ] && rm '{tmp_path}/armed' 2>/dev/null || exit 0\n"
        f"echo $PPID $$ >'{tmp_path}/note'\nkill -STOP $$\n",
    )
    hook.chmod(0o755)
    (tmp_path / "armed").touch()
    process = subprocess.Popen(
        ["git-coord", "claim", "a.txt"],
        cwd=alpha.path,
        env=alpha.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    git, shell = (int(word) for word in (tmp_path / "note").read_text().split())
    yield Prepared(process, git, shell)
    process.kill()
    process.communicate()
    for pid in (git, shell):
        if not ends_now(pid):
            os.kill(pid, signal.SIGKILL)


def ends_now(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def locks(repo: Repo) -> list[str]:
    return [name for name in LOCKS if (repo.path / ".git" / f"{name}.lock").exists()]


def test_locks_that_a_power_cut_left_are_healed_by_the_next_command(alpha: Repo, prepared: Prepared) -> None:
    assert locks(alpha) == list(LOCKS)
    prepared.kill()
    assert locks(alpha) == list(LOCKS)
    beta = alpha.with_env(GIT_COORD_AGENT="beta")
    assert beta.coord_json("claim", "b.txt")["token"] == 1
    assert locks(alpha) == []
    assert alpha.coord_json("claim", "a.txt")["token"] == 2
    assert holdings(alpha) == {"a.txt": "alpha", "b.txt": "beta"}
    assert wrong(alpha) == []


def test_the_killed_command_itself_heals_when_it_is_run_again(alpha: Repo, prepared: Prepared) -> None:
    prepared.kill()
    assert alpha.coord_json("claim", "a.txt")["token"] == 1
    assert (locks(alpha), wrong(alpha)) == ([], [])


@pytest.mark.slow
def test_a_live_lock_is_never_stolen_however_old_and_whoever_of_its_holders_died(
    alpha: Repo, prepared: Prepared
) -> None:
    beta = alpha.with_env(GIT_COORD_AGENT="beta")
    for name in LOCKS:
        os.utime(alpha.path / ".git" / f"{name}.lock", (1, 1))
    assert "stays locked" in beta.coord_json("claim", "b.txt", code=1)["message"]
    # The command is gone, its git is not: it may still commit.
    prepared.process.kill()
    prepared.process.communicate()
    assert "stays locked" in beta.coord_json("claim", "b.txt", code=1)["message"]
    assert locks(alpha) == list(LOCKS)
    os.kill(prepared.hook, signal.SIGCONT)
    assert ends(prepared.git)
    # Nobody hears its answers any more: it takes its locks away itself, before or after it has moved all refs.
    assert locks(alpha) == []
    assert holdings(beta) in ({}, {"a.txt": "alpha"})
    assert beta.coord("claim", "b.txt").code == 0
    assert wrong(alpha) == []


@pytest.mark.slow
def test_a_lock_of_somebody_else_on_the_same_ref_is_left_alone(alpha: Repo, prepared: Prepared) -> None:
    prepared.kill()
    for name in LOCKS:
        (alpha.path / ".git" / f"{name}.lock").write_text("f" * 40 + "\n")
    beta = alpha.with_env(GIT_COORD_AGENT="beta")
    assert "stays locked" in beta.coord_json("claim", "b.txt", code=1)["message"]
    assert locks(alpha) == list(LOCKS)


@pytest.mark.slow
def test_a_dead_lock_that_a_live_process_may_hold_as_well_is_left_alone(alpha: Repo, prepared: Prepared) -> None:
    """Helpers make the same commit: what a dead writer meant to write may stand in the lock of a live one."""
    note = next(path for path in sorted((alpha.path / ".git/coord").glob("swap-*")) if path.stat().st_size)
    dead = alpha.path / ".git/coord/swap-7"
    for number in range(7):
        (alpha.path / f".git/coord/swap-{number}").touch()
    dead.write_bytes(note.read_bytes())
    beta = alpha.with_env(GIT_COORD_AGENT="beta")
    assert "stays locked" in beta.coord_json("claim", "b.txt", code=1)["message"]
    assert locks(alpha) == list(LOCKS)
    prepared.kill()
    assert beta.coord("claim", "b.txt").code == 0
    assert locks(alpha) == []


@pytest.mark.slow
def test_notes_that_name_other_files_remove_nothing(alpha: Repo) -> None:
    victim = alpha.write(".git/refs/heads/main.lock", "x\n")
    outside = alpha.write("kept.lock", "x\n")
    text = "refs/heads/main x\nrefs/coord/../../../kept x\nrefs/coord/claims\n\0\n"
    alpha.write(".git/coord/swap-0", text)
    alpha.write(".git/coord/swap-3", text)
    (alpha.path / ".git/coord/swap-1").symlink_to(alpha.path / "kept.lock")
    os.mkfifo(alpha.path / ".git/coord/swap-2")
    assert alpha.coord("claim", "a.txt").code == 0
    assert (victim.exists(), outside.read_text()) == (True, "x\n")
