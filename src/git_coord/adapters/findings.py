"""What `adapter doctor` finds: one thing looked at, how it is, and what to do about it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class State(StrEnum):
    """How a thing is; UNKNOWN is what cannot be read here, which is neither good nor bad."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `next` is the step that mends it, or that makes it known."""

    what: str
    state: State
    text: str
    next: str | None = None


def well(what: str, text: str) -> Finding:
    """Return that a thing is as it has to be."""
    return Finding(what, State.OK, text)


def wrong(what: str, text: str, step: str) -> Finding:
    """Return that a thing keeps the hooks from working, and the step that mends it."""
    return Finding(what, State.PROBLEM, text, step)


def unsure(what: str, text: str, step: str | None = None) -> Finding:
    """Return that nobody can tell from here."""
    return Finding(what, State.UNKNOWN, text, step)


class UnreadableError(Exception):
    """A configuration file is there and cannot be read as what it has to be."""


_NOISE = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
"""Strings, which stay; comments and last commas, which some tools allow in their JSON, go."""


def read_object(*path: str) -> dict[str, Any] | None:
    """Return the object in a JSON file, comments or not; None without a file; raises UnreadableError."""
    name = os.path.join(*path)
    try:
        text = Path(name).read_bytes().decode("utf-8-sig")
        # Twice: a comment may stand between a last comma and its bracket.
        for _ in range(2):
            text = _NOISE.sub(lambda found: found[1] or "", text)
        found = json.loads(text or "{}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as trouble:
        raise UnreadableError(f"{name} cannot be read: {trouble}") from None
    if not isinstance(found, dict):
        raise UnreadableError(f"{name} is no JSON object")
    return found


def inside(found: Any, *names: str) -> Any:
    """Return what lies under these names, None where any of them is missing."""
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def above(path: str) -> list[str]:
    """Return a folder and all folders that contain it, the nearest first."""
    found = [path]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def of_folder(records: Any, folder: str) -> Any:
    """Return what is filed under a folder, None for nothing; a tool may have filed it under a name with links in it."""
    found = inside(records, folder)
    if found is None and isinstance(records, dict):
        return next((each for name, each in records.items() if os.path.realpath(name) == folder), None)
    return found
