"""`git coord deinit`: remove everything of git coord from this clone."""

from __future__ import annotations

from contextlib import suppress

import click

from git_coord.app import App
from git_coord.app.takedown import agents_here, take_down
from git_coord.errors import CoordError, Kind
from git_coord.hooks.install import uninstall
from git_coord.service.ledger import open_ledger, view
from git_coord.service.requests import pending, read_requests

from . import options


@click.command("deinit", context_settings=options.HELP)
@click.option("--abandon", is_flag=True, help="Even while claims are held, or operations are not synced.")
@options.common
def command(abandon: bool, as_json: bool, agent: str | None) -> int:
    """Remove hooks, refs, settings and caches of git coord from this clone. Keys stay on this machine."""
    app, output = options.means(as_json, agent)
    if not abandon and app.config.get("coord.repo") is not None:
        _refuse_loss(app)
    if app.config.get("coord.repo") is not None:
        with suppress(CoordError, OSError):  # whatever is broken, it can be taken out
            _depart(app)
    uninstall(app)
    removed = ["hooks", *take_down(app)]
    if output.is_json:
        output.object({"removed": removed})
    else:
        output.lines([f"removed {', '.join(removed)} from this clone; keys stay"])
    return 0


def _depart(app: App) -> None:
    from git_coord.app.leaving import depart

    if open_ledger(app.coord) is not None:
        depart(app, agents_here(app), "left this clone")


def _refuse_loss(app: App) -> None:
    """Raise CoordError(ERROR) while an agent of this clone, in any of its worktrees, would lose something."""
    if open_ledger(app.coord) is None:
        return
    state, _ = view(app.coord)
    held = [claim for agent in agents_here(app) for claim in state.held_by(agent)]
    if held:
        names = ", ".join(f"#{claim.token} of {claim.holder}" for claim in held)
        is_mine = app.coord.identity is not None and any(claim.holder == app.coord.me.agent for claim in held)
        step = "git coord release --all" if is_mine else "git coord deinit --abandon"
        raise CoordError(Kind.ERROR, f"claims are still held here: {names}", next=step)
    if pending(app.coord, read_requests(app.coord, fetched=False)):
        raise CoordError(Kind.ERROR, "operations here are not synced yet", next="git coord sync")
