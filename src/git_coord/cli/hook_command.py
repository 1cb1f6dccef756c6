"""`git-coord hook NAME`: what an installed hook calls when it cannot find the guard it recorded."""

from __future__ import annotations

import click

from git_coord.hooks.run import run_hook

SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": ["-h"]}


@click.command("hook", context_settings=SETTINGS)
@click.option("--explain", is_flag=True, help="The guard was asked already.")
@click.argument("name")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(name: str, args: tuple[str, ...], explain: bool) -> int:
    """Run a hook of git coord as git would: pre-commit, pre-push and the others."""
    return run_hook(name, args, explain=explain)
