"""`git coord rejoin`: make this session the agent's current one."""

from __future__ import annotations

import click

from git_coord.service.ledger import open_ledger, view
from git_coord.service.membership import rejoin
from git_coord.service.query import picture

from . import options, render


@click.command("rejoin", context_settings=options.HELP)
@options.offline
@options.common
def command(offline: bool, as_json: bool, agent: str | None) -> int:
    """Go on here as this agent: its claims are held by this session from now on."""
    app, output = options.means(as_json, agent, offline=offline)
    open_ledger(app.coord)
    rejoin(app.coord)
    app.refresh_snapshot()
    state, _ = view(app.coord)
    now = picture(app.coord)
    held = [now.held(claim) for claim in state.held_by(app.coord.me.agent)]
    if output.is_json:
        claims = [render.claim_object(one) for one in held]
        output.object({"agent": app.coord.me.agent, "session": app.coord.me.session, "claims": claims})
        return 0
    rows = [
        f"  #{one.claim.token}  {render.lease(one, now.now)}   "
        + "  ".join(render.shown(item) for _, item in one.claim.live())
        for one in held
    ]
    output.lines([f"{app.coord.me.agent} is here now", *(rows or ["  holds nothing"])])
    return 0
