"""Each command leaves a note of its agent in the worktree's own folder: that is how two in one checkout are noticed."""

from __future__ import annotations

import contextlib

from .context import Coord

FOLDER = "here"
NOTED_SECONDS = 60
"""A note younger than this is not written again."""


def note_here(coord: Coord) -> None:
    """Note that the agent is at work in this worktree; a folder that cannot be written is no trouble of the command."""
    if coord.identity is None:
        return
    me, now = coord.me, coord.clock.now()
    found = noted(coord, me.agent)
    if found is not None and found[1] == me.session and 0 <= now - found[0] < NOTED_SECONDS:
        return
    with contextlib.suppress(OSError):
        coord.files.write(f"{FOLDER}/{me.agent}", f"{now} {me.session}\n".encode("ascii"), local=True)


def noted(coord: Coord, agent: str) -> tuple[int, str] | None:
    """Return when (seconds since the epoch) and in which session an agent last ran a command here, None for never."""
    words = (coord.files.read(f"{FOLDER}/{agent}", local=True) or b"").decode("ascii", "replace").split()
    return (int(words[0]), words[1]) if len(words) == 2 and words[0].isdigit() else None
