"""`git coord sync`: exchange with the remote."""

from __future__ import annotations

from typing import Any

import click

from git_coord.app import App
from git_coord.domain.chain import Placed
from git_coord.domain.ledger import Change, Refused
from git_coord.domain.message import describe
from git_coord.errors import Kind
from git_coord.service.landing import settle_landed
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import Synced, sync

from . import options, render


@click.command("sync", context_settings=options.HELP)
@options.common
def command(as_json: bool, agent: str | None) -> int:
    """Fetch, verify, place what is pending, push own refs.

    Exit 4 when a pending claim of this clone was refused and is lost, 5 without an answer, 6 for a bad ledger.
    """
    app, output = options.means(as_json, agent)
    app.settle_receipts()
    done = sync(app.coord, ROSTER_FAMILIES)
    settled = settle_landed(app.coord, app.branches())
    app.refresh_snapshot()
    _ = app.coord.known  # without a ledger anywhere there is nothing that could be in step
    now = app.coord.clock.now()
    if output.is_json:
        output.object(
            {
                "code": "lost" if done.lost else "ok",
                "remote": app.remote_name,
                "head": app.coord.known.oid,
                "moved": done.before != app.coord.known.oid,
                "placed": [_line(placed) for placed in done.placed],
                "lost": [_line(placed) for placed in done.lost],
                "settled": [settled_object(change) for change in settled],
                "pushed": done.pushed,
                "as_of": render.as_of_stamp(0, now),
            },
            ok=not done.lost,
        )
    else:
        output.lines([*map(_settled_line, settled), *_waiting_lines(app), *_lines(done, app.remote_name)])
    return Kind.LOST.exit_status if done.lost else 0


def _line(placed: Placed) -> str:
    assert placed.outcome is not None
    return describe(placed.sealed.op, placed.outcome)


def _lines(done: Synced, remote: str | None) -> list[str]:
    rows = [f"placed   {_line(placed)}" for placed in done.placed]
    rows += [f"lost     {_line(placed)}" for placed in done.lost]
    if any(isinstance(placed.outcome, Refused) for placed in done.lost):
        rows.append("next     git coord status")
    if remote is None:
        return [*rows, "no remote, nothing to exchange"]
    moved = "the ledger moved" if done.before != done.after else "nothing new"
    return [*rows, f"in step with {remote}: {moved}, {done.pushed} refs pushed"]


def settled_object(change: Change) -> dict[str, Any]:
    """Return a claim that ended because its branch has the work, as `--json` shows it."""
    claim = change.before
    assert claim is not None
    assert claim.settling is not None
    items = [render.item_object(item)["path"] for _, item in claim.live()]
    return {"token": claim.token, "agent": claim.holder, "paths": items, **render.landed_object(claim.settling)}


def _settled_line(change: Change) -> str:
    claim = change.before
    assert claim is not None
    assert claim.settling is not None
    names = "  ".join(render.shown(item) for _, item in claim.live())
    return f"settled  #{claim.token} {claim.holder}   {names}   {claim.settling.until} has it"


def _waiting_lines(app: App) -> list[str]:
    """Return what still waits for a branch: this clone's copy of that may be old."""
    claims = sorted(app.coord.known.state.claims.values(), key=lambda claim: claim.token)
    return [
        f"waiting  #{claim.token} {claim.holder}   {claim.settling.commit[:10]} is not in {claim.settling.until}, "
        "as last fetched here (git fetch)"
        for claim in claims
        if claim.settling is not None
    ]
