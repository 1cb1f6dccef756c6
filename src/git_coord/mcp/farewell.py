"""When the client is gone: its claims given back, handed over, kept, or kept with a word for others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from git_coord.app import App
from git_coord.app.leaving import Leaving, configured, of_agent, show_offline
from git_coord.errors import CoordError
from git_coord.service.giving_back import give_back
from git_coord.service.handover import hand_over
from git_coord.service.heartbeat import push_beat
from git_coord.service.ledger import open_ledger, view
from git_coord.service.selection import Selection
from git_coord.service.under_run import claimed_under, forget_run

from .connection import Connection

DEFAULT = "will"
WORD = "disconnected"


def farewell(connection: Connection, log: Callable[[str], None]) -> None:
    """Do in every repository in use what is configured there; trouble with one is said and stops no other."""
    for used in connection.used.values():
        try:
            app = connection.workspaces.take(used.folder, used.asked_as, log)
            _leave(app, connection.on_disconnect or configured(app, DEFAULT), connection.run, log)
            forget_run(app.coord, connection.run)
        except (CoordError, OSError) as trouble:
            log(f"leaving {used.folder}: {trouble}")


def _leave(app: App, leaving: Leaving, run: str, log: Callable[[str], None]) -> None:
    coord = app.coord
    if open_ledger(coord) is None or coord.identity is None:
        return
    mine = claimed_under(coord, run)
    member = coord.known.state.agents.get(coord.me.agent)
    if leaving.how == "keep" or member is None or member.session != coord.me.session:
        return  # another session goes on as this agent: what it has is not ours to touch
    ours = [claim for claim in view(coord)[0].held_by(coord.me.agent) if claim.op in mine]
    if ours:
        try:
            _give(app, of_agent(app, leaving), Selection(tuple((claim, None) for claim in ours)), run)
        except CoordError as trouble:  # what could not be given is kept, and others are told that
            log(f"leaving {app.location.top}: {trouble}")
    if show_offline(app, WORD):
        with suppress(CoordError):  # a remote that does not answer learns it later
            push_beat(coord)
    app.refresh_snapshot()


def _give(app: App, leaving: Leaving, ours: Selection, run: str) -> None:
    if leaving.how == "release":
        give_back(app.coord, run, WORD)
    elif leaving.to is not None:
        hand_over(app.coord, ours, leaving.to, WORD)
