"""`git coord sync`: exchange with the remote."""

from __future__ import annotations

from collections.abc import Sequence

import click

from git_coord.app import App
from git_coord.domain.chain import Placed
from git_coord.domain.message import describe
from git_coord.domain.outcome import Refused
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import Kind
from git_coord.service.landing import settle_landed
from git_coord.service.losses import Loss
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import Synced, sync
from git_coord.service.telling import listed

from . import options
from .settling import line, settled_object


@click.command("sync", context_settings=options.HELP)
@options.common
def command(as_json: bool, agent: str | None) -> int:
    """Fetch, verify, place what is pending, push own refs.

    Exit 4 when a pending claim of the agent was refused, and no command has said so before; 5 without an answer, 6 for
    a bad ledger.
    """
    app, output = options.means(as_json, agent)
    app.settle_receipts()
    done = sync(app.coord, ROSTER_FAMILIES)
    settled = settle_landed(app.coord, app.branches())
    app.refresh_snapshot()
    _ = app.coord.known  # without a ledger anywhere there is nothing that could be in step
    now, lost = app.coord.clock.now(), listed(app.coord)
    gone = {loss.op for loss in lost}
    placed = [each for each in done.placed if each.sealed.op.nonce not in gone]
    if output.is_json:
        output.object(
            {
                "code": "lost" if lost else "ok",
                "remote": app.remote_name,
                "head": app.coord.known.oid,
                "moved": done.before != app.coord.known.oid,
                "placed": [_line(each) for each in placed],
                "lost": [loss.line for loss in lost],
                "settled": [settled_object(change) for change in settled],
                "pushed": done.pushed,
                "as_of": format_stamp(now),
            }
            | ({"next": "git coord status"} if lost or any(map(_is_refused, placed)) else {}),
            ok=not lost,
        )
    else:
        output.lines([*map(line, settled), *_waiting_lines(app), *_lines(done, placed, lost, app.remote_name)])
    return Kind.LOST.exit_status if lost else 0


def _is_refused(placed: Placed) -> bool:
    return isinstance(placed.outcome, Refused)


def _line(placed: Placed) -> str:
    assert placed.outcome is not None
    return describe(placed.sealed.op, placed.outcome)


def _lines(done: Synced, placed: Sequence[Placed], lost: Sequence[Loss], remote: str | None) -> list[str]:
    rows = [f"placed   {_line(each)}" for each in placed]
    rows += [f"lost     {loss.line}" for loss in lost]
    if lost or any(map(_is_refused, placed)):
        rows.append("next     git coord status")
    if remote is None:
        return [*rows, "no remote, nothing to exchange"]
    moved = "the ledger moved" if done.before != done.after else "nothing new"
    return [*rows, f"in step with {remote}: {moved}, {done.pushed} refs pushed"]


def _waiting_lines(app: App) -> list[str]:
    """Return what still waits for a branch: this clone's copy of that may be old."""
    claims = sorted(app.coord.known.state.claims.values(), key=lambda claim: claim.token)
    return [
        f"waiting  #{claim.token} {claim.holder}   {claim.settling.commit[:10]} is not in {claim.settling.until}, "
        "as last fetched here (git fetch)"
        for claim in claims
        if claim.settling is not None
    ]
