"""Processes that an edit hook starts beside itself, so that no edit waits for the network."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from git_coord.app import App
from git_coord.guard import beats


def start(app: App, arguments: Sequence[str]) -> None:
    """Start `python -m git_coord.adapters ARGUMENTS` in the worktree, as the agent that acts here, if any."""
    env = dict(os.environ)
    if app.coord.identity is not None:
        env |= {"GIT_COORD_AGENT": app.coord.me.agent, "GIT_COORD_SESSION": app.coord.me.session}
    os.chdir(app.location.top or app.location.git_dir)
    # -P: a file of the repository must never be imported because we happen to stand beside it.
    beats.detach([sys.executable, "-P", "-m", "git_coord.adapters", *arguments], env)
