"""What was taken from an agent and has stopped nothing yet: one commit or push of it does stop."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from git_coord.domain.team import entitled
from git_coord.service import gone

if TYPE_CHECKING:
    from git_coord.app import App
    from git_coord.domain.commits import UserCommit
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


def stopped_push(app: App, commits: Sequence[UserCommit], *, warns: bool) -> list[str]:
    """Return what to say of commits made under claims that were taken since: who has slept is to hear of it."""
    from git_coord.service.snapshot import write_snapshot

    from . import words

    with suppress(OSError):  # finds out what was lost, and what cannot be written stops nobody
        write_snapshot(app.coord)
    lost = taken(app, app.coord.known.state, sorted({delta.path for one in commits for delta in one.changes}))
    if not lost:
        return []
    word = "warning" if warns else "push refused"
    anew = words.claim_anew(lost, os.environ.get("GIT_PREFIX", ""))
    step = f"{anew} && git push" if anew else "git coord status"
    rows = words.gone_rows(lost, app.coord.clock.now())
    doubt = "(is it wanted still? git log @{upstream}..)"
    return [f"git coord: {word}, your claim is gone", *rows, f"next    {step}      {doubt}"]
