"""`git coord deinit`: remove everything of git coord from this clone."""

from __future__ import annotations

import click

from git_coord.app.setup import take_down
from git_coord.errors import CoordError, Kind
from git_coord.hooks.install import uninstall
from git_coord.service.ledger import open_ledger, view

from . import options


@click.command("deinit", context_settings=options.HELP)
@click.option("--abandon", is_flag=True, help="Even while claims are held, or operations are not synced.")
@options.common
def command(abandon: bool, as_json: bool, agent: str | None) -> int:
    """Remove hooks, refs, settings and caches of git coord from this clone. Keys stay on this machine."""
    app, output = options.means(as_json, agent)
    if not abandon and app.config.get("coord.repo") is not None and open_ledger(app.coord) is not None:
        state, unconfirmed = view(app.coord)
        mine = state.held_by(app.coord.me.agent) if app.coord.identity else []
        if mine:
            held = f"{app.coord.me.agent} still holds {', '.join(f'#{claim.token}' for claim in mine)}"
            raise CoordError(Kind.ERROR, held, next="git coord release --all, or git coord deinit --abandon")
        if unconfirmed:
            raise CoordError(Kind.ERROR, "operations here are not synced yet", next="git coord sync")
    uninstall(app)
    removed = ["hooks", *take_down(app)]
    if output.is_json:
        output.object({"removed": removed})
    else:
        output.lines([f"removed {', '.join(removed)} from this clone; keys stay"])
    return 0
