"""What was taken from an agent and has stopped nothing yet: one commit or push of it does stop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from git_coord.domain.team import entitled
from git_coord.service import gone

if TYPE_CHECKING:
    from git_coord.app import App
    from git_coord.domain.state import State
    from git_coord.service.leases import Gone


def taken(app: App, state: State, paths: Sequence[str]) -> list[Gone]:
    """Return the claims on these paths that were taken from the agent, and forget them: each stops one thing.

    What it holds again meanwhile it has claimed in full knowledge.
    """
    if app.coord.identity is None:
        return []
    me = app.coord.me.agent
    mine = entitled([item for claim in state.held_by(me) for _, item in claim.live()], state.fold)
    open_paths = [path for path in paths if not mine.covers(path)]
    found = [each for each in gone.kept(app.coord) if any(map(entitled(each.items, state.fold).covers, open_paths))]
    with suppress(OSError):
        gone.forget(app.coord, {each.token for each in found})
    return found
