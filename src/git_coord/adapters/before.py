"""Before an edit: judge its files on the ledger as this clone knows it, and claim what nobody holds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from git_coord.app import App
from git_coord.errors import CoordError, Kind
from git_coord.guard import edit_state
from git_coord.guard.edit_calls import Call
from git_coord.guard.edit_places import Place
from git_coord.guard.edit_view import AUTO_CLAIM, AUTO_CLAIM_KEY, SUBAGENTS_KEY, View
from git_coord.guard.fast import RULES_FILE
from git_coord.service.claims import ClaimRefused
from git_coord.service.ledger import open_ledger, view
from git_coord.service.members.read_only import limits

from . import words
from .automatic import auto_claim, start_sync
from .identity import open_as, settle, tell_elsewhere

_IGNORED = ("check-ignore", "-z", "--stdin")


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
    claims = app.coord.identity is not None and _auto_claim(edit) != "off" and limits(app.coord.files) is None
    if claims:
        app.warm()
        app.git.begin(_IGNORED)
    if open_ledger(app.coord) is None:
        raise CoordError(Kind.UNKNOWN, "there is no ledger in this clone any more", next="git coord init")
    if app.coord.identity is not None and app.coord.actor is None:
        tell_elsewhere(app, edit.notes)
        claims = False
    why, free = (None, edit.paths) if _are_all_free(app, edit) else _verdict(app, edit)
    if app.coord.identity is not None:
        edit.notes += edit_state.take_news(edit.place, app.coord.me.agent)
    ignored = _ignored(app, free) if claims and why is None and free else set()
    wanted = [path for path in free if path not in ignored] if claims else []
    if why is None and wanted:
        return _claim(app, edit, wanted)
    app.refresh_snapshot()
    return why


def _verdict(app: App, edit: Edit) -> tuple[str | None, list[str]]:
    from .judging import verdict  # only when there is something to judge: a free file has to be quick

    return verdict(app, edit, _auto_claim(edit))


def _auto_claim(edit: Edit) -> str:
    return edit.view.settings.get(AUTO_CLAIM_KEY) or AUTO_CLAIM[0]


def _are_all_free(app: App, edit: Edit) -> bool:
    """Tell whether nobody holds or waits for any of the files, and the team has no rules: nothing is to be judged."""
    if os.path.lexists(os.path.join(edit.place.top, RULES_FILE)):
        return False
    state, _ = view(app.coord)
    return not any(any(state.index.covering(path)) or any(state.asked.covering(path)) for path in edit.paths)


def _open(edit: Edit) -> App:
    """Open the repository as the session's agent; who would have to ask a remote for a name is left without."""
    own = edit.view.own
    found = open_as(edit.place, edit.key, own, notice=edit.notes)
    if found is not None:
        return found
    return settle(edit.place, edit.tool, edit.key, own, notice=edit.notes, waits=False)


def _ignored(app: App, paths: Sequence[str]) -> set[str]:
    """Return the files that git would never commit: a claim of one protects nothing."""
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    return {os.fsdecode(name) for name in app.git.run(_IGNORED, names, check=False).out.split(b"\0") if name}


def _claim(app: App, edit: Edit, paths: Sequence[str]) -> str | None:
    done = auto_claim(app, paths, edit.tool, waits=_auto_claim(edit) == "confirmed")
    app.refresh_snapshot()
    if isinstance(done, ClaimRefused):
        return _verdict(app, edit)[0] or "git coord: somebody was first; next: git coord status"
    for path in paths:
        with suppress(OSError):
            edit_state.pin(edit.place, app.coord.me.agent, os.fsencode(path))
    until = words.clock_time(done.claim.renewed + done.claim.ttl, app.coord.clock.now())
    name = f"#{done.claim.token}" if done.is_confirmed else "here, to be confirmed"
    spell = words.speller(edit.place.top, edit.call.cwd)
    edit.notes.append(f"git coord: claimed for you ({name}, until {until}): {spell.paths(paths)}")
    start_sync(app)
    return None
