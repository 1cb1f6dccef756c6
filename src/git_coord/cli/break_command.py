"""`git coord break`: free somebody's claims, with a policy key."""

from __future__ import annotations

import click

from git_coord.errors import CoordError, Kind
from git_coord.service import claims, selection
from git_coord.service.ledger import open_ledger, view
from git_coord.service.remote_ledger import fetch_and_adopt

from . import options, resources
from .release_command import tell


@click.command("break", context_settings=options.HELP)
@click.argument("token", nargs=-1, required=True)
@click.option("-m", "--reason", "reason", required=True, callback=options.clean_line, help="Why, one line.")
@options.common
def command(token: tuple[str, ...], reason: str, as_json: bool, agent: str | None) -> int:
    """Free claims without taking them: #1042 …; needs a policy key (see git coord policy)."""
    app, output = options.means(as_json, agent)
    tokens, others = resources.tokens_and_names([t if t.startswith("#") else f"#{t}" for t in token])
    if others:
        raise CoordError(Kind.USAGE, f"{others[0][1:]} is not a token like #1042", next="git coord status")
    open_ledger(app.coord)
    if app.coord.remote is not None:
        fetch_and_adopt(app.coord)  # also with a young picture: "nobody holds that" would be an answer from it
    state, _ = view(app.coord)
    done = claims.break_claims(app.coord, selection.by_token(state, tokens, None), reason)
    app.refresh_snapshot()
    return tell(app, output, "broken", done)
