"""Steps at which a test may kill or stop the process, named by an environment variable; nothing when that is unset."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

VARIABLE = "GIT_COORD_FAILPOINT"
STOP = "stop "
"""Before a name: the process is stopped there, as `kill -STOP` would, and goes on from there when continued."""
NAMES = (
    "before lock",
    "after lock",
    "before write",
    "after write",
    "before publish",
    "after publish",
    "before push",
    "push sent",
    "push answered",
    "after push",
    "before local move",
    "after local move",
    "before snapshot",
    "after snapshot",
    "before beat",
    "after beat",
)
"""In the order in which a command reaches them, as far as it has one: the lock is that of a fetch, objects are written
more than once, "publish" and "local move" are swaps of refs."""


def failpoint(env: Mapping[str, str]) -> Callable[[str], None]:
    """Return what is called at each step: it kills this process, as `kill -9` would, at the one named; or stops it."""
    wanted = env.get(VARIABLE)
    if not wanted:
        return _go_on
    left = [wanted.removeprefix(STOP)]
    number = signal.SIGSTOP if wanted.startswith(STOP) else signal.SIGKILL

    def reach(name: str) -> None:
        if name in left:
            left.clear()  # who was continued passes here again, perhaps
            os.kill(os.getpid(), number)

    return reach


def _go_on(_name: str) -> None:
    pass
