"""Questions put to git while Python still imports the command: on two cores the answers cost nothing then.

Not all at once: a start waits until the new process has a core. Only for what every command asks first, in a
repository found from the current directory; with GIT_DIR or its like set (a hook, a script) nothing is asked ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from git_coord.errors import CoordError
from git_coord.process import Process

from .git import CONFIG_QUESTION, Git
from .location import WHERE_QUESTION
from .talk import CAT_FILE

BLOCKING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
_begun: dict[tuple[str, ...], Process] = {}


def begin(env: Mapping[str, str]) -> None:
    """Start the questions in the current directory; a failure to start shows when they are asked in earnest."""
    _start(env, WHERE_QUESTION, CONFIG_QUESTION)


def go_on(env: Mapping[str, str]) -> None:
    """Start the process that reads objects; the one that moves refs shares a lock that lies in the repository."""
    _start(env, CAT_FILE)


def _start(env: Mapping[str, str], *lines: tuple[str, ...]) -> None:
    if any(env.get(name) for name in BLOCKING):
        return
    git = Git(None, env)
    with suppress(CoordError):
        for line in lines:
            _begun[line] = git.start(line)


def take() -> dict[tuple[str, ...], Process]:
    """Hand over what was begun, once."""
    begun = dict(_begun)
    _begun.clear()
    return begun
