"""Codex: the feature switch, the projects that are trusted, and the approval of each hook by the hash of its text."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from git_coord.adapters.entries import TOOLS
from git_coord.adapters.findings import Finding, UnreadableError, inside, of_folder, read_object, unsure, well, wrong

from . import Place

APPROVE = "start codex here, type /hooks, approve those of git-coord"
SWITCHES = ("hooks", "codex_hooks")
"""The feature's name, and its older one."""


def look(place: Place) -> list[Finding]:
    """Hooks run when the feature is on, the project is trusted, and each hook was approved as it stands."""
    own = _config(os.path.join(place.home, "config.toml"))
    found = [_switch(place, own)]
    if own is None:
        step = f"start codex in {place.top} once and trust the folder"
        return [*found, unsure("trust", f"nothing is recorded yet, there is no {place.home}/config.toml", step)]
    if not place.is_user:
        found.append(_trust(place, own))
    return [*found, _approval(place, own)]


def _config(path: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as trouble:
        raise UnreadableError(f"{path} cannot be read: {trouble}") from None


def _switch(place: Place, own: dict[str, Any] | None) -> Finding:
    project = os.path.join(place.main, ".codex/config.toml")
    for path, config in ((project, _config(project)), (os.path.join(place.home, "config.toml"), own)):
        said = [inside(config, "features", name) for name in SWITCHES]
        if False in said:
            name = SWITCHES[said.index(False)]
            return wrong("hooks", f"switched off by {name} = false under [features] in {path}", "take that line out")
    return well("hooks", "the feature is on")


def _trust(place: Place, own: dict[str, Any]) -> Finding:
    """Look for the worktree and the main checkout; a trusted folder above them does not count."""
    step = f"start codex in {place.top} once and trust the folder"
    if place.top != place.main and not os.path.isdir(os.path.join(place.top, ".codex")):
        text = f"a linked worktree reads {place.main}/.codex, and only if it has a .codex itself"
        return wrong("trust", text, "git coord adapter install codex --user")
    for folder in dict.fromkeys((place.top, place.main)):
        level = inside(of_folder(inside(own, "projects"), folder), "trust_level")
        if level == "trusted":
            return well("trust", f"{folder} is trusted")
        if level is not None:
            return wrong("trust", f"{folder} is {str(level)[:20]!r} in {place.home}/config.toml", step)
    return wrong("trust", "this project is not trusted: until then codex reads no hooks from it", step)


def _approval(place: Place, own: dict[str, Any]) -> Finding:
    """Compare what was approved with the hash that codex 0.171 makes of each of our hooks."""
    path = os.path.join(place.home if place.is_user else os.path.join(place.main, ".codex"), "hooks.json")
    states, ours = inside(own, "hooks", "state"), list(_ours(path))
    if not ours:
        text = f"codex reads {path} for this worktree, where there is none of our hooks"
        return wrong("approval", text, "git coord adapter install codex --user")
    missing, changed, off = [], [], []
    for key, digest in ours:
        state = inside(states, key)
        approved = inside(state, "trusted_hash")
        if inside(state, "enabled") is False:
            off.append(key)
        elif approved is None:
            missing.append(key)
        elif approved != digest:
            changed.append(key)
    for keys, words in ((off, "switched off"), (missing, "not approved"), (changed, "changed since approved")):
        if keys:
            names = ", ".join(key.removeprefix(f"{path}:").split(":")[0] for key in keys)
            return wrong("approval", f"{words}, so they do not run: {names}", APPROVE)
    return well("approval", "every hook is approved as it stands")


def _ours(path: str) -> Iterator[tuple[str, str]]:
    """Yield the key under which codex files each hook of ours, and its hash; raises UnreadableError."""
    found = read_object(path)
    for event, ours, _ in TOOLS["codex"].events:
        listed = inside(found, "hooks", event)
        for group, entry in enumerate(listed if isinstance(listed, list) else ()):
            handlers = inside(entry, "hooks")
            for at, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if str(inside(handler, "command")).endswith(f"git-coord hook codex {ours}"):
                    name = "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")
                    yield f"{path}:{name}:{group}:{at}", _hash(name, entry, handler)


def _hash(event: str, entry: dict[str, Any], handler: dict[str, Any]) -> str:
    given = {key: handler[key] for key in ("type", "command", "timeout") if key in handler}
    whole: dict[str, Any] = {"event_name": event, "hooks": [{**given, "async": False}]}
    whole |= {"matcher": entry["matcher"]} if "matcher" in entry else {}
    data = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(data.encode('utf-8', 'replace')).hexdigest()}"
