"""`git coord mcp`: the MCP server on standard input and output."""

from __future__ import annotations

import os

import click

from git_coord.errors import CoordError, Kind

from . import options
from .output import Output

WHEN_GONE = ("release", "keep", "will")


@click.command("mcp", context_settings=options.HELP)
@click.option(
    "--on-disconnect",
    type=click.Choice(WHEN_GONE),
    help="What becomes of the claims made through it: released, kept, or kept and said (will, the default).",
)
@options.common
def command(on_disconnect: str | None, as_json: bool, agent: str | None) -> int:
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
