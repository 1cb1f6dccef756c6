"""What the tests run warm behaves as what users start, and needs nothing that only a warm start has loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from git_coord.cli.main import COMMANDS
from tests.cli.words import said
from tests.helpers import Repo, until, warm

pytestmark = pytest.mark.skipif(warm.IS_COLD, reason="nothing is run warm")
LINES: dict[str, Sequence[str]] = {
    "init": ["init"],
    "deinit": ["deinit"],
    "whoami": ["whoami"],
    "policy": ["policy"],
    "move": ["move", "--follow"],
    "claim": ["claim", "b"],
    "release": ["release", "a"],
    "renew": ["renew", "a"],
    "takeover": ["takeover", "#1"],
    "break": ["break", "#1", "-m", "x"],
    "expel": ["expel", "nobody", "-m", "x"],
    "revoke": ["revoke", "SHA256:x", "-m", "x"],
    "block": ["block", "task:T", "-m", "x"],
    "unblock": ["unblock", "task:U"],
    "preflight": ["preflight", "a"],
    "check": ["check", "a", "b"],
    "status": ["status"],
    "log": ["log"],
    "run": ["run", "--claim", "c", "--", "true"],
    "rejoin": ["rejoin"],
    "rotate": ["rotate"],
    "presence": ["presence"],
    "post": ["post", "hello"],
    "posts": ["posts"],
    "watch": ["watch", "--once"],
    "mcp": ["mcp", "--nonsense"],
    "sync": ["sync"],
    "verify": ["verify", "HEAD~0..HEAD"],
    "adapter": ["adapter", "install", "--nonsense"],
    "hooks": ["hooks", "status"],
    "gc": ["gc"],
    "doctor": ["doctor"],
    "hook": ["hook", "nonsense"],
}


def test_every_command_is_compared() -> None:
    assert sorted(LINES) == sorted(COMMANDS)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_command_says_the_same_cold_and_warm(alone: Repo, line: Sequence[str], tmp_path: Path) -> None:
    alone.coord_json("claim", "a")
    places = alone.path, Path(alone.env["XDG_STATE_HOME"])
    for number, place in enumerate(places):
        shutil.copytree(place, tmp_path / f"before{number}", symlinks=True)
    cold = said(alone.run("git", "coord", *line))
    for number, place in enumerate(places):
        place.rename(tmp_path / f"after{number}")
        (tmp_path / f"before{number}").rename(place)
    assert warm.can_run(line, alone.env)
    assert said(alone.coord(*line)) == cold
    assert "Traceback" not in cold[2]


def test_a_warm_command_is_a_process_of_its_own_with_all_it_was_given(alone: Repo) -> None:
    script = "echo $GIT_COORD_AGENT $1; cat; pwd; exit 3"
    done = alone.coord("run", "--claim", "a", "--", "sh", "-c", script, "sh", "\udcff", input=b"\xfe\n")
    assert (done.code, done.out) == (3, f"alpha \udcff\n\udcfe\n{alone.path}\n")


def at_work_in(folder: Path) -> list[str]:
    """Return the process ids of those whose current folder it is."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            found += [pid] if os.readlink(f"/proc/{pid}/cwd") == str(folder) else []
    return found


def test_a_warm_command_that_hangs_is_killed_with_its_children(alone: Repo) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        alone.coord("watch", timeout=2)
    until(lambda: not at_work_in(alone.path))
    assert alone.coord("check", "a").code == 0


@pytest.mark.parametrize(
    ("args", "changes"),
    [(["status", "--help"], {}), ([], {"PATH": "/usr/bin"}), ([], {"PYTHONUTF8": "1"}), ([], {"GIT_EXEC_PATH": "/x"})],
)
def test_what_depends_on_how_a_command_starts_is_started_cold(
    alone: Repo, args: Sequence[str], changes: dict[str, str]
) -> None:
    assert warm.can_run([], alone.env)
    assert not warm.can_run(args, alone.env | changes)
