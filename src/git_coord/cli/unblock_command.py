"""`git coord unblock`: let tasks be claimed again."""

from __future__ import annotations

import click

from git_coord.errors import CoordError, Kind
from git_coord.service import tasks
from git_coord.service.ledger import open_ledger
from git_coord.service.remote_ledger import fetch_and_adopt

from . import options, resources
from .block_command import only_tasks, tell


@click.command("unblock", context_settings=options.HELP)
@click.argument("task", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Every block there is, whoever made it.")
@click.option("-m", "--reason", "reason", default="", callback=options.clean_line, help="Why, one line.")
@options.common
def command(task: tuple[str, ...], is_all: bool, reason: str, as_json: bool, agent: str | None) -> int:
    """Lift the blocks on tasks and on what is below them; whoever waits for one is granted it."""
    app, output = options.means(as_json, agent)
    if is_all == bool(task):
        raise CoordError(Kind.USAGE, "name tasks, or give --all")
    names = [item.name for item in only_tasks(resources.plain_items(app, task))]
    open_ledger(app.coord)
    if app.coord.remote is not None:
        fetch_and_adopt(app.coord)  # also with a young picture: "it is not blocked" would be an answer from it
    done = tasks.unblock(app.coord, None if is_all else names, reason)
    app.refresh_snapshot()
    return tell(app, output, "unblocked", done)
