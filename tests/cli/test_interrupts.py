"""Signals while the remote hangs: what was started ends with the command, what was claimed is taken back."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers import PATIENCE, Repo, until


@pytest.fixture
def hanging(pair: tuple[Repo, Repo], tmp_path: Path) -> tuple[Repo, Path]:
    """Return a clone whose remote never answers, and the file in which that leaves its pid."""
    alpha, _ = pair
    assert alpha.coord("hooks", "install").code == 0
    pid_file, remote = tmp_path / "remote.pid", tmp_path / "remote"
    remote.write_text(f"#!/bin/sh\necho $$ >{pid_file}.new && mv {pid_file}.new {pid_file}\nexec sleep 60\n")
    remote.chmod(0o755)
    alpha.git("config", "protocol.ext.allow", "always")
    alpha.git("config", "remote.origin.url", f"ext::{remote}")
    return alpha, pid_file


def ended_by(number: int, repo: Repo, pid_file: Path, *argv: str) -> tuple[int, str, str]:
    """Send a command's group the signal once its remote hangs; return how it ended, when the remote's end has too."""
    env = repo.env | {"GIT_ALLOW_PROTOCOL": "ext:file"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(argv, cwd=repo.path, env=env, text=True, start_new_session=True, **pipes)  # type: ignore[call-overload]
    until(pid_file.exists)
    remote = int(pid_file.read_text())
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=PATIENCE)
    try:
        until(lambda: not is_alive(remote), PATIENCE / 12)
    finally:
        if is_alive(remote):
            os.kill(remote, signal.SIGKILL)
    return process.returncode, out, err


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc/self").exists() else True


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_claim_and_its_git_and_takes_it_back(
    hanging: tuple[Repo, Path], number: int, status: int
) -> None:
    alpha, pid_file = hanging
    assert ended_by(number, alpha, pid_file, "git-coord", "claim", "a")[:2] == (status, "")
    assert alpha.coord_json("status", "--local")["claims"] == []
    assert alpha.coord("check", "a", "--local").out.startswith("free  a   new\n")


def test_a_signal_that_git_passes_on_counts_once(hanging: tuple[Repo, Path]) -> None:
    alpha, pid_file = hanging
    assert ended_by(signal.SIGTERM, alpha, pid_file, "git", "coord", "claim", "a")[0] == -signal.SIGTERM
    assert alpha.coord_json("status", "--local")["claims"] == []


def test_an_interrupted_push_ends_its_hook_in_one_line(hanging: tuple[Repo, Path], tmp_path: Path) -> None:
    alpha, pid_file = hanging
    code, _, err = ended_by(signal.SIGINT, alpha, pid_file, "git", "push", "-q", str(tmp_path / "hub.git"), "HEAD:new")
    assert (code, err) == (-signal.SIGINT, "git coord: interrupted\n")
