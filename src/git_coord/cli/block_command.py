"""`git coord block`: tasks that nobody may claim for now."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.domain.items import Item, ItemKind
from git_coord.errors import CoordError, Kind
from git_coord.service import tasks
from git_coord.service.ledger import open_ledger

from . import options, render, resources
from .output import Output


@click.command("block", context_settings=options.HELP)
@click.argument("task", nargs=-1, required=True)
@click.option("-m", "--reason", "reason", required=True, callback=options.clean_line, help="Why, one line.")
@options.common
def command(task: tuple[str, ...], reason: str, as_json: bool, agent: str | None) -> int:
    """Say that tasks cannot be worked on: nobody can claim task:E-1, or what is below it, until that is lifted.

    Who holds one already keeps it. Anybody may lift a block: git coord unblock.
    """
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    names = [item.name for item in only_tasks(resources.plain_items(app, task))]
    done = tasks.block(app.coord, names, reason)
    app.refresh_snapshot()
    return tell(app, output, "blocked", done)


def only_tasks(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the items; raises CoordError(USAGE) for one that is no task."""
    for item in items:
        if item.kind is not ItemKind.TASK:
            text = f"{render.shown(item)} is no task; only tasks can be blocked: task:NAME"
            raise CoordError(Kind.USAGE, text)
    return items


def tell(app: App, output: Output, word: str, done: tasks.Blocking) -> int:
    """Show what a block or unblock did."""
    if output.is_json:
        rows = [tasks.block_object(found) for found in done.blocks]
        named = [f"task:{name}" for name in done.tasks]
        kept = [f"task:{name}" for name in done.kept]
        output.object({"confirmed": done.is_confirmed, "tasks": named, "still_blocked": kept, "blocks": rows})
        return 0
    shown = word if done.is_confirmed else f"to be {word}"
    lines = [f"{shown}   {'  '.join(f'task:{name}' for name in done.tasks)}"]
    others = {found.agent for found in done.blocks} - {app.coord.me.agent}
    if others and word == "unblocked":
        lines[0] += f"   (blocked by {', '.join(sorted(others))})"
    if done.kept:
        lines.append(f"still blocked   {'  '.join(f'task:{name}' for name in done.kept)}")
    output.lines(lines)
    return 0
