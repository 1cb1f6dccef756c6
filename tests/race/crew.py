"""Many real processes at once, started as close together as a pipe allows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers import PATIENCE, Repo


@dataclass(frozen=True)
class Ended:
    """What one `git coord … --json` said."""

    code: int
    answer: dict[str, Any]
    err: str


def at_once(commands: Sequence[tuple[Repo, Sequence[str]]]) -> list[Ended]:
    """Run `git coord … --json` in each repository, all released by the closing of one pipe; return the answers."""
    gate, opener = os.pipe()
    running = [_waiting(repo, args, gate) for repo, args in commands]
    os.close(gate)
    os.close(opener)
    return [_ended(process) for process in running]


def _waiting(repo: Repo, args: Sequence[str], gate: int) -> subprocess.Popen[str]:
    # The shell reads the gate until it closes, then becomes the command.
    script = f'read -r _ <&{gate}; exec {gate}<&-; exec git coord "$@" --json'
    return subprocess.Popen(
        ["bash", "-c", script, "bash", *args],
        cwd=repo.path,
        env=repo.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(gate,),
    )


def _ended(process: subprocess.Popen[str]) -> Ended:
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Ended(process.returncode, json.loads(out) if out.strip() else {}, err)


def init(*repos: Repo) -> None:
    """Set up git coord in each, under the name its configuration has."""
    for repo in repos:
        repo.coord_json("init")


def holdings(repo: Repo) -> dict[str, str]:
    """Return who holds what, by path, after a fetch."""
    status = repo.coord_json("status")
    return {item["path"]: claim["agent"] for claim in status["claims"] for item in claim["items"]}


def count_hook(hub: Repo) -> Path:
    """Let the hub write a line for every push that reaches it; return the file of lines."""
    log = hub.path / "pushes.log"
    hook = hub.path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho push >> '{log}'\n")
    hook.chmod(0o755)
    log.write_text("")
    return log


def wrong(repo: Repo) -> list[str]:
    """Return what doctor finds wrong."""
    done = repo.coord("doctor", "--json")
    return [one["text"] for one in json.loads(done.out)["findings"] if one["level"] == "wrong"]
