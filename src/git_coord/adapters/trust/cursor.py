"""Cursor: one wrong event voids its whole file; the command line records trusted workspaces, the editor hides them."""

from __future__ import annotations

import os

from git_coord.adapters.findings import Finding, UnreadableError, inside, read_object, unsure, well, wrong

from . import Place

KNOWN = frozenset(
    {
        *("sessionStart", "sessionEnd", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart"),
        *("subagentStop", "beforeShellExecution", "afterShellExecution", "beforeMCPExecution", "afterMCPExecution"),
        *("beforeReadFile", "afterFileEdit", "beforeSubmitPrompt", "preCompact", "stop", "afterAgentResponse"),
        *("afterAgentThought", "beforeTabFileRead", "afterTabFileEdit"),
    }
)
"""The events of its documentation."""


def look(place: Place) -> list[Finding]:
    """Tell whether the file is one that it takes as a whole, and whether the workspace was trusted."""
    return [_file(place), _trust(place)]


def _file(place: Place) -> Finding:
    path = os.path.join(place.home if place.is_user else os.path.join(place.top, ".cursor"), "hooks.json")
    hooks = inside(read_object(path), "hooks")
    events = hooks if isinstance(hooks, dict) else {}
    if odd := sorted(set(events) - KNOWN):
        text = f"{path} names events that it does not know, and may then be left out whole: {', '.join(odd)}"
        return wrong("hooks", text, "take them out")
    lines = [str(inside(each, "command")) for listed in events.values() if isinstance(listed, list) for each in listed]
    if any("://" in line for line in lines):
        text = f"a command in {path} has a URL in it, and the file may then be left out whole"
        return wrong("hooks", text, "move that command into a script")
    return well("hooks", "every event in the file is one that it knows")


def _trust(place: Place) -> Finding:
    folder = os.path.join(place.home, "projects")
    step = "open the folder in Cursor, or start cursor-agent in it once, and trust it"
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        try:
            found = read_object(folder, name, ".workspace-trusted")
        except UnreadableError:
            continue  # of some other workspace, for all that can be told
        if inside(found, "workspacePath") == place.top:
            return well("trust", "cursor-agent was told to trust this workspace")
    return unsure("trust", "cursor-agent has no record of this workspace, and the editor's cannot be read", step)
