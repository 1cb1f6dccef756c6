"""`git-coord hook NAME` for git, `git-coord hook TOOL EVENT` for coding agents: what installed hooks call."""

from __future__ import annotations

import click

SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": ["-h"]}


@click.command("hook", context_settings=SETTINGS)
@click.option("--explain", is_flag=True, help="The guard was asked already.")
@click.argument("name")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(name: str, args: tuple[str, ...], explain: bool) -> int:
    """Run a hook of git coord: pre-commit, pre-push and the others, or an event of a coding agent's tool.

    A tool's event (claude-code pre-edit, …) is answered before this program is loaded; what arrives here names none.
    """
    from git_coord.guard.edit_calls import EVENTS, TOOLS
    from git_coord.hooks.run import run_hook

    if name in TOOLS:
        from git_coord.errors import CoordError, Kind

        # Exit 2 would deny every call in some tools: a wrong line in their configuration is plain failure.
        raise CoordError(Kind.ERROR, f"{name} has the events {', '.join(EVENTS)}, not {' '.join(args) or 'none'}")
    return run_hook(name, args, explain=explain)
