"""From a tool call to a command and back: where it works, and its answer with nothing in it that a terminal obeys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ClientCapabilities,
    ListRootsRequest,
    ListRootsResult,
    RootsCapability,
    TextContent,
)

from git_coord.domain.canonical import dumps
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError

from .connection import Connection, teller
from .places import choose, folders

BROKEN = ("error", "usage", "untrusted")
"""Codes of what the caller has to put right; every other refusal is an answer, and no error of the tool."""


async def reply(
    ctx: Context,
    words: Sequence[str],
    names: Sequence[str],
    workspace: str | None,
    agent: str | None,
    shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda found: found,
) -> CallToolResult:
    """Run a command where the call means it; `shape` takes of its answer what the tool answers with."""
    request = ctx.request_context
    found = await answer(request, words, names, workspace, agent, teller(ctx.report_progress))
    shown: dict[str, Any] = clean(shape(found))
    text = TextContent(type="text", text=dumps(shown).decode("ascii"))
    return CallToolResult(content=[text], structured_content=shown, is_error=shown.get("code") in BROKEN)


async def answer(
    request: ServerRequestContext[Any, Any],
    words: Sequence[str],
    names: Sequence[str],
    workspace: str | None,
    agent: str | None = None,
    hear: Callable[[str], None] = lambda _text: None,
) -> dict[str, Any]:
    """Return a command's answer as the connection's client is to be given it."""
    connection: Connection = request.lifespan_context
    try:
        roots = [] if workspace is not None else await _roots(request)
        paths = [name for name in names if not name.startswith(("#", "task:", "branch:"))]
        folder = choose(workspace, paths, roots, connection.here)
    except CoordError as trouble:
        fields = {"code": trouble.kind.code, "message": trouble.message, "next": trouble.next}
        return {"ok": False, **fields, **trouble.data}
    acting = agent or connection.agent
    return await connection.ask([words[0], *([f"--agent={acting}"] if acting else []), *words[1:]], folder, hear)


async def _roots(request: ServerRequestContext[Any, Any]) -> list[str]:
    """Return the client's workspaces; only the older protocol has a way to ask for them."""
    session = request.session
    if not session.can_send_request or not session.check_client_capability(ClientCapabilities(roots=RootsCapability())):
        return []
    try:
        found = await session.send_request(ListRootsRequest(), ListRootsResult)
    except MCPError:
        return []
    return folders([str(root.uri) for root in found.roots])


def clean(value: Any) -> Any:
    """Return an answer with every control, bidi and zero-width code point of its texts escaped."""
    if isinstance(value, str):
        return escape_for_display(value)
    if isinstance(value, dict):
        return {name: clean(each) for name, each in value.items()}
    return [clean(each) for each in value] if isinstance(value, list | tuple) else value
