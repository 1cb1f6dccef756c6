"""The end of a turn, and of a session: what its hooks claimed is given back, handed over or kept, as configured."""

from __future__ import annotations

from git_coord.app import App
from git_coord.app.leaving import Leaving, configured, of_agent, show_offline
from git_coord.domain.ids import Agent
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError
from git_coord.service.handover import hand_over_here
from git_coord.service.selection import Selection

from .automatic import forget, give_back, held_automatically, start_sync
from .detached import start

DEFAULT = "release"
RELEASES = "coord.autoRelease"
TURN, SESSION = "the turn has ended", "the session has ended"


def end_turn(app: App) -> str:
    """Give back what the hooks claimed, unless that is to wait for the session's end; return what is to be said."""
    leaving, words = _leaving(app)
    waits = "stop" if leaving.how == "release" else "end"
    if (app.config.get(RELEASES) or waits) != "end":
        give_back(app, TURN)
    return words


def end_session(app: App) -> str:
    """Leave as configured, without waiting for a remote; return what is to be said.

    What cannot be handed over is kept until its lease ends: somebody meant it not to be free.
    """
    leaving, words = _leaving(app)
    leaving = of_agent(app, leaving)
    if leaving.how == "release":
        give_back(app, SESSION)
    elif leaving.to is not None:
        words += _hand_over(app, leaving.to)
    elif leaving.how == "will" and show_offline(app, "session ended"):
        app.refresh_snapshot()
        if app.coord.remote is not None:
            start(app, ["depart"])
    forget(app)
    return words


def _hand_over(app: App, to: Agent) -> str:
    held, words = held_automatically(app), ""
    if not held:
        return ""
    try:
        hand_over_here(app.coord, Selection(tuple((claim, None) for claim in held)), to, SESSION)
    except CoordError as trouble:
        words = f"git coord: not handed over, kept until the lease ends: {escape_for_display(trouble.message)}\n"
    app.refresh_snapshot()
    start_sync(app)
    return words


def _leaving(app: App) -> tuple[Leaving, str]:
    try:
        return configured(app, DEFAULT), ""
    except CoordError as trouble:
        return Leaving(DEFAULT), f"git coord: {escape_for_display(trouble.message)}; taken as {DEFAULT}\n"
