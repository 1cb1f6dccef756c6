"""Our hooks in the configuration of a tool: put in, and taken out byte for byte when nobody else came between."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from git_coord.app import App
from git_coord.errors import CoordError, Kind

from .entries import CLOSES, PLUGIN, PLUGIN_PROJECT, PLUGIN_USER, TOOLS, Tool
from .files import backup_name, read, write
from .homes import folder
from .merge import dump, has_ours, load, with_ours, without_ours

PLUGIN_MARK = b"git-coord plugin"


@dataclass(frozen=True, slots=True)
class Change:
    """A configuration file, and whether it was changed."""

    path: str
    is_changed: bool


def place(app: App, name: str, *, is_user: bool) -> str:
    """Return the file that a tool reads its hooks from; raises CoordError(ERROR) in a bare repository."""
    top = app.location.top
    if top is None and not is_user:
        raise CoordError(Kind.ERROR, "there is no worktree here", next=f"git coord adapter install {name} --user")
    home = folder(name, app.env)
    if name == PLUGIN:
        return os.path.join(home, PLUGIN_USER) if is_user else os.path.join(top or "", PLUGIN_PROJECT)
    return TOOLS[name].path(top or "", home, is_user=is_user)


def planned(app: App, name: str, *, is_user: bool, closed: bool) -> tuple[str, bytes]:
    """Return the file and what `install` would make of it; nothing is written."""
    path = place(app, name, is_user=is_user)
    before = read(path)
    if name == PLUGIN:
        if before is not None and PLUGIN_MARK not in before:
            raise CoordError(Kind.ERROR, f"{path} is there and not ours; nothing was changed")
        return path, plugin()
    found = load(before, path)
    made = with_ours(found, TOOLS[name], closed=closed)
    return path, before if made is found and before is not None else dump(made, before)


def install(app: App, name: str, *, is_user: bool, closed: bool) -> Change:
    """Write our entries beside what is there; again changes nothing. What was there is kept for `uninstall`."""
    path, data = planned(app, name, is_user=is_user, closed=closed)
    before = read(path)
    if before == data:
        return Change(path, is_changed=False)
    if name == PLUGIN or not has_ours(load(before, path), TOOLS[name]):
        app.coord.files.write(backup_name(path), b"-" if before is None else b"+" + before)
    write(path, data)
    return Change(path, is_changed=True)


def uninstall(app: App, name: str, *, is_user: bool) -> Change:
    """Take our entries out; the file is as it was before byte for byte, unless others changed it since."""
    path = place(app, name, is_user=is_user)
    data, kept = read(path), app.coord.files.read(backup_name(path))
    if data is None or not _is_installed(name, path, data):
        return Change(path, is_changed=False)
    prior = kept[1:] if kept is not None and kept[:1] == b"+" else None
    left = _left(name, path, data, prior)
    if left is None:
        os.unlink(path)
    else:
        write(path, left)
    app.coord.files.remove(backup_name(path))
    return Change(path, is_changed=True)


def _left(name: str, path: str, data: bytes, prior: bytes | None) -> bytes | None:
    """Return what stays of a file without ours, None when nothing does."""
    if name == PLUGIN:
        return None
    tool = TOOLS[name]
    rest = without_ours(load(data, path), tool)
    if prior is not None:
        before = load(prior, path)
        for event, listed in before.get("hooks", {}).items():
            if not listed:  # an empty list that was there and that ours had filled
                rest.setdefault("hooks", {}).setdefault(event, [])
        if "hooks" in before:
            rest.setdefault("hooks", {})
        if rest == before:
            return prior
    if prior is None and all(rest.get(key) == value for key, value in tool.base) and len(rest) == len(tool.base):
        return None
    return dump(rest, data)


def is_installed(app: App, name: str, *, is_user: bool) -> bool:
    """Tell whether hooks of ours are in the file, and look as this version writes them."""
    path = place(app, name, is_user=is_user)
    data = read(path)
    return data is not None and _is_installed(name, path, data)


def _is_installed(name: str, path: str, data: bytes) -> bool:
    return PLUGIN_MARK in data if name == PLUGIN else has_ours(load(data, path), TOOLS[name])


def is_current(app: App, tool: Tool, *, is_user: bool) -> bool:
    """Tell whether every entry is as this version writes it, open or closed."""
    path = place(app, tool.name, is_user=is_user)
    found = load(read(path), path)
    return any(with_ours(found, tool, closed=closed) is found for closed in (False, True))


def is_closed(app: App, name: str, *, is_user: bool) -> bool:
    """Tell whether the hooks are to deny when they fail themselves."""
    path = place(app, name, is_user=is_user)
    return name in CLOSES and with_ours(found := load(read(path), path), TOOLS[name], closed=True) is found


def plugin() -> bytes:
    """Return the plugin file for opencode."""
    return (Path(__file__).parent / "opencode" / "git-coord.js").read_bytes()
