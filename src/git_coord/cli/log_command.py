"""`git coord log`: the audit trail."""

from __future__ import annotations

from typing import Any

import click

from git_coord.domain.timestamps import format_stamp
from git_coord.service.history import Event, recent
from git_coord.service.ledger import open_ledger
from git_coord.service.sync import picture_age

from . import options, render


@click.command("log", context_settings=options.HELP)
@click.option("-n", "count", type=click.IntRange(min=1), default=20, show_default=True, help="How many operations.")
@options.common
def command(count: int, as_json: bool, agent: str | None) -> int:
    """Show the newest operations of the ledger, the newest first (git log refs/coord/claims has them all)."""
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    rows = recent(app.coord, count)
    now = app.coord.clock.now()
    if output.is_json:
        events = [_object(row) for row in rows]
        output.object({"events": events, "as_of": render.as_of_stamp(picture_age(app.coord))})
        return 0
    output.lines([f"{render.clock_time(row.at, now)}  {row.line}{_why(row)}" for row in rows])
    return 0


def _object(row: Event) -> dict[str, Any]:
    known = {"commit": row.commit, "at": format_stamp(row.at), "agent": row.agent, "kind": row.kind}
    return {**known, "text": row.line, "reason": row.reason}


def _why(row: Event) -> str:
    return f'   "{row.reason}"' if row.reason else ""
