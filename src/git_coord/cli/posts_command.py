"""`git coord posts`: the postboard."""

from __future__ import annotations

import click

from git_coord.service.posts import board
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import freshen

from . import options, render
from .status_command import post_line, post_object


@click.command("posts", context_settings=options.HELP)
@click.option("--all", "is_all", is_flag=True, help="Also what is done or dropped.")
@options.local
@options.common
def command(is_all: bool, is_local: bool, as_json: bool, agent: str | None) -> int:
    """Show what agents posted, the oldest first."""
    app, output = options.means(as_json, agent)
    # The stamp of a whole exchange counts here: a mere claim also agrees with the remote, but reads no posts.
    age = freshen(app.coord, is_local=is_local, families=ROSTER_FAMILIES)
    shown = [posted for posted in board(app.coord) if is_all or posted.post.status in ("open", "taken")]
    now = app.coord.clock.now()
    if output.is_json:
        output.object({"posts": [post_object(posted) for posted in shown], "as_of": render.as_of_stamp(age, now)})
    else:
        output.lines([*([post_line(posted, now) for posted in shown] or ["none"]), render.as_of(age, app.remote_name)])
    return 0
