"""`git coord expel`: put a member out, with a policy key."""

from __future__ import annotations

from collections.abc import Sequence

import click

from git_coord.app import App
from git_coord.domain.ids import Agent, is_agent
from git_coord.errors import CoordError, Kind
from git_coord.service.ledger import open_ledger
from git_coord.service.members.expel import expel
from git_coord.service.remote_ledger import fetch_and_adopt

from . import options
from .output import Output
from .release_command import tell


@click.command("expel", context_settings=options.HELP)
@click.argument("name", nargs=-1, required=True)
@click.option("-m", "--reason", "reason", required=True, callback=options.clean_line, help="Why, one line.")
@options.common
def command(name: tuple[str, ...], reason: str, as_json: bool, agent: str | None) -> int:
    """Put members out: their claims and their waiting end, and nothing they sign counts any more; needs a policy key.

    What they did stays valid. One comes back with a new key that policy --allow names for it.
    """
    app, output = options.means(as_json, agent)
    for one in name:
        if not is_agent(one):
            raise CoordError(Kind.USAGE, f"{one!r} is not the name of an agent", next="git coord status")
    look(app)
    return put_out(app, output, [Agent(one) for one in name], reason)


def look(app: App) -> None:
    """Open the ledger as the remote has it now: "has not joined" would be an answer from an old picture."""
    open_ledger(app.coord)
    if app.coord.remote is not None:
        fetch_and_adopt(app.coord)


def put_out(app: App, output: Output, agents: Sequence[Agent], reason: str) -> int:
    """Expel them and say what ended by it, and who may still come in."""
    done = expel(app.coord, agents, reason)
    app.refresh_snapshot()
    is_open = app.coord.known.state.policy.join == "open"
    if not output.is_json:
        output.lines([f"expelled {', '.join(agents)}"])
    tell(app, output, "ended", done, {"expelled": list(agents), "join": "open" if is_open else "listed"})
    if is_open and not output.is_json:
        output.lines(["note     whoever can push may still join under another name: git coord policy --listed FILE"])
    return 0
