"""`git coord mcp`: the MCP server on standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from git_coord.errors import CoordError, Kind

from . import options
from .output import Output

if TYPE_CHECKING:
    from git_coord.app.leaving import Leaving


def _leaving(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Leaving | None:
    from git_coord.app.leaving import WORDS, parse

    found = parse(text) if text is not None else None
    if text is not None and found is None:
        raise click.BadParameter(f"{text!r} is not {WORDS}")
    return found


@click.command("mcp", context_settings=options.HELP)
@click.option(
    "--on-disconnect",
    metavar="HOW",
    callback=_leaving,
    help="What becomes of the claims made through it: release, keep, will (the default: keep, and say so), or "
    "handover:AGENT.",
)
@options.common
def command(on_disconnect: Leaving | None, as_json: bool, agent: str | None) -> int:
    """Serve a coding agent over the Model Context Protocol, on standard input and output.

    Its tools are these commands, with the same answers. Each call works in the repository that its workspace or files
    name, as the agent set up there. While it is connected, what it holds is kept alive.
    """
    try:
        from git_coord.mcp.server import serve
    except ModuleNotFoundError as trouble:
        if (trouble.name or "").startswith("git_coord"):
            raise
        raise CoordError(
            Kind.ERROR,
            "the MCP server needs the mcp package: pip install 'git-coord[mcp]'",
            next="pipx inject git-coord 'mcp>=2.3,<3'",
        ) from None
    from .hosted import answer

    talk = Output(is_json=as_json).talk
    return serve(
        answer, os.environ, agent=agent, on_disconnect=on_disconnect, log=lambda text: talk(f"git coord: {text}")
    )
