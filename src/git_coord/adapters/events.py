"""The events of a session, decided by the full program: a tool and its payload in, what the hook prints out."""

from __future__ import annotations

import os
from contextlib import suppress

from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.guard import edit, edit_state, edit_tree
from git_coord.guard.edit import Answer
from git_coord.guard.edit_calls import Call, dialect, read_call
from git_coord.guard.edit_view import AUTO_CLAIM_KEY, AUTO_RELEASE_KEY, View
from git_coord.guard.fast import MODES
from git_coord.guard.git import GitFailed

from . import words
from .dialects import denying, greeting


def decide(tool: str, event: str, data: bytes) -> Answer:
    """Answer a hook. Whatever goes wrong is said, and only before an edit of a managed file is it a refusal."""
    payload = edit.parse(data)
    if isinstance(payload, str):
        return edit.not_understood(tool, event, payload)
    tool = dialect(tool, payload)
    call = read_call(tool, payload, edit.here())
    if event == "pre-edit":
        return _before(tool, call)
    try:
        if event == "post-edit":
            return _after(tool, call, data)
        if event == "session-start":
            return _begin(tool, call)
        return _end(tool, call, is_over=event == "session-end")
    except Exception as trouble:  # a hook never crashes, and nothing but an edit is ever refused
        shown = escape_for_display(str(trouble) or type(trouble).__name__)
        return Answer(edit.allowing(tool, event, []).out, f"git coord: {shown}\n")


def _before(tool: str, call: Call) -> Answer:
    from .before import Edit, objection, session_key

    refusals: list[str] = []
    notes: list[str] = []
    for place, names in edit.groups(call):
        mode = "block"
        try:
            view = edit.seen.get(place.top) or View.of(place)
            if view is None or view.mode == "off":
                continue
            mode = view.mode
            if mode not in MODES:
                notes.append(
                    f"git coord: mode '{escape_for_display(mode)}' is none of {', '.join(MODES)}; taken as block"
                )
            why = objection(Edit(tool, call, place, view, names, session_key(tool, call, view), notes))
        except Exception as trouble:  # whatever goes wrong must not look like a verdict
            why = words.trouble(_as_error(trouble))
        if why is not None and mode == "warn":
            notes.append(why.replace("git coord:", "git coord: warning,", 1))
        elif why is not None:
            refusals.append(why)
    if refusals:
        return denying(tool, "\n".join([*refusals, *notes]))
    if call.is_shell:
        with suppress(Exception):  # the command was judged; only the report after it needs this
            _look(tool, call)
    return edit.allowing(tool, "pre-edit", notes)


def _look(tool: str, call: Call) -> None:
    """Make the picture of the worktree that the one after the command will be compared with."""
    from .before import session_key
    from .identity import settle

    place = edit.standing(call)
    view = View.of(place) if place is not None else None
    if place is None or view is None or view.mode == "off":
        return
    own = view.own
    app = settle(place, tool, session_key(tool, call, view), own, notice=[], waits=False)
    if app.coord.identity is not None and not edit_tree.is_known(place, app.coord.me.agent):
        edit_tree.look(place, app.coord.me.agent)


def _as_error(trouble: Exception) -> CoordError:
    if isinstance(trouble, CoordError):
        return trouble
    return CoordError(Kind.ERROR, f"{type(trouble).__name__}: {trouble}", next="git coord doctor")


def _after(tool: str, call: Call, data: bytes) -> Answer:
    """Bring the flat files up to date, then do what the guard does; give back what is held for one edit only."""
    from .automatic import give_back
    from .before import session_key
    from .identity import open_as

    released: list[str] = []
    for place, names in [*edit.groups(call), *_here(call)]:
        view = View.of(place)
        if view is None or view.mode == "off":
            continue
        app = open_as(place, session_key(tool, call, view), view.own, notice=[])
        if app is None:
            continue
        app.refresh_snapshot()
        if view.settings.get(AUTO_RELEASE_KEY) == "edit" and app.coord.identity is not None:
            for name in names:
                edit_state.pin(place, app.coord.me.agent, name)
            released += give_back(app, "edited", only=[os.fsdecode(name) for name in names])
    if released:
        return edit.allowing(tool, "post-edit", [])
    return edit.quick(tool, "post-edit", data) or edit.allowing(tool, "post-edit", [])


def _here(call: Call) -> list[edit.Group]:
    place = edit.standing(call)
    return [(place, [])] if call.is_shell and place is not None else []


def _begin(tool: str, call: Call) -> Answer:
    """Settle who the session is, tell its shells, and say in a short paragraph what it should know."""
    from .before import session_key
    from .greet import paragraph, tell_shells, told
    from .identity import settle

    place = edit.standing(call)
    view = View.of(place) if place is not None else None
    if place is None or view is None or view.mode == "off":
        return greeting(tool, "")
    notes: list[str] = []
    own = view.own
    app = settle(place, tool, session_key(tool, call, view), own, notice=notes, waits=True)
    if app.coord.identity is None:
        return greeting(tool, "\n".join(escape_for_display(note) for note in [*notes, *told(app)]))
    tell_shells(app, os.environ.get("CLAUDE_ENV_FILE") if tool == "claude-code" else None)
    with suppress(GitFailed, OSError):
        edit_tree.look(place, app.coord.me.agent)
    return greeting(tool, paragraph(app, view.settings.get(AUTO_CLAIM_KEY) or "local", notes))


def _end(tool: str, call: Call, *, is_over: bool) -> Answer:
    """Leave as configured; at the end of the session its name and its worktree are free again, whatever went wrong."""
    from .before import session_key
    from .identity import leave, open_as

    place = edit.standing(call)
    view = View.of(place) if place is not None else None
    if place is None or view is None:
        return Answer("{}" if tool in ("cursor", "opencode") else "")
    key = session_key(tool, call, view)
    app = open_as(place, key, view.own, notice=[])
    words = ""
    try:
        if app is not None and app.coord.identity is not None:
            from git_coord.service.ledger import open_ledger

            from .ending import end_session, end_turn

            open_ledger(app.coord)
            words = (end_session if is_over else end_turn)(app)
    finally:
        if is_over:
            leave(place, key)
    return Answer("{}" if tool in ("cursor", "opencode") else "", words)
