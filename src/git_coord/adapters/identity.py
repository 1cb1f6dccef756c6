"""Which agent a session of a coding agent is: the worktree's own, or, beside another session, one of its own."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from git_coord.app import App, open_app
from git_coord.domain.ids import is_session
from git_coord.errors import CoordError, Kind
from git_coord.guard import edit_state
from git_coord.guard.edit_places import Place
from git_coord.service.ledger import open_ledger
from git_coord.service.members.read_only import read_only
from git_coord.service.sessions import is_known_elsewhere, nobody

from .detached import start

DAY = 24 * 3600
STEMS = {"claude-code": "claude"}
"""What the names of a tool's agents begin with, where that is not the tool's name."""


def open_as(place: Place, key: str, own: str, *, notice: list[str], offline: bool = False) -> App | None:
    """Open the repository as the agent that this session is; None when that is not settled yet."""
    found = edit_state.acting(place, key, own)
    if found is None:
        return None
    app = _open(place, found, notice, offline=offline)
    if is_known_elsewhere(app.coord):
        tell_elsewhere(app, notice)
    return app


def tell_elsewhere(app: App, notice: list[str]) -> None:
    """Go on as nobody, and say so, when the agent is at work in another session: it is not here that it acts."""
    found = nobody(app.coord) if open_ledger(app.coord) is not None else None
    if found is not None:
        notice.append(f"git coord: {found.notice}")
        app.coord.identity = None


def _open(place: Place, found: tuple[str, str], notice: list[str], *, offline: bool = False) -> App:
    env = {**os.environ, **({"GIT_COORD_SESSION": found[1]} if found[1] else {})}
    app = open_app(place.top, env, agent=found[0] or None, offline=offline, notice=notice.append)
    if read_only(app.coord.files):
        app.coord.identity = None
    return app


def settle(place: Place, tool: str, key: str, own: str, *, notice: list[str], waits: bool) -> App:
    """Decide who the session is, join where that is needed, and open the repository as that agent.

    1. `GIT_COORD_AGENT` says it. 2. Nobody else's session is at work in this worktree: it is the worktree's own agent,
    as its shells and git hooks are. 3. Else it gets a name of its own, one that an ended session has left if it can.
    Who may only read is nobody. Only who `waits` asks a remote; else a process beside does, and it opens as nobody's.
    Raises CoordError(UNKNOWN) when the remote gives no answer to a join.
    """
    known = open_as(place, key, own, notice=notice)
    if known is not None:
        open_ledger(known.coord)
        return known
    from git_coord.app.naming import own_name
    from git_coord.app.setup import set_up  # most calls come from sessions that are settled

    app = open_app(place.top, os.environ, notice=notice.append)
    if read_only(app.coord.files):
        open_ledger(app.coord)
        return app
    is_quick = waits or app.coord.remote is None
    if own_name(app) is None:
        if not is_quick:
            return _later(app, tool, key, notice)
        done = set_up(app, None, None)
        if done.read_only:
            return app
        own = done.agent
    if _take_worktree(place, key):
        app = _open(place, (own, ""), notice)
        open_ledger(app.coord)
        return app
    return _beside(place, tool, key, notice) if is_quick else _later(app, tool, key, notice)


def _later(app: App, tool: str, key: str, notice: list[str]) -> App:
    """Let a process beside us settle it, and go on as somebody who holds nothing and may claim nothing yet."""
    start(app, ["join", tool, key])
    open_ledger(app.coord)
    app.coord.identity = None
    notice.append("git coord: this session is being given a name, until then it claims nothing by itself")
    return app


def _take_worktree(place: Place, key: str) -> bool:
    """Let this session act as the worktree's own agent, unless another one does that and is alive."""
    path = edit_state.owner_file(place)
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    for _ in range(2):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            with suppress(OSError):
                if 0 <= time.time() - os.stat(path).st_mtime < edit_state.IDLE:
                    return False
                os.unlink(path)
            continue
        except OSError:
            return True  # nothing can be noted here, and nothing be claimed: then it only looks
        with os.fdopen(fd, "w") as file:
            file.write(f"{key}\n")
        return True
    return False


def _beside(place: Place, tool: str, key: str, notice: list[str]) -> App:
    from git_coord.app.naming import suggestion
    from git_coord.app.setup import enlist

    session = key if is_session(key) else key[:100]
    app = open_app(place.top, {**os.environ, "GIT_COORD_SESSION": session}, notice=notice.append)
    if open_ledger(app.coord) is None:
        raise CoordError(Kind.UNKNOWN, "there is no ledger in this clone any more", next="git coord init")
    name = _left_over(place) or suggestion(app, STEMS.get(tool, tool))
    enlist(app, name)
    app.coord.files.write(
        _local(place, edit_state.session_file(place, key)), f"{name} {session}\n".encode(), local=True
    )
    app.refresh_snapshot()
    return app


def _local(place: Place, path: str) -> str:
    return os.path.relpath(path, os.path.join(place.git_dir, "coord"))


def _free_folder(place: Place) -> str:
    return os.path.join(place.git_dir, edit_state.FOLDER, "free")


def _left_over(place: Place) -> str | None:
    """Return the name of a session that has ended, or was silent for a day; taking it is removing its file."""
    free, sessions = _free_folder(place), os.path.dirname(edit_state.session_file(place, "x"))
    found = [(os.path.join(free, name), name) for name in _listing(free)]
    for key in _listing(sessions):
        path = os.path.join(sessions, key)
        with suppress(OSError):
            if time.time() - os.stat(path).st_mtime > DAY:
                with open(path) as file:
                    found.append((path, file.read().partition(" ")[0]))
    for path, name in found:
        with suppress(OSError):
            os.unlink(path)
            return name
    return None


def _listing(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def leave(place: Place, key: str) -> None:
    """Forget a session that has ended: the worktree, or its name, is free for the next one."""
    owner = edit_state.owner_file(place)
    with suppress(OSError), open(owner) as file:
        is_owner = file.read().strip() == key
        if is_owner:
            os.unlink(owner)
    path = edit_state.session_file(place, key)
    with suppress(OSError):
        with open(path) as file:
            name = file.read().partition(" ")[0]
        os.unlink(path)
        os.makedirs(_free_folder(place), exist_ok=True)
        with open(os.path.join(_free_folder(place), name), "w"):
            pass
