"""Whether a tool runs the hooks that are in its configuration: switched on, trusted, approved, as it records that.

What was seen in the tools themselves or in their documentation is taken for true; where nothing is recorded yet, or
the record is somewhere that we cannot read, nobody knows. Nothing is written, and no tool is started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from git_coord.adapters.findings import Finding, UnreadableError, unsure
from git_coord.app import App
from git_coord.lean import NamedTuple


class Place(NamedTuple):
    """Whose configuration is looked at: the worktree, the main checkout of its clone, the user's folder."""

    top: str
    main: str
    home: str
    """The user's folder of this tool."""
    is_user: bool
    """Whether the hooks are in the user's configuration, not the project's."""
    env: Mapping[str, str]


def look(app: App, tool: str, *, is_user: bool) -> list[Finding]:
    """Return what keeps a tool from running the hooks, as far as that can be read here."""
    from git_coord.adapters.homes import folder

    from . import claude_code, codex, cursor, gemini, opencode

    top = app.location.top
    if top is None:
        return [unsure("trust", "it is recorded for a worktree, and there is none here")]
    looks: dict[str, Callable[[Place], list[Finding]]] = {
        "claude-code": claude_code.look,
        "codex": codex.look,
        "gemini": gemini.look,
        "cursor": cursor.look,
        "opencode": opencode.look,
    }
    place = Place(top, _main(app, top), folder(tool, app.env), is_user, app.env)
    try:
        return looks[tool](place)
    except UnreadableError as trouble:
        return [unsure("trust", str(trouble))]


def _main(app: App, top: str) -> str:
    """Return the top of the clone's main checkout; the worktree's own where that cannot be told."""
    folder, name = os.path.split(app.location.common_dir)
    return folder if name == ".git" else top
