"""Small files of this clone that nobody reads any more: of sessions and runs that ended long ago without a word."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from .alive.runs import FOLDER as RUNNING
from .context import Coord
from .losses import FOLDER as LOST
from .losses import read_losses
from .under_run import FOLDER as RUNS
from .under_run import claimed_under
from .unread_marks import READ

OLD_SECONDS = 30 * 86400
"""For so long nobody has written such a file."""


def drop_old_files(coord: Coord) -> int:
    """Remove what sessions before the present one had read, lists of runs that hold nothing, and losses long told.

    Returns how many.
    """
    return sum(
        _drop(coord, folder, is_wanted)
        for folder, is_wanted in (
            (READ, lambda name: _is_present(coord, name)),
            (RUNS, lambda run: _holds(coord, run)),
            (RUNNING, lambda name: _holds(coord, name.rpartition(".")[2])),
            (LOST, lambda agent: bool(read_losses(coord.files.read(f"{LOST}/{agent}") or b""))),
        )
    )


def _is_present(coord: Coord, name: str) -> bool:
    """Tell whether a file is of the session that the ledger has of its agent; both may have dots."""
    return any(name == f"{agent}.{member.session}" for agent, member in coord.known.state.agents.items())


def _holds(coord: Coord, run: str) -> bool:
    live = coord.known.state.claims.keys() | coord.known.state.waiting.keys()
    return not live.isdisjoint(claimed_under(coord, run))


def _drop(coord: Coord, folder: str, is_wanted: Callable[[str], bool]) -> int:
    gone = 0
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(coord.files.path(folder))):
            is_old = coord.clock.now() - entry.stat(follow_symlinks=False).st_mtime > OLD_SECONDS
            if is_old and not is_wanted(entry.name):
                coord.files.remove(f"{folder}/{entry.name}")
                gone += 1
    return gone
