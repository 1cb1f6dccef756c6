"""Gemini CLI: switches in its settings, and the folders that were trusted, or not, in `trustedFolders.json`."""

from __future__ import annotations

import os
from typing import Any

from git_coord.adapters.entries import TOOLS, command
from git_coord.adapters.findings import Finding, above, inside, read_object, unsure, well, wrong

from . import Place

SYSTEM = "/etc/gemini-cli/settings.json"
FOLDERS = "trustedFolders.json"


def look(place: Place) -> list[Finding]:
    """Hooks run when no settings switch them off by name or as a whole, and the folder is trusted."""
    return [_switches(place), _trust(place)]


def _settings(place: Place) -> list[tuple[str, dict[str, Any]]]:
    """Return what is set, the strongest first: what the project says counts more than what its user says."""
    files = (SYSTEM, os.path.join(place.top, ".gemini/settings.json"), os.path.join(place.home, "settings.json"))
    return [(path, found) for path in files if (found := read_object(path)) is not None]


def _switches(place: Place) -> Finding:
    settings = _settings(place)
    for path, found in settings:
        said = inside(found, "hooksConfig", "enabled")
        if said is False:
            return wrong("hooks", f"switched off by hooksConfig.enabled in {path}", "set it to true there")
        if said is not None:
            break
    events = [ours for _, ours, _ in TOOLS["gemini"].events]
    names = {*(f"git-coord-{event}" for event in events), *(command("gemini", event) for event in events)}
    for path, found in settings:  # these lists add up
        listed = inside(found, "hooksConfig", "disabled")
        off = sorted(names.intersection(each for each in listed if isinstance(each, str))) if listed else []
        if off:
            return wrong(
                "hooks", f"{', '.join(off)} switched off by hooksConfig.disabled in {path}", "/hooks enable-all"
            )
    return well("hooks", "not switched off in any settings")


def _trust(place: Place) -> Finding:
    said = place.env.get("GEMINI_CLI_TRUST_WORKSPACE")
    if said == "false" or place.env.get("GEMINI_RESTRICTED_MODE") == "true":
        return wrong(
            "trust", "this environment says that the folder is not trusted", "unset GEMINI_CLI_TRUST_WORKSPACE"
        )
    if said == "true":
        return well("trust", "this environment says that the folder is trusted")
    for path in (SYSTEM, os.path.join(place.home, "settings.json")):
        if inside(read_object(path), "security", "folderTrust", "enabled") is False:
            return well("trust", f"folders need no trust ({path})")
    path = place.env.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or os.path.join(place.home, FOLDERS)
    found = read_object(path)
    step = f"start gemini in {place.top} once and trust the folder"
    if found is None:
        return unsure("trust", f"nothing is recorded yet, there is no {path}", step)
    level = _level(found, place.top)
    if level in ("TRUST_FOLDER", "TRUST_PARENT"):
        return well("trust", "this folder is trusted")
    text = "is not to be trusted" if level else "is not trusted yet"
    return wrong("trust", f"this folder {text}: until then gemini leaves out the project's settings", step)


def _level(found: dict[str, Any], top: str) -> str | None:
    """Return what the rule with the longest path says of a folder; one for a parent is filed under its child."""
    folders = above(top)
    rules = [
        (len(path), level)
        for path, level in found.items()
        if os.path.realpath(os.path.dirname(path) if level == "TRUST_PARENT" else path) in folders
    ]
    return str(max(rules)[1]) if rules else None
