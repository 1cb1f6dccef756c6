"""Claims, board, roster and audit trail as resources, of the one workspace there is or of one that the URI names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.resources import ResourceSecurity

from git_coord.domain.canonical import dumps

from .replies import answer, clean

SHOWN = {
    "claims": (["status"], "Who holds what, until when, and what for."),
    "board": (["posts"], "What the agents posted, the oldest first."),
    "roster": (["presence"], "Who is here, and how to reach each."),
    "audit": (["log"], "The newest operations of the ledger."),
}
"""Each resource's command, and what it is."""
TYPE = "application/json"
REQUEST: ContextVar[ServerRequestContext[Any, Any]] = ContextVar("request")
"""The request being answered: resources without a parameter are not told it otherwise."""


def uris(what: str, folder: str) -> tuple[str, str]:
    """Return the URIs under which a resource of a workspace is known."""
    return f"coord://{what}", f"coord://{what}{folder}"


def add_resources(server: MCPServer[Any]) -> None:
    """Register `coord://claims`, and `coord://claims/abs/path/of/workspace`; likewise the others."""
    # The workspace is a path by nature; what may be read there is what the tools may read.
    security = ResourceSecurity(exempt_params={"workspace"})
    for what, (words, description) in SHOWN.items():
        server.resource(f"coord://{what}", name=what, description=description, mime_type=TYPE)(_reader(words))
        of_one = f"{description} Of the workspace with this absolute path."
        template = server.resource(
            f"coord://{what}{{+workspace}}",
            name=f"{what} of a workspace",
            description=of_one,
            mime_type=TYPE,
            security=security,
        )
        template(_reader_of(words))


def _reader(words: list[str]) -> Callable[[], Awaitable[str]]:
    async def read() -> str:
        return await _read(words, None)

    return read


def _reader_of(words: list[str]) -> Callable[[str], Awaitable[str]]:
    async def read(workspace: str) -> str:
        return await _read(words, workspace)

    return read


async def _read(words: list[str], workspace: str | None) -> str:
    """Return the object that the command answers with; raises ResourceError for what has to be put right."""
    found = clean(await answer(REQUEST.get(), [*words, "--json"], (), workspace))
    if not found["ok"]:
        raise ResourceError(f"{found['message']}" + (f"; next: {found['next']}" if found.get("next") else ""))
    return dumps(found).decode("ascii")
