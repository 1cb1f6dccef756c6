"""Our MCP server in a tool's own list of servers: put in beside others, and taken out byte for byte."""

from __future__ import annotations

import json
import os
from typing import Any

from git_coord.app import App
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .files import backup_name, read, write
from .homes import folder
from .merge import dump

NAME = "git-coord"
_PLAIN = {"command": "git-coord", "args": ["mcp"]}
_TOML = '[mcp_servers.git-coord]\ncommand = "git-coord"\nargs = ["mcp"]\n'


class Listed(NamedTuple):
    """Where a tool lists its servers: the project's file, one in the user's folder, key, entry; TOML has no key."""

    project: str
    user: str | None
    key: str
    entry: dict[str, Any]


LISTS = {
    "claude-code": Listed(".mcp.json", None, "mcpServers", _PLAIN),
    "codex": Listed(".codex/config.toml", "config.toml", "", {}),
    "gemini": Listed(".gemini/settings.json", "settings.json", "mcpServers", {**_PLAIN, "timeout": 30_000}),
    "cursor": Listed(".cursor/mcp.json", "mcp.json", "mcpServers", _PLAIN),
    "opencode": Listed(
        "opencode.json",
        "opencode.json",
        "mcp",
        {"type": "local", "command": ["git-coord", "mcp"], "enabled": True},
    ),
}


def place(app: App, tool: str, *, is_user: bool) -> str | None:
    """Return the file that lists a tool's servers; None where we know of none, or there is no worktree."""
    listed, home = LISTS[tool], folder(tool, app.env)
    if is_user:
        return os.path.join(home, listed.user) if listed.user else None
    return os.path.join(app.location.top, listed.project) if app.location.top else None


def add(app: App, tool: str, *, is_user: bool) -> str | None:
    """List our server; return the file when it was changed, None when it is listed already.

    Raises CoordError(ERROR) for a file that we cannot read, or where we know of none.
    """
    path = place(app, tool, is_user=is_user)
    if path is None:
        raise CoordError(Kind.ERROR, f"where {tool} lists a user's MCP servers is its own command's to change")
    before = read(path)
    after = _with_toml(before) if not LISTS[tool].key else _with_json(before, path, LISTS[tool])
    if after == before:
        return None
    app.coord.files.write(_kept(path), b"-" if before is None else b"+" + before)
    write(path, after)
    return path


def remove(app: App, tool: str, *, is_user: bool) -> str | None:
    """Take our server out of the list; return the file when it was changed."""
    path = place(app, tool, is_user=is_user)
    data = read(path) if path is not None else None
    if path is None or data is None:
        return None
    kept = app.coord.files.read(_kept(path))
    prior = kept[1:] if kept is not None and kept[:1] == b"+" else None
    if not LISTS[tool].key:
        rest = data.replace(b"\n" + _TOML.encode(), b"").replace(_TOML.encode(), b"")
        rest = prior if prior is not None and _with_toml(prior) == data else rest
    else:
        rest = _without_json(data, path, LISTS[tool], prior)
    if rest == data:
        return None
    if rest.strip() in (b"", b"{}") and kept == b"-":
        os.unlink(path)
    else:
        write(path, rest)
    app.coord.files.remove(_kept(path))
    return path


def _kept(path: str) -> str:
    return f"{backup_name(path)}.servers"


def _with_toml(before: bytes | None) -> bytes:
    text = before or b""
    if b"[mcp_servers.git-coord]" in text:
        return text
    gap = b"" if not text else b"\n" if text.endswith(b"\n") else b"\n\n"
    return text + gap + _TOML.encode()


def _with_json(before: bytes | None, path: str, listed: Listed) -> bytes:
    found = _object(before, path, listed.key)
    if found.get(listed.key, {}).get(NAME) == listed.entry:
        return before or b""
    found.setdefault(listed.key, {})[NAME] = listed.entry
    return dump(found, before)


def _without_json(data: bytes, path: str, listed: Listed, prior: bytes | None) -> bytes:
    found = _object(data, path, listed.key)
    if found.get(listed.key, {}).pop(NAME, None) is None:
        return data
    before = _object(prior, path, listed.key)
    if not found[listed.key] and listed.key not in before:
        del found[listed.key]
    return prior if prior is not None and found == before else dump(found, data)


def _object(data: bytes | None, path: str, key: str) -> dict[str, Any]:
    try:
        found = json.loads((data or b"").decode("utf-8") or "{}")
    except ValueError as trouble:
        raise CoordError(Kind.ERROR, f"{path} is not plain JSON ({trouble}); nothing was changed in it") from None
    if not isinstance(found, dict) or not isinstance(found.get(key, {}), dict):
        raise CoordError(Kind.ERROR, f"{path} has not the form of a list of servers; nothing was changed in it")
    return found
