"""A worktree that git has just made gets an agent of its own, where `coord.autoInit` says so.

That may ask a remote, and git waits for its hook: a process beside it does the work, and is waited for two seconds.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Sequence

from git_coord.errors import CoordError

from .beat import end_after

SETTING = "coord.autoInit"
WAIT = 2.0
"""Seconds for which `git worktree add` may take longer because of us."""
LONGEST = 60
"""Seconds after which the process beside it ends, whatever it waits for."""
OTHERS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COORD_AGENT", "GIT_COORD_SESSION", "GIT_COORD_RUN")
"""What is of the worktree, or the agent, from which another one is made."""


def is_new(args: Sequence[str]) -> bool:
    """Tell whether post-checkout was called for a worktree that had no HEAD before: git gives zeros for it."""
    return bool(args) and not args[0].strip("0")


def welcome() -> None:
    """Set up the new worktree around the current directory, and say in a line what came of it. Never fails."""
    env = {name: value for name, value in os.environ.items() if name not in OTHERS}
    line = [sys.executable, "-P", "-m", "git_coord.hooks", "set-up"]
    try:
        beside = subprocess.Popen(
            line,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return
    assert beside.stdout is not None
    is_done = bool(select.select([beside.stdout], [], [], WAIT)[0])
    text = os.read(beside.stdout.fileno(), 4096).decode("utf-8", "replace") if is_done else _UNDERWAY
    sys.stderr.write(text)
    beside.returncode = 0  # it outlives us, and nobody asks how it ended


_UNDERWAY = "git coord: this worktree is being set up behind the scenes; once it is, this says so: git coord whoami\n"


def run_set_up() -> int:
    """Do the work, in a process of its own; what is to be said goes to whoever waits for it still."""
    end_after(LONGEST)
    text = _set_up()
    if text:
        try:
            os.write(1, f"git coord: {text}\n".encode(errors="replace"))
        except OSError:  # nobody waits any more
            return 0
    return 0


def _set_up() -> str:
    from git_coord.app import open_app, worktrees_own
    from git_coord.domain.text import escape_for_display

    try:
        app = open_app(os.getcwd(), os.environ)
        place = app.location
        if app.config.get("coord.repo") is None or place.git_dir == place.common_dir:
            return ""
        if (app.config.get(SETTING) or "").lower() not in ("true", "yes", "on", "1"):
            return ""
        if worktrees_own(app.config, place) is not None:
            return ""
        from git_coord.app.setup import set_up

        done = set_up(app, None, None)
        app.refresh_snapshot()
    except CoordError as trouble:
        return f"this worktree is not set up yet: {escape_for_display(trouble.message)}; next: git coord init"
    return f"this worktree is {done.agent}'s, who has joined"
