"""Before an edit: judge its files on the ledger as this clone knows it, and claim what nobody holds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from git_coord.app import App
from git_coord.errors import CoordError, Kind
from git_coord.guard import edit_state
from git_coord.guard.edit import AUTO_CLAIM, AUTO_CLAIM_KEY, SUBAGENTS_KEY, View
from git_coord.guard.edit_calls import Call
from git_coord.guard.edit_places import Place
from git_coord.hooks.judge import Judgement, judge
from git_coord.service.claims import ClaimRefused
from git_coord.service.ledger import open_ledger
from git_coord.service.query import picture
from git_coord.service.sync import picture_age
from git_coord.service.team import load_team, write_policy

from . import words
from .automatic import auto_claim, start_sync
from .identity import open_as, settle


@dataclass(slots=True)
class Edit:
    """A call's files in one worktree, as the session `key` of a tool would change them; `notes` are for the agent."""

    tool: str
    call: Call
    place: Place
    view: View
    names: list[bytes]
    key: str
    notes: list[str]

    @property
    def paths(self) -> list[str]:
        """The files, relative to the top, as strings."""
        return [os.fsdecode(name) for name in self.names]


def session_key(tool: str, call: Call, view: View) -> str:
    """Return the name of a call's session in the files of edit hooks."""
    apart = view.settings.get(SUBAGENTS_KEY) == "apart"
    return edit_state.session_key(tool, call.session, call.subagent, apart=apart)


def objection(edit: Edit) -> str | None:
    """Return why the call must not happen, None when it may; files that were free are claimed by then.

    Raises CoordError when that cannot be found out.
    """
    app = _open(edit)
    if open_ledger(app.coord) is None:
        raise CoordError(Kind.UNKNOWN, "there is no ledger in this clone any more", next="git coord init")
    judged = _judged(app, edit)
    spell = words.speller(edit.place.top, edit.call.cwd)
    me = app.coord.identity.agent if app.coord.identity else None
    edit.notes += edit_state.take_news(edit.place, me) if me is not None else []
    if judged.claimed:
        age = picture_age(app.coord) if app.coord.remote is not None else None
        return words.held(judged, spell, app.coord.clock.now(), age)
    if judged.lapsed:
        return words.lapsed(judged, spell, has_remote=app.coord.remote is not None)
    free = _free(app, edit)
    mode = edit.view.settings.get(AUTO_CLAIM_KEY) or AUTO_CLAIM[0]
    if judged.unclaimed and (mode == "off" or me is None):
        return words.unclaimed(judged.unclaimed, spell)
    if me is None:
        return None
    if moved := _changed(app, edit, [path for path in edit.paths if path not in free]):
        return words.changed(moved, spell)
    wanted = [path for path in free if path in judged.unclaimed or not _is_ignored(app, path)]
    return _claim(app, edit, wanted, waits=mode == "confirmed") if wanted and mode != "off" else None


def _open(edit: Edit) -> App:
    """Open the repository as the session's agent; who would have to ask a remote for a name is left without."""
    own = edit.view.settings.get("coord.agent") or ""
    found = open_as(edit.place, edit.key, own, notice=edit.notes)
    if found is not None:
        return found
    return settle(edit.place, edit.tool, edit.key, own, notice=edit.notes, waits=False)


def _judged(app: App, edit: Edit) -> Judgement:
    team, stamped = load_team(edit.place.top)
    now = picture(app.coord)
    if team.repo not in (None, now.state.repo):
        raise CoordError(Kind.UNTRUSTED, f".coord.toml means the ledger {team.repo}, here is {now.state.repo}")
    app.refresh_snapshot()
    with suppress(OSError):  # costs time at the next call, and nothing else
        write_policy(app.coord.files, team, stamped, now.state.fold)
    me = app.coord.identity.agent if app.coord.identity else None
    return judge(now, team, me, edit.paths)


def _free(app: App, edit: Edit) -> list[str]:
    """Return the paths that no claim of anybody's covers, and no rule exempts."""
    from git_coord.domain.team import Reach

    team, _ = load_team(edit.place.top)
    state = picture(app.coord).state
    exempt = Reach(team.exempt, state.fold)
    return [path for path in edit.paths if not exempt.covers(path) and not any(state.index.covering(path))]


def _changed(app: App, edit: Edit, held: Sequence[str]) -> list[str]:
    """Return the files under own claims that hold neither what the agent left there nor what its claim pins."""
    me, found = app.coord.me.agent, []
    for path in held:
        if edit_state.is_as_pinned(edit.place, me, os.fsencode(path)):
            continue
        if not _is_as_claimed(app, edit, path):
            found.append(path)
            continue
        with suppress(OSError):
            edit_state.pin(edit.place, me, os.fsencode(path))
    return found


def _is_as_claimed(app: App, edit: Edit, path: str) -> bool:
    """Compare with the pin of the claim; under a folder or a glob nothing but the agent's own edits is pinned."""
    state = picture(app.coord).state
    items = [state.claims[nonce].items[at] for nonce, at in state.index.covering(path)]
    pins = [item.blob for item in items if item.name == path and item.kind.value == "path"]
    if not pins:
        return edit_state.is_as_pinned(edit.place, app.coord.me.agent, os.fsencode(path)) is None
    return app.worktree.pins([path]).get(path) in pins


def _is_ignored(app: App, path: str) -> bool:
    """Tell whether git would never commit the file: then a claim of it protects nothing."""
    return app.git.run(["check-ignore", "-q", "--", path], check=False).code == 0


def _claim(app: App, edit: Edit, paths: Sequence[str], *, waits: bool) -> str | None:
    try:
        done = auto_claim(app, paths, edit.tool, waits=waits)
    except CoordError as trouble:
        if trouble.kind is not Kind.LOST and not waits:
            raise
        step = f"; next: {trouble.next}" if trouble.next else ""
        raise CoordError(trouble.kind, f"{trouble.message}{step}", next=trouble.next) from None
    app.refresh_snapshot()
    if isinstance(done, ClaimRefused):
        judged = _judged(app, edit)
        return words.held(judged, words.speller(edit.place.top, edit.call.cwd), app.coord.clock.now(), None)
    for path in paths:
        with suppress(OSError):
            edit_state.pin(edit.place, app.coord.me.agent, os.fsencode(path))
    until = words.clock_time(done.claim.renewed + done.claim.ttl, app.coord.clock.now())
    name = f"#{done.claim.token}" if done.is_confirmed else "here, to be confirmed"
    spell = words.speller(edit.place.top, edit.call.cwd)
    edit.notes.append(f"git coord: claimed for you ({name}, until {until}): {spell.paths(paths)}")
    start_sync(app)
    return None
