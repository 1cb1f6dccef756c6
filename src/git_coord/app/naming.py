"""What an agent is called: the name it has here, a free one where it has none, and what can be one."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Collection

from git_coord.domain.ids import is_agent
from git_coord.errors import CoordError, Kind
from git_coord.guard import whose

from .root import App

TOOLS = (("CLAUDECODE", "claude"), ("CODEX_SANDBOX", "codex"), ("GEMINI_CLI", "gemini"), ("CURSOR_AGENT", "cursor"))
"""Environment variables by which known coding agents can be told, and what their names begin with."""


def own_name(app: App) -> str | None:
    """Return the name given to this worktree, or to this command."""
    return app.coord.identity.agent if app.coord.identity is not None else None


def suggestion(app: App, tool: str | None = None) -> str:
    """Return a name nobody has: for a coding agent `<tool>-<host>-<n>`, else a person's name and the worktree's.

    The tool is told from the environment unless it is known; instead of a person's the main worktree's agent counts.
    """
    taken: Collection[str] = app.coord.head.state.agents.keys() if app.coord.head else ()
    tool = tool or next((name for variable, name in TOOLS if app.env.get(variable)), None)
    if tool is not None:
        stem = _joined(tool, socket.gethostname().split(".")[0])
        return next(f"{stem}-{n}" for n in range(1, 100_000) if f"{stem}-{n}" not in taken)
    place = app.location
    folder = whose.worktree_name(place.git_dir, place.common_dir)
    if folder == whose.MAIN:
        folder = os.path.basename(place.top or place.common_dir.removesuffix(".git"))
    first = _main_agent(app) or _plain(app.config.get("user.name") or "") or app.env.get("USER") or "agent"
    stem = _joined(first, folder)
    return next(name for n in range(1, 100_000) if (name := stem if n == 1 else f"{stem}-{n}") not in taken)


def _joined(*parts: str) -> str:
    words = [word for part in parts if (word := _plain(part)[:28].strip("-"))]
    return "-".join(words) or "agent"


def _main_agent(app: App) -> str | None:
    """Return the agent of the main worktree, which is the first one of most clones."""
    place = app.location
    if place.git_dir == place.common_dir:
        return None
    own = os.path.join(place.common_dir, "config.worktree")  # of the main worktree, which git shows to no other
    if os.path.exists(own):
        done = app.git.run(["config", "--file", own, whose.AGENT], check=False)
        if done.code == 0:
            return os.fsdecode(done.out).strip()
    shared = [name for scope, name in app.config.scoped(whose.AGENT) if scope not in ("worktree", "command")]
    return shared[-1] if shared else None


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def check_name(name: str | None) -> None:
    """Raise CoordError(USAGE) for a name that cannot be an agent's, before anything is touched."""
    if name is not None and not is_agent(name):
        raise CoordError(
            Kind.USAGE,
            f"{name!r} cannot be an agent's name: lower-case letters, digits, '.', '_' and '-', at most 63",
            next="git coord init",
        )
