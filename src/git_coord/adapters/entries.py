"""What each tool's own configuration has to say to run our hooks: one dialect a tool, never another's keys."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PRE, POST, START, END, STOP = "pre-edit", "post-edit", "session-start", "session-end", "stop"
SECONDS = {PRE: 10, POST: 10, START: 30, END: 10, STOP: 10}
"""How long a tool waits for each hook; a start may have to ask the remote."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool whose hooks stand in a JSON file; `events` are its own names for ours, and what they are asked for."""

    name: str
    project: str
    user: str
    events: tuple[tuple[str, str, str | None], ...]
    """Its name of an event, ours, and the tools it is asked for (None: always)."""
    is_flat: bool
    """A list of handlers for each event, where others have groups with a matcher."""
    handler: Callable[[str, str, bool], Json]
    """From our event, the command, and whether a failing hook is to deny."""
    base: tuple[tuple[str, Any], ...] = ()
    """What else the file must have at its top."""

    def path(self, top: str, home: str, *, is_user: bool) -> str:
        """Return the configuration file of a project, or of the user, whose folder for this tool is `home`."""
        return os.path.join(home, self.user) if is_user else os.path.join(top, self.project)

    def entries(self, *, closed: bool) -> dict[str, list[Json]]:
        """Return what has to be in the list of each event."""
        found: dict[str, list[Json]] = {}
        for theirs, ours, matcher in self.events:
            handler = self.handler(ours, command(self.name, ours), closed and ours == PRE)
            only = {"matcher": matcher} if matcher else {}
            entry = {**only, "hooks": [handler]} if not self.is_flat else {**handler, **only}
            found.setdefault(theirs, []).append(entry)
        return found


def command(tool: str, event: str) -> str:
    """Return the command line; it never changes, since a tool may have it approved by its hash."""
    return f"git-coord hook {tool} {event}"


def _claude(event: str, line: str, closed: bool) -> Json:
    more = {"onFailure": "block"} if closed else {}
    return {"type": "command", "command": line, "timeout": SECONDS[event], **more}


def _codex(event: str, line: str, _closed: bool) -> Json:
    return {"type": "command", "command": line, "timeout": 3 if event == END else SECONDS[event]}


def _gemini(event: str, line: str, _closed: bool) -> Json:
    milliseconds = 1000 * (3 if event == END else SECONDS[event])
    return {"type": "command", "name": f"git-coord-{event}", "command": line, "timeout": milliseconds}


def _cursor(event: str, line: str, closed: bool) -> Json:
    return {"command": line, "timeout": SECONDS[event], **({"failClosed": True} if closed else {})}


_CLAUDE_TOOLS = "^(Edit|Write|MultiEdit|NotebookEdit|Bash|PowerShell|mcp__.*)$"
_CODEX_TOOLS = "^(apply_patch|Bash|mcp__.*)$"
_GEMINI_TOOLS = "^(replace|write_file|run_shell_command|mcp_.*)$"

TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "claude-code",
            ".claude/settings.json",
            "settings.json",
            (
                ("PreToolUse", PRE, _CLAUDE_TOOLS),
                ("PostToolUse", POST, _CLAUDE_TOOLS),
                ("SessionStart", START, None),
                ("Stop", STOP, None),
                ("SessionEnd", END, None),
            ),
            False,
            _claude,
        ),
        Tool(
            "codex",
            ".codex/hooks.json",
            "hooks.json",
            (
                ("PreToolUse", PRE, _CODEX_TOOLS),
                ("PostToolUse", POST, _CODEX_TOOLS),
                ("SessionStart", START, None),
                ("Stop", STOP, None),
                ("SessionEnd", END, None),
            ),
            False,
            _codex,
        ),
        Tool(
            "gemini",
            ".gemini/settings.json",
            "settings.json",
            (
                ("BeforeTool", PRE, _GEMINI_TOOLS),
                ("AfterTool", POST, _GEMINI_TOOLS),
                ("SessionStart", START, None),
                ("AfterAgent", STOP, None),
                ("SessionEnd", END, None),
            ),
            False,
            _gemini,
        ),
        Tool(
            "cursor",
            ".cursor/hooks.json",
            "hooks.json",
            (
                ("preToolUse", PRE, "Write|Delete|Shell"),
                ("postToolUse", POST, "Shell"),
                ("afterFileEdit", POST, None),
                ("sessionStart", START, None),
                ("stop", STOP, None),
                ("sessionEnd", END, None),
            ),
            True,
            _cursor,
            (("version", 1),),
        ),
    )
}
PLUGIN = "opencode"
PLUGIN_PROJECT = ".opencode/plugins/git-coord.js"
PLUGIN_USER = "plugins/git-coord.js"
NAMES = (*TOOLS, PLUGIN)
CLOSES = ("claude-code", "cursor")
"""Tools that can be told to deny when the hook itself fails."""
