"""Claude Code: switches in its settings, and the folders that were trusted in `.claude.json`."""

from __future__ import annotations

import os

from git_coord.adapters.findings import Finding, above, inside, of_folder, read_object, unsure, well, wrong

from . import Place

MANAGED = "/etc/claude-code/managed-settings.json"
SWITCHES = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE")
"""Variables that leave hooks out, like `--bare` and `--safe-mode`."""


def look(place: Place) -> list[Finding]:
    """Hooks run when no settings switch them off and the folder, or one above it, was trusted once."""
    return [_switches(place), _trust(place)]


def _switches(place: Place) -> Finding:
    managed = read_object(MANAGED)
    if inside(managed, "allowManagedHooksOnly") is True:
        return wrong("hooks", f"{MANAGED} allows only its own hooks", "ask who manages this machine")
    # What counts is the first of these that says anything.
    files = (
        MANAGED,
        os.path.join(place.top, ".claude/settings.local.json"),
        os.path.join(place.top, ".claude/settings.json"),
        os.path.join(place.home, "settings.json"),
    )
    for path in files:
        said = inside(read_object(path), "disableAllHooks")
        if said is True:
            return wrong("hooks", f"switched off by disableAllHooks in {path}", "set it to false there")
        if said is not None:
            break
    for name in SWITCHES:
        if place.env.get(name, "0").lower() not in ("", "0", "false", "no", "off"):
            return wrong("hooks", f"switched off by {name} in this environment", f"unset {name}")
    return well("hooks", "not switched off in any settings")


def _trust(place: Place) -> Finding:
    path = place.env.get("CLAUDE_CONFIG_DIR")
    path = os.path.join(path, ".claude.json") if path else f"{place.home}.json"
    found = read_object(path)
    step = f"start claude in {place.top} once and accept the question"
    if found is None:
        return unsure("trust", f"nothing is recorded yet, there is no {path}", step)
    for folder in [place.main, *above(place.top)]:
        if inside(of_folder(inside(found, "projects"), folder), "hasTrustDialogAccepted") is True:
            return well("trust", f"{folder} is trusted")
    return wrong("trust", "this folder is not trusted: until then sessions with a terminal hold all hooks back", step)
