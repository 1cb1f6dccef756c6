"""`git coord gc`: keep the ledger as small as what is alive."""

from __future__ import annotations

import click

from git_coord.domain.ids import Agent
from git_coord.service import epochs
from git_coord.service.ledger import open_ledger
from git_coord.service.old_files import drop_old_files
from git_coord.service.remote_ledger import ROSTER_FAMILIES, fetch_and_adopt

from . import options
from .output import Output

NOT_DUE = f"no new epoch before {epochs.EPOCH_OPERATIONS}"


@click.command(context_settings=options.HELP)
@click.option(
    "--now",
    "is_now",
    is_flag=True,
    help="Begin a new epoch however short this one is; `log` then goes back to where this one began.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@options.common
def command(is_now: bool, dry_run: bool, as_json: bool, agent: str | None) -> int:
    """Begin a new epoch of a long ledger (needs a policy key), and drop what agents long gone left behind."""
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    if app.coord.remote is not None:
        fetch_and_adopt(app.coord, ROSTER_FAMILIES)
    count = epochs.length(app.coord)
    is_due = is_now or count > epochs.EPOCH_OPERATIONS
    if dry_run:
        return _tell(output, count, None, [], 0, f"{count} operations: {'a new epoch is due' if is_due else NOT_DUE}")
    gone = epochs.drop_leftovers(app.coord)
    files = drop_old_files(app.coord)
    begun = epochs.begin(app.coord) if is_due else None
    app.refresh_snapshot()
    words = f"{count} operations: {NOT_DUE}"
    if begun is not None:
        words = f"epoch {begun.number} begins; the {begun.operations} operations before it are kept until the next"
    return _tell(output, count, begun.number if begun else None, gone, files, words)


def _tell(output: Output, count: int, epoch: int | None, gone: list[Agent], files: int, words: str) -> int:
    if output.is_json:
        limit = epochs.EPOCH_OPERATIONS
        output.object({"operations": count, "limit": limit, "epoch": epoch, "dropped": gone, "files": files})
        return 0
    output.lines([words, *([f"dropped presence and posts of {', '.join(gone)}"] if gone else [])])
    output.lines([f"dropped {files} small files here of sessions and runs long over"] if files else [])
    return 0
