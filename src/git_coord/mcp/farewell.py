"""When the client is gone: its claims given back, kept, or kept with a word for others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from git_coord.app import App
from git_coord.errors import CoordError, Kind
from git_coord.service import claims
from git_coord.service.heartbeat import push_beat
from git_coord.service.leases import is_shown, remember
from git_coord.service.ledger import open_ledger, view
from git_coord.service.presence import Wish, own_record, set_presence
from git_coord.service.selection import Selection
from git_coord.service.under_run import claimed_under, forget_run

from .connection import Connection

CHOICES = ("release", "keep", "will")
SETTING = "coord.mcpOnDisconnect"
DEFAULT = "will"


def farewell(connection: Connection, log: Callable[[str], None]) -> None:
    """Do in every repository in use what is configured there; trouble with one is said and stops no other."""
    for used in connection.used.values():
        try:
            app = connection.workspaces.take(used.folder, used.asked_as, log)
            _leave(app, connection.on_disconnect or _configured(app), connection.run)
        except (CoordError, OSError) as trouble:
            log(f"leaving {used.folder}: {trouble}")


def _configured(app: App) -> str:
    chosen = app.config.get(SETTING) or DEFAULT
    if chosen not in CHOICES:
        raise CoordError(Kind.ERROR, f"{SETTING} is {chosen!r}, not {', '.join(CHOICES[:-1])} or {CHOICES[-1]}")
    return chosen


def _leave(app: App, how: str, run: str) -> None:
    coord = app.coord
    if open_ledger(coord) is None or coord.identity is None:
        return
    mine = claimed_under(coord, run)
    forget_run(coord, run)
    member = coord.known.state.agents.get(coord.me.agent)
    if how == "keep" or member is None or member.session != coord.me.session:
        return  # another session goes on as this agent: what it has is not ours to touch
    held = view(coord)[0].held_by(coord.me.agent)
    if how == "release" and (ours := [claim for claim in held if claim.op in mine]):
        claims.release(coord, Selection(tuple((claim, None) for claim in ours)), "disconnected")
        held = view(coord)[0].held_by(coord.me.agent)
    if held or is_shown(coord):
        _show_offline(app, [claim.token for claim in held])
    app.refresh_snapshot()


def _show_offline(app: App, held: list[int]) -> None:
    """Say that nobody is here, with the agent's last will, else what it holds; others see it with the next push."""
    coord, own = app.coord, own_record(app.coord)
    tokens = " ".join(f"#{token}" for token in held[:20])
    holds = f"disconnected, holds {tokens} until the lease ends" if held else "disconnected, holds nothing"
    set_presence(coord, Wish("offline", note=(own.will if own is not None and own.will else holds)))
    remember(coord, view(coord)[0], shows=False)
    with suppress(CoordError):  # a remote that does not answer learns it later
        push_beat(coord)
