"""A worktree whose clone may not write at the remote: it looks, verifies and judges, and claims nothing.

`init` notes it when the remote answers and takes nothing; it ends with the first push that is taken.
"""

from __future__ import annotations

import os
from contextlib import suppress

from git_coord.domain.ids import Agent, is_agent
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.service.files import CoordFiles

NOTE = "read-only"
"""The file that says so: the name that was wanted, and why the remote took nothing."""


class ReadOnly(NamedTuple):
    """Why nothing can be written, in a sentence, and the agent that `init` was to set up."""

    agent: Agent
    why: str

    def refusal(self) -> CoordError:
        """Return the error for what needs an agent that has joined."""
        text = f"this clone is read-only, {self.why}; once you may write there, git coord init makes it a full one"
        return CoordError(Kind.UNKNOWN, text, next="git coord init", data={"read_only": True, "reason": self.why})


def note(files: CoordFiles, found: ReadOnly) -> None:
    """Write down that this worktree is read-only."""
    files.write(NOTE, f"{found.agent}\n{escape_for_display(found.why)}\n".encode(), local=True)


def read_only(files: CoordFiles) -> ReadOnly | None:
    """Return why this worktree is read-only, None when it is not known to be."""
    data = files.read(NOTE, local=True)
    if data is None:
        return None
    agent, _, why = data.decode("utf-8", "replace").partition("\n")
    return ReadOnly(Agent(agent), why.strip()) if is_agent(agent) else None


def limits(files: CoordFiles) -> str | None:
    """Return why nothing can be claimed from here: the remote takes nothing, or the repository may only be read."""
    found = read_only(files)
    return found.why if found else _unwritable(files)


def require_writable(files: CoordFiles) -> None:
    """Raise CoordError(UNKNOWN) where the repository itself may only be read."""
    why = _unwritable(files)
    if why is not None:
        raise CoordError(Kind.UNKNOWN, f"this clone is read-only: {why}", data={"read_only": True, "reason": why})


def _unwritable(files: CoordFiles) -> str | None:
    folder = files.common if os.path.isdir(files.common) else os.path.dirname(files.common)
    is_shut = os.path.isdir(folder) and not os.access(folder, os.W_OK)
    return f"{os.path.dirname(files.common)} may only be read" if is_shut else None


def forget(files: CoordFiles) -> None:
    """Let it be a full clone again: something was written."""
    with suppress(OSError):
        files.remove(NOTE, local=True)
