"""Our entries in JSON of others: added beside what is there, found by their command, taken out without a trace."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

from git_coord.errors import CoordError, Kind

from .entries import Json, Tool


def load(data: bytes | None, path: str) -> Json:
    """Return a configuration file's object, empty for a missing or empty file; raises CoordError(ERROR)."""
    if data is None or not data.strip():
        return {}
    try:
        found = json.loads(data.decode("utf-8"))
    except ValueError as trouble:
        raise _unreadable(path, str(trouble)) from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or any(not isinstance(listed, list) for listed in hooks.values()):
        raise _unreadable(path, "it has not the form of a file with hooks")
    assert isinstance(found, dict)
    return found


def _unreadable(path: str, why: str) -> CoordError:
    message = f"{path} is not plain JSON as the tool documents it ({why}); nothing was changed"
    return CoordError(Kind.ERROR, message, next="git coord adapter install TOOL --print")


def with_ours(found: Json, tool: Tool, *, closed: bool) -> Json:
    """Return the object with our entries as they have to be; the same object when they are all there."""
    wanted = tool.entries(closed=closed)
    ours = {event: [entry for entry in listed if _is_ours(entry, tool.name)] for event, listed in _events(found)}
    if {event: listed for event, listed in ours.items() if listed} == wanted:
        return found
    made = without_ours(found, tool)
    for key, value in tool.base:
        made.setdefault(key, value)
    for event, listed in wanted.items():
        made.setdefault("hooks", {}).setdefault(event, []).extend(listed)
    return made


def without_ours(found: Json, tool: Tool) -> Json:
    """Return the object without our handlers, and without the groups and lists that held nothing else."""
    made = deepcopy(found)
    for event, listed in _events(made):
        kept = [left for entry in listed if (left := _without(entry, tool.name)) is not None]
        if kept or not listed:
            made["hooks"][event] = kept
        else:
            del made["hooks"][event]
    if found.get("hooks") and not made["hooks"]:
        del made["hooks"]
    return made


def has_ours(found: Json, tool: Tool) -> bool:
    """Tell whether any handler of ours is there, whatever it looks like."""
    return any(_without(entry, tool.name) != entry for _, listed in _events(found) for entry in listed)


def _events(found: Json) -> list[tuple[str, list[Any]]]:
    return list(found.get("hooks", {}).items())


def _without(entry: Any, tool: str) -> Any:
    """Return an entry without our handlers, None when nothing else was in it."""
    if _is_handler(entry, tool):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("hooks"), list):
        return entry
    kept = [handler for handler in entry["hooks"] if not _is_handler(handler, tool)]
    if kept == entry["hooks"]:
        return entry
    return {**entry, "hooks": kept} if kept else None


def _is_ours(entry: Any, tool: str) -> bool:
    return _without(entry, tool) is None


def _is_handler(handler: Any, tool: str) -> bool:
    line = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(line, str) and f"git-coord hook {tool} " in f"{line} "


def dump(found: Json, like: bytes | None) -> bytes:
    """Return the object as text, indented as the file was before."""
    text = (like or b"").decode("utf-8", "replace")
    first = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    indent: str | int = 2 if first is None else first[1]
    return (json.dumps(found, indent=indent, ensure_ascii=False) + "\n").encode()
