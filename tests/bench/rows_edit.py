"""What an edit hook adds to an edit: the whole command as a tool runs it, with 1,000 live claims."""

from __future__ import annotations

import itertools
import json
import sys
from functools import cache

from git_coord.guard.edit_places import place_at
from git_coord.guard.edit_state import pin
from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.bench.rows_claim import SPARE, ready
from tests.bench.rows_guard import managed
from tests.helpers import Repo

NUMBERS = itertools.count()


def _payload(repo: Repo, path: str) -> str:
    call = {
        "tool_name": "Edit",
        "tool_input": {"file_path": str(repo.path / path), "old_string": "x", "new_string": "y"},
    }
    return json.dumps({"session_id": "", "cwd": str(repo.path), "hook_event_name": "PreToolUse", **call})


def _hook(repo: Repo, path: str) -> str:
    done = repo.run("git-coord", "hook", "claude-code", "pre-edit", input=_payload(repo, path), check=True)
    assert "deny" not in done.out, done
    return done.out


@cache
def pinned(lab: Lab) -> Repo:
    """Return the repository of 1,000 claims, with a file that the agent holds and has edited before."""
    repo = managed(lab)
    path = "lib/m0/f0.py"  # every tenth claim is the agent's own
    repo.write(path, "x\n")
    place = place_at(str(repo.path))
    assert place is not None
    pin(place, "beta", path.encode())
    return Repo(repo.path, {**repo.env, "PYTHONDONTWRITEBYTECODE": ""})


@row("edit hook: nothing in the way", budget="2.5 x", limit=2.5, reference="python -c pass")
def nothing_in_the_way(lab: Lab) -> Measured:
    """Ask for a file that the agent holds and left as it is."""
    repo = pinned(lab)
    assert _hook(repo, "lib/m0/f0.py") == ""
    times = lab.interleave(
        {"hook": lambda: _hook(repo, "lib/m0/f0.py"), "python": lambda: repo.run(sys.executable, "-c", "pass")},
        rounds=3 * lab.rounds,
    )
    return Measured.ratio(times["hook"], times["python"])


@row("edit hook: claims a free file, local", budget="8 x", limit=8.0, reference="python -c pass")
def auto_claim(lab: Lab) -> Measured:
    """Ask for a file that nobody holds: the hook claims it, in a repository without a remote."""
    repo = ready(lab.repo("edit-claim"), "alpha")

    def claim() -> None:
        with lab.timed():
            said = _hook(repo, f"src/file{next(NUMBERS) % SPARE}.txt")
        assert "claimed for you" in said
        repo.run("git", "coord", "release", "--all", check=True)

    times = lab.interleave({"hook": claim, "python": lambda: repo.run(sys.executable, "-c", "pass")})
    return Measured.ratio(times["hook"], times["python"])
