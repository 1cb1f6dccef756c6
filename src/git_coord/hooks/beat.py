"""The process beside the commands that pushes a beat and tidies up: `python -m git_coord.hooks beat AGENT [--ask]`."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from git_coord.errors import CoordError

if TYPE_CHECKING:
    from git_coord.app import App

LOCK = "beat.lock"
LONGEST = 180
"""Seconds after which the process ends, whatever it waits for; git's own limits are shorter."""


def run_beat(agent: str, *, asks: bool) -> int:
    """Do it unless another one is at work in this clone; returns an exit status that only `run` looks at.

    `asks` waits for its turn and reads the ledger too.
    """
    end_after(LONGEST)
    from filelock import FileLock, Timeout

    from git_coord.app import open_app

    app = open_app(os.getcwd(), os.environ, agent=agent)
    app.coord.notice = lambda text: _keep(app, text)
    # The lock only saves work: two pushes at once would be correct, and one of them in vain.
    try:
        with FileLock(os.path.join(app.coord.files.common, LOCK), timeout=LONGEST if asks else 0):
            return _beat(app, asks=asks)
    except Timeout:
        return 0


def _beat(app: App, *, asks: bool) -> int:
    from git_coord.app.afterwards import clear_away, end_killed
    from git_coord.service.heartbeat import push_beat

    status = 0
    with suppress(CoordError, OSError):  # the next one tries again
        end_killed(app)
    try:
        push_beat(app.coord, asks=asks)
    except CoordError as trouble:
        status = trouble.kind.exit_status
    with suppress(CoordError, OSError):
        app.refresh_snapshot()
    clear_away(app)
    return status


def _keep(app: App, text: str) -> None:
    """Keep what there is to say for the agent's next command: nobody reads this process's output."""
    from git_coord.service.leases import SAID

    with suppress(OSError):
        app.coord.files.append(f"{SAID}/{app.coord.me.agent}", f"{text}\n".encode())


def end_after(seconds: int) -> None:
    """Let this process end, and the git it waits for with it, when so much time has gone by."""
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(seconds)


def _too_late(_signal: int, _frame: object) -> None:
    raise TimeoutError
