"""What follows a command: what ends soon is said, and a process beside it pushes a beat or tidies up if that is due."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_coord.guard import beats

from .root import App

if TYPE_CHECKING:
    from git_coord.service.context import Coord

RUNNING = "running"
KILLED_SPACING = 1
"""Seconds between two starts of the process that gives back what killed runs held."""


def afterwards(app: App) -> None:
    """End a command; raises CoordError or OSError, which are no trouble of what the command did."""
    coord = app.coord
    if coord.identity is None or app.config.get("coord.repo") is None:
        return
    from git_coord.service.leases import afterwards as say
    from git_coord.service.superseded import has_many

    say(coord)
    folder, agent, now = coord.files.common, coord.me.agent, coord.clock.now()
    if os.path.isdir(coord.files.path(RUNNING)) and _has_killed(coord):
        beats.start(folder, agent, now, KILLED_SPACING, asks=True)
    elif not beats.push_if_due(folder, agent, now) and has_many(coord):
        beats.start(folder, agent, now, beats.SPACING)


def _has_killed(coord: Coord) -> bool:
    from git_coord.service.alive.runs import is_due

    return is_due(coord)


def end_killed(app: App) -> None:
    """Give back what `git coord run` held for commands that have ended, where it was killed; raises CoordError."""
    coord = app.coord
    if os.path.isdir(coord.files.path(RUNNING)) and _has_killed(coord):
        from git_coord.service.alive.runs import end_shown, give_back_killed
        from git_coord.service.ledger import open_ledger

        if open_ledger(coord) is not None:
            end_shown(coord)
            give_back_killed(coord)


def clear_away(app: App) -> None:
    """Remove superseded heartbeats and posts, when there are many."""
    from git_coord.service.superseded import clear_away as clear
    from git_coord.service.superseded import has_many
    from git_coord.store.unreferenced import LooseObjects

    if has_many(app.coord):
        clear(app.coord, LooseObjects(app.git, app.location.common_dir).discard)
