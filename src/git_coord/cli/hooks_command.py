"""`git coord hooks`: install, uninstall or show the git hooks."""

from __future__ import annotations

import click

from git_coord.errors import Kind
from git_coord.hooks import install as hooks

from . import options
from .shared import Group, for_group


@click.group("hooks", cls=Group, context_settings=options.HELP)
@for_group
def command() -> None:
    """Install, uninstall or show the git hooks that refuse commits and pushes on claimed paths."""


@command.command("install", context_settings=options.HELP)
@options.common
def install(as_json: bool, agent: str | None) -> int:
    """Install the hooks for every worktree of this clone; what was there before runs first."""
    app, output = options.means(as_json, agent)
    done = hooks.install(app)
    if output.is_json:
        output.object({"folders": list(done.folders), "changed": list(done.changed), "chained": list(done.chained)})
    else:
        output.lines([f"hooks    {'installed' if done.changed else 'already'} in {', '.join(done.folders) or 'place'}"])
        output.lines([f"  chained  {path}" for path in done.chained])
    for warning in done.warnings:
        output.talk(f"git coord: {warning}")
    return 0


@command.command("uninstall", context_settings=options.HELP)
@click.option("--shared", is_flag=True, help="Also from a folder that other repositories use.")
@options.common
def uninstall(shared: bool, as_json: bool, agent: str | None) -> int:
    """Remove the hooks and put back what was there before, byte for byte."""
    app, output = options.means(as_json, agent)
    changed = hooks.uninstall(app, shared=shared)
    if output.is_json:
        output.object({"changed": list(changed)})
    else:
        output.lines([f"removed  {path}" for path in changed] or ["no hooks of git coord here"])
    return 0


@command.command("status", context_settings=options.HELP)
@options.common
def status(as_json: bool, agent: str | None) -> int:
    """Run every hook as git would and say whether it reaches git coord; exit 1 when one does not."""
    app, output = options.means(as_json, agent)
    found = hooks.status(app)
    is_whole = all(hook.is_firing for hook in found)
    if output.is_json:
        rows = [{"hook": hook.name, "path": hook.path, "worktree": hook.top, "fires": hook.is_firing} for hook in found]
        output.object({"hooks": rows}, ok=is_whole)
    else:
        output.lines([hook.text for hook in found])
        if not is_whole:
            output.lines(["next   git coord hooks install"])
    return 0 if is_whole else Kind.ERROR.exit_status
