"""`git coord posts`: the postboard."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.domain.ids import Agent
from git_coord.errors import CoordError, Kind
from git_coord.service.posts import LIVE, board
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import freshen
from git_coord.service.unread import mark_read, unread

from . import options, render
from .status_command import post_line, post_object


@click.command("posts", context_settings=options.HELP)
@click.option("--all", "is_all", is_flag=True, help="Also what is done or dropped.")
@click.option(
    "--for", "whom", metavar="AGENT|me", help="Only what is for this agent, for its claims, or for everybody."
)
@click.option("--unread", "is_unread", is_flag=True, help="Only what you were not shown yet in this session.")
@options.local
@options.common
def command(is_all: bool, whom: str | None, is_unread: bool, is_local: bool, as_json: bool, agent: str | None) -> int:
    """Show what agents posted, the oldest first."""
    app, output = options.means(as_json, agent)
    # The stamp of a whole exchange counts here: a mere claim also agrees with the remote, but reads no posts.
    age = freshen(app.coord, is_local=is_local, families=ROSTER_FAMILIES)
    shown = [posted for posted in board(app.coord) if is_all or posted.post.status in LIVE]
    if whom is not None:
        addressee = _agent(app, whom)
        shown = [posted for posted in shown if posted.is_for(addressee)]
    if is_unread:
        shown = [notice.posted for notice in unread(app.coord, shown)]
    if app.coord.identity is not None:
        mark_read(app.coord, shown)
    now = app.coord.clock.now()
    if output.is_json:
        output.object({"posts": [post_object(posted) for posted in shown], "as_of": render.as_of_stamp(age)})
    else:
        output.lines([*([post_line(posted, now) for posted in shown] or ["none"]), render.as_of(age, app.remote_name)])
    return 0


def _agent(app: App, whom: str) -> Agent:
    if whom == "me":
        return app.coord.me.agent
    if whom not in app.coord.known.state.agents:
        raise CoordError(Kind.USAGE, f"no agent {whom!r} here", next="git coord presence")
    return Agent(whom)
