"""Whether files may be changed, where somebody holds some of them or the team has rules; decided on the ledger."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from git_coord.app import App
from git_coord.domain.team import Reach, Team
from git_coord.errors import CoordError, Kind
from git_coord.guard import edit_state
from git_coord.hooks.judge import Judgement, judge, rules_here
from git_coord.service.members.read_only import limits
from git_coord.service.query import Picture, picture
from git_coord.service.sync import picture_age
from git_coord.service.team import load_team, write_policy

from . import words
from .before import Edit


def verdict(app: App, edit: Edit, auto: str) -> tuple[str | None, list[str]]:
    """Return why not, and the files that no claim of anybody's covers and no rule exempts."""
    judged, team, now = _judged(app, edit)
    spell = words.speller(edit.place.top, edit.call.cwd)
    if judged.claimed:
        age = picture_age(app.coord) if app.coord.remote is not None else None
        may_write = limits(app.coord.files) is None
        return words.held(judged, spell, now.now, age, may_write=may_write), []
    if judged.lapsed:
        return words.lapsed(judged, spell, has_remote=app.coord.remote is not None), []
    if judged.unclaimed and (app.coord.identity is None or auto == "off"):
        return words.unclaimed(judged.unclaimed, spell), []
    exempt = Reach(team.exempt, now.state.fold)
    meant = [path for path in edit.paths if not exempt.covers(path)]
    free = [path for path in meant if not any(now.state.index.covering(path))]
    if app.coord.identity is not None and (
        moved := _changed(app, edit, now, [path for path in meant if path not in free])
    ):
        return words.changed(moved, spell), []
    return None, free


def _judged(app: App, edit: Edit) -> tuple[Judgement, Team, Picture]:
    team, stamped = load_team(edit.place.top)
    now = picture(app.coord)
    if team.repo not in (None, now.state.repo):
        raise CoordError(Kind.UNTRUSTED, f".coord.toml means the ledger {team.repo}, here is {now.state.repo}")
    with suppress(OSError):  # costs time at the next call, and nothing else
        write_policy(app.coord.files, team, stamped, now.state.fold)
    return judge(now, rules_here(app, team), app.coord.actor, edit.paths), team, now


def _changed(app: App, edit: Edit, now: Picture, held: Sequence[str]) -> list[str]:
    """Return the files under own claims that hold neither what the agent left there nor what its claim pins."""
    me, found = app.coord.me.agent, []
    for path in held:
        if edit_state.is_as_pinned(edit.place, me, os.fsencode(path)):
            continue
        if not _is_as_claimed(app, edit, now, path):
            found.append(path)
            continue
        with suppress(OSError):
            edit_state.pin(edit.place, me, os.fsencode(path))
    return found


def _is_as_claimed(app: App, edit: Edit, now: Picture, path: str) -> bool:
    """Compare with the pin of the claim; under a folder or glob, and of a large file, only own edits are pinned."""
    state = now.state
    items = [state.claims[nonce].items[at] for nonce, at in state.index.covering(path)]
    pins = [item.blob for item in items if item.name == path and item.kind.value == "path"]
    if not pins or edit_state.is_large(edit.place.top, os.fsencode(path)):
        return edit_state.is_as_pinned(edit.place, app.coord.me.agent, os.fsencode(path)) is None
    return app.worktree.pins([path]).get(path) in pins
