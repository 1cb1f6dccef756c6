"""Opened repositories kept between calls, and opened anew when what they were made from has changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from git_coord.app import App, key_path, open_app
from git_coord.lean import NamedTuple

KEPT = 4
"""Idle ones of a folder and agent kept at once, at most: so many calls run side by side without opening again."""

Stamp = tuple[int, ...] | None


COARSE = 20_000_000
"""Nanoseconds that a file's time may be behind the clock."""


class _Kept(NamedTuple):
    app: App
    stamps: dict[str, Stamp]


class Workspaces:
    """Hands out an opened repository to one call at a time; where it lies and who acts is asked of git each time anew.

    What is kept is only taken again while configuration, key, session and the way from the folder to its repository
    are what they were. Its view of the refs is never kept.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        """Keep nothing yet."""
        self._env = env
        self._idle: dict[tuple[str, str | None], list[_Kept]] = {}
        self._taken: dict[int, _Kept] = {}
        # For correctness: two calls must never get the same one.
        self._lock = threading.Lock()

    def take(self, folder: str, agent: str | None, notice: Callable[[str], None]) -> App:
        """Return the repository around a folder; raises CoordError as `open_app` does."""
        while (kept := self._pop(folder, agent)) is not None:
            if kept.stamps == _stamps(folder, kept.app):
                kept.app.begin_again(notice)
                break
            kept.app.rest()
        else:
            began = time.time_ns()
            app = open_app(folder, self._env, agent=agent, notice=notice, long_lived=True)
            kept = _Kept(app, _stamps(folder, app))
            if any(stamp is not None and stamp[-1] >= began - COARSE for stamp in kept.stamps.values()):
                return app  # written while it was read: nobody can tell which of both it is
        self._taken[id(kept.app)] = kept
        return kept.app

    def give(self, folder: str, agent: str | None, app: App) -> None:
        """Take back what a call is done with."""
        kept = self._taken.pop(id(app), None)
        with self._lock:
            idle = self._idle.setdefault((folder, agent), [])
            if kept is not None and len(idle) < KEPT:
                idle.append(kept)
                return
        app.rest()

    def _pop(self, folder: str, agent: str | None) -> _Kept | None:
        with self._lock:
            idle = self._idle.get((folder, agent))
            return idle.pop() if idle else None


def _stamps(folder: str, app: App) -> dict[str, Stamp]:
    """Return what tells whether the repository, its configuration and the acting agent are still the same."""
    env, place = app.env, app.location
    home = env.get("HOME") or os.path.expanduser("~")
    configs = [
        os.path.join(place.common_dir, "config"),
        os.path.join(place.git_dir, "config.worktree"),
        env.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"),
        os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config"),
        app.coord.files.path("session", local=True),
        *_keys(app),
    ]
    found = {path: _stamp(path) for path in configs}
    # A new repository on the way up, or another one in the place of ours, is another answer to where we are.
    found |= {path: _identity(path) for path in (place.git_dir, *_ways_up(folder, place.top))}
    return found


def _keys(app: App) -> list[str]:
    repo, me = app.config.get("coord.repo"), app.coord.identity
    return [key_path(app, repo, me.agent)] if repo is not None and me is not None else []


def _ways_up(folder: str, top: str | None) -> list[str]:
    """Return where a `.git` would be looked for from the folder up to the top."""
    ways = [os.path.join(folder, ".git")]
    while folder not in (top, os.path.dirname(folder)):
        folder = os.path.dirname(folder)
        ways.append(os.path.join(folder, ".git"))
    return ways


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _identity(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
