"""`git coord rotate`: replace the agent's key."""

from __future__ import annotations

import click

from git_coord.app.rotation import rotate_key
from git_coord.app.setup import fingerprint_of
from git_coord.service.ledger import open_ledger

from . import options


@click.command("rotate", context_settings=options.HELP)
@options.common
def command(as_json: bool, agent: str | None) -> int:
    """Make a new key and let the ledger know; the old one stops counting there and is kept beside it."""
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    old, new = rotate_key(app)
    if output.is_json:
        output.object({"agent": app.coord.me.agent, "key": fingerprint_of(new), "old_key": fingerprint_of(old)})
    else:
        output.lines(
            [f"{app.coord.me.agent} signs with {fingerprint_of(new)} now", f"  was      {fingerprint_of(old)}"]
        )
    return 0
