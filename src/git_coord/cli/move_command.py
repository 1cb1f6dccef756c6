"""`git coord move`: the ledger of the whole team goes on at another place."""

from __future__ import annotations

import click

from git_coord.app.move_ledger import follow, move_ledger
from git_coord.errors import CoordError, Kind
from git_coord.service.ledger import open_ledger

from . import options


@click.command("move", context_settings=options.HELP)
@click.argument("remote", required=False)
@click.option(
    "--prefix",
    metavar="PREFIX",
    help="What the refs there begin with, as coord.refPrefix says it.",
)
@click.option("--follow", "follows", is_flag=True, help="Go where the ledger of this clone was moved to.")
@click.option("-m", "reason", metavar="WHY", default="", callback=options.clean_line, help="Why, for the others.")
@options.common
def command(
    remote: str | None, prefix: str | None, follows: bool, reason: str, as_json: bool, agent: str | None
) -> int:
    """Move the ledger of the whole team to REMOTE, a configured one, or to another prefix; signed by a policy key.

    The last operation at the old place says where it went: every clone that asks there is told (exit 5), claims
    nothing there any more, and goes on with --follow. What was pending is placed at the new place.
    """
    if follows == bool(remote or prefix):
        raise CoordError(Kind.USAGE, "say where to, REMOTE or --prefix, or --follow", next="git coord move -h")
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    there = follow(app) if follows else move_ledger(app, remote, prefix, reason)
    if output.is_json:
        output.object({"remote": there.name, "url": there.url, "prefix": there.prefix})
    else:
        output.lines([f"{'followed' if follows else 'moved'}   the ledger is at {there.shown()}"])
        if not follows:
            output.lines(["next     the others are told by their next command: git coord move --follow"])
    return 0
