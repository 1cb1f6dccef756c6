"""Writing git's configuration, which all worktrees of a clone share: several agents may be set up at the same time."""

from __future__ import annotations

from git_coord.service.retry import attempts
from git_coord.store.git import failure

from .root import App

LOCKED = 255
"""The status of `git config` when it could not take the lock; git itself does not wait for it."""
LOCK_SECONDS = 3


def configure(app: App, *arguments: str) -> None:
    """Run `git config`, waiting while another process writes; raises CoordError(ERROR) with git's words."""
    command = ["config", *arguments]
    for _ in attempts(app.coord.clock, app.coord.jitter, seconds=LOCK_SECONDS, first_wait=0.02, longest=0.2):
        done = app.git.run(command, check=False)
        if done.code == 0:
            return
        if done.code != LOCKED:
            break
    raise failure(command, done)
