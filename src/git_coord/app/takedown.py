"""Taking all of git coord out of a clone again: refs, files and settings, of every worktree."""

from __future__ import annotations

import contextlib
import os
import shutil

from git_coord.domain.ids import Agent
from git_coord.service.exchange.own_refs import own_live
from git_coord.service.sessions import git_dirs
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate

from .root import App
from .setup import SPLIT_BY_US

FOLDER = "coord"


def take_down(app: App) -> list[str]:
    """Remove every ref, file and setting of ours from this clone; keys stay. Returns what was removed, in words.

    Claims stay in the ledger of the remote: whoever leaves for good releases first.
    """
    values = app.coord.store.refs(*refnames.ALL_PREFIXES)
    if values:
        app.coord.store.swap([RefUpdate(ref, ABSENT, oid) for ref, oid in values.items()], "deinit")
    folders = git_dirs(app.location.common_dir)
    for folder in folders:
        shutil.rmtree(os.path.join(folder, FOLDER), ignore_errors=True)
    common = app.location.common_dir
    for path in [os.path.join(common, "config"), *(os.path.join(folder, "config.worktree") for folder in folders)]:
        if os.path.exists(path):
            _remove_settings(app, path)
    if app.config.get(SPLIT_BY_US) is not None:
        _join_config(app, folders)
    return [f"{len(values)} refs", "caches and stamps", "settings"]


def agents_here(app: App) -> list[Agent]:
    """Return the agents of this clone's worktrees: those with a request ref of their own, and the acting one."""
    names = [refnames.parse(ref) for ref in own_live(app.coord, refnames.prefix(refnames.Family.REQUESTS))]
    agents = [name.agent for name in names if name is not None and name.agent is not None]
    return sorted({*agents, *([app.coord.identity.agent] if app.coord.identity else [])})


def _remove_settings(app: App, path: str) -> None:
    keys = app.git.run(["config", "--file", path, "--name-only", "--get-regexp", r"^coord\."], check=False)
    sections = dict.fromkeys(key.rpartition(".")[0] for key in os.fsdecode(keys.out).splitlines())
    for section in sections:
        app.git.run(["config", "--file", path, "--remove-section", section], check=False)


def _join_config(app: App, folders: list[str]) -> None:
    """Undo the split of the configuration, unless somebody else has come to rely on it."""
    main = os.path.join(app.location.common_dir, "config.worktree")
    was_bare = _entries(app, main) == ["core.bare=true"]
    if was_bare:
        os.unlink(main)
    paths = [os.path.join(folder, "config.worktree") for folder in folders]
    if any(_entries(app, path) for path in paths):
        return
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    config = os.path.join(app.location.common_dir, "config")
    if was_bare:
        app.git.run(["config", "--file", config, "core.bare", "true"])
    app.git.run(["config", "--file", config, "--unset", "extensions.worktreeConfig"], check=False)


def _entries(app: App, path: str) -> list[str]:
    if not os.path.exists(path):
        return []
    return os.fsdecode(app.git.run(["config", "--file", path, "--list"]).out).splitlines()
