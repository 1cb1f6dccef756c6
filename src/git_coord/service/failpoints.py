"""Steps at which a test may kill the process, named by an environment variable; nothing when that is unset."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

VARIABLE = "GIT_COORD_FAILPOINT"
NAMES = (
    "before publish",
    "after publish",
    "before push",
    "after push",
    "before local move",
    "after local move",
    "after snapshot",
)


def failpoint(env: Mapping[str, str]) -> Callable[[str], None]:
    """Return what the services call at each step: it kills this process, as `kill -9` would, at the one named."""
    wanted = env.get(VARIABLE)
    return (lambda name: _die() if name == wanted else None) if wanted else _go_on


def _go_on(_name: str) -> None:
    pass


def _die() -> None:
    os.kill(os.getpid(), 9)
