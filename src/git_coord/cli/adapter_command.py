"""`git coord adapter`: hooks of coding agents, installed into their own configuration; instructions for agents."""

from __future__ import annotations

import os

import click

from git_coord.adapters import entries, install, servers
from git_coord.adapters.findings import Finding
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind

from . import options
from .shared import Group, for_group

NAME = click.argument("tool", type=click.Choice(entries.NAMES))
user = click.option("--user", "is_user", is_flag=True, help="In the user's own configuration, not the project's.")


@click.group("adapter", cls=Group, context_settings=options.HELP)
@for_group
def command() -> None:
    """Let coding agents ask before they edit: hooks in their own configuration, and instructions."""


@command.command("install", context_settings=options.HELP)
@NAME
@user
@click.option("--closed", is_flag=True, help="Deny edits when the hook itself fails, where the tool can do that.")
@click.option("--mcp", "has_server", is_flag=True, help="Also list git coord among the tool's MCP servers.")
@click.option("--print", "prints", is_flag=True, help="Only print what the file would be.")
@options.common
def install_hooks(
    tool: str, is_user: bool, closed: bool, has_server: bool, prints: bool, as_json: bool, agent: str | None
) -> int:
    """Add our hooks to a tool's configuration, beside what is there; doing it again changes nothing."""
    app, output = options.means(as_json, agent)
    if prints:
        path, data = install.planned(app, tool, is_user=is_user, closed=closed)
        if output.is_json:
            output.object({"path": path, "text": data.decode("utf-8", "replace")})
        else:
            output.talk(f"git coord: {path}")
            output.lines(data.decode("utf-8", "replace").rstrip("\n").split("\n"))
        return 0
    done = install.install(app, tool, is_user=is_user, closed=closed)
    server = servers.add(app, tool, is_user=is_user) if has_server else None
    if closed and tool not in entries.CLOSES:
        output.talk(f"git coord: {tool} cannot be told to deny when a hook fails; installed as usual")
    if output.is_json:
        output.object({"tool": tool, "path": done.path, "changed": done.is_changed, "server": server})
    else:
        output.lines([f"server  {server}"] if server else [])
        output.lines(
            [
                f"{'hooks' if done.is_changed else 'already'}   {done.path}",
                f"next    git coord adapter doctor {tool}{' --user' if is_user else ''}",
            ]
        )
    return 0


@command.command("uninstall", context_settings=options.HELP)
@NAME
@user
@options.common
def uninstall_hooks(tool: str, is_user: bool, as_json: bool, agent: str | None) -> int:
    """Take our hooks out again; what else is in the file stays as it is."""
    app, output = options.means(as_json, agent)
    server = servers.remove(app, tool, is_user=is_user)  # first: it may be in the same file, and came last
    done = install.uninstall(app, tool, is_user=is_user)
    if output.is_json:
        output.object({"tool": tool, "path": done.path, "changed": done.is_changed, "server": server})
    else:
        output.lines([f"removed   {server}"] if server else [])
        output.lines([f"removed   {done.path}" if done.is_changed else f"no hooks of git coord in {done.path}"])
    return 0


@command.command("status", context_settings=options.HELP)
@options.common
def status(as_json: bool, agent: str | None) -> int:
    """Show where hooks are installed, and what changed lately without a claim."""
    from git_coord.guard.edit_tree import UNCLAIMED

    app, output = options.means(as_json, agent)
    rows = [
        {"tool": name, "path": install.place(app, name, is_user=is_user), "user": is_user}
        for name in entries.NAMES
        for is_user in (False, True)
        if (is_user or app.location.top) and install.is_installed(app, name, is_user=is_user)
    ]
    data = app.coord.files.read(os.path.relpath(UNCLAIMED, "coord")) or b""
    log = data.decode("utf-8", "replace").splitlines()[-10:]
    if output.is_json:
        output.object({"installed": rows, "unclaimed": log})
        return 0
    output.lines([f"{row['tool']:11}  {row['path']}" for row in rows] or ["no tool has hooks of git coord here"])
    output.lines([f"unclaimed    {line}" for line in log])
    return 0


@command.command("doctor", context_settings=options.HELP)
@NAME
@user
@options.common
def doctor(tool: str, is_user: bool, as_json: bool, agent: str | None) -> int:
    """Look whether a tool runs our hooks: version, trust, and the hook itself against a held and a free file.

    Each line is ok, a problem, or unknown, which is what cannot be read from here; exit 1 when there is a problem.
    """
    from git_coord.adapters.doctor import examine
    from git_coord.adapters.findings import State

    app, output = options.means(as_json, agent)
    found = examine(app, tool, is_user=is_user)
    is_well = all(one.state is not State.PROBLEM for one in found)
    if output.is_json:
        rows = [{"what": one.what, "state": one.state, "text": one.text, "next": one.next} for one in found]
        output.object({"tool": tool, "findings": rows}, ok=is_well)
    else:
        output.lines([_line(one) for one in found])
    return 0 if is_well else Kind.ERROR.exit_status


def _line(one: Finding) -> str:
    step = f"; next: {one.next}" if one.next else ""
    return escape_for_display(f"{one.state:8} {one.what:9} {one.text}{step}")


@command.command("instructions", context_settings=options.HELP)
@click.argument("file", nargs=-1)
@click.option("--install", "installs", is_flag=True, help="Write them: AGENTS.md, CLAUDE.md (or FILEs), and a skill.")
@click.option("--remove", "removes", is_flag=True, help="Take them out again.")
@options.common
def instructions(file: tuple[str, ...], installs: bool, removes: bool, as_json: bool, agent: str | None) -> int:
    """Print what an agent has to know, as a marked block, or keep it in the files that agents read."""
    from git_coord.adapters import instructions as texts

    app, output = options.means(as_json, agent)
    if not installs and not removes:
        if output.is_json:
            output.object({"text": texts.block(), "skill": texts.skill()})
        else:
            output.lines(texts.block().rstrip("\n").split("\n"))
        return 0
    if app.location.top is None:
        raise CoordError(Kind.ERROR, "there is no worktree here")
    done = (texts.remove if removes else texts.install)(app.location.top, file)
    if output.is_json:
        output.object({"files": [{"path": one.path, "changed": one.is_changed} for one in done]})
    else:
        word = "removed" if removes else "written"
        output.lines([f"{word if one.is_changed else 'unchanged':9}  {one.path}" for one in done])
    return 0


@command.command("shell", context_settings=options.HELP)
@options.common
def shell(as_json: bool, agent: str | None) -> int:
    """Print where the helper for shell scripts is, to be sourced."""
    from git_coord.adapters.instructions import shell_helper

    _, output = options.means(as_json, agent)
    if output.is_json:
        output.object({"path": shell_helper()})
    else:
        output.lines([shell_helper()])
    return 0
