"""Each `git coord run` in a file it holds a lock on as long as it lives, with what its agent had shown before.

A run that was killed leaves the file and not the lock: the next command of its agent ends what it has shown, and what
was claimed under it is given back once the command is gone, too.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from git_coord.domain.announcements import Presence
from git_coord.lean import NamedTuple

from ..context import Coord
from ..leases import is_shown, remember
from ..ledger import view
from ..presence import DEFAULT_TTL, Wish, own_record, set_presence

FOLDER = "running"
"""Files `AGENT.RUN`, each one JSON object."""


class Run(NamedTuple):
    """A run of the acting agent's session: what it shows, what was shown before (None: nothing), what it has begun.

    `shows` and `before` are fields of a heartbeat. `command` is `PID START` of the process, empty before it is started.
    """

    id: str
    session: str
    name: str
    shows: Mapping[str, Any] | None
    before: Mapping[str, Any] | None
    command: str = ""
    is_told: bool = False
    """Whether it was said that its command outlived it."""


def begin(coord: Coord, run: str, name: str, wish: Wish) -> tuple[Run, int | None]:
    """Show what a run means to show, and note that it runs: the lock on that note ends with this process."""
    note = None if coord.settings.share == "none" else wish.note
    shows = {"state": wish.state, "note": note, "ttl": wish.ttl, "will": wish.will}
    made = Run(run, coord.me.session, name, shows, _before(coord))
    lock = None
    with suppress(OSError):  # nothing can be noted here: then a kill is noticed by nobody
        lock = _made(coord, made)
    set_presence(coord, wish)
    remember(coord, view(coord)[0], shows=True)
    return made, lock


def note_command(coord: Coord, run: Run, pid: int) -> None:
    """Note which process a run has started."""
    with suppress(OSError):
        _write(coord, run._replace(command=f"{pid} {_started(pid)}"))


def forget(coord: Coord, run: str) -> None:
    """Forget a run that has ended."""
    coord.files.remove(_name(coord, run))
    with suppress(OSError):
        os.rmdir(coord.files.path(FOLDER))


def show_before(coord: Coord, run: Run) -> None:
    """Show, instead of a run, another one that is alive, else what was set before if that is believed still."""
    others = [each for each in found(coord) if each.id != run.id and each.shows and is_alive(coord, each.id)]
    if others:
        wish = Wish(**others[-1].shows or {})
    elif run.before and coord.clock.now() <= run.before["at"] + run.before["ttl"]:
        wish = Wish(**{name: value for name, value in run.before.items() if name != "at"})
    else:
        wish = Wish("offline", note="", ttl=DEFAULT_TTL, will="")
    set_presence(coord, wish)
    remember(coord, view(coord)[0], shows=wish.state != "offline")


def killed(coord: Coord) -> list[Run]:
    """Return the runs of the acting agent's session that ended without a word."""
    return [each for each in found(coord) if not is_alive(coord, each.id)]


def end_shown(coord: Coord) -> bool:
    """End what killed runs have shown, unless their agent has said something else since; tell whether it was any."""
    ended = False
    for run in killed(coord):
        own = own_record(coord)
        if (
            run.shows is not None
            and own is not None
            and (own.state, own.note) == (run.shows["state"], run.shows["note"])
        ):
            show_before(coord, run)
            ended = True
        if run.shows is not None:
            with suppress(OSError):
                _write(coord, run._replace(shows=None))
    return ended


def give_back_killed(coord: Coord) -> None:
    """Give back what was claimed under killed runs whose commands have ended, too, and say so; raises CoordError."""
    from ..giving_back import give_back  # noqa: PLC0415 - hardly ever needed
    from ..under_run import claimed_under, forget_run  # noqa: PLC0415

    for run in killed(coord):
        if has_command(run):
            held = [
                claim.token
                for claim in view(coord)[0].held_by(coord.me.agent)
                if claim.op in claimed_under(coord, run.id)
            ]
            if held and not run.is_told:
                coord.notice(_outlived(run, held))
            _write(coord, run._replace(is_told=True))
            continue
        given = give_back(coord, run.id, "killed")
        if given.claims:
            word = "released" if given.is_confirmed else "to be released"
            tokens = " ".join(f"#{claim.token}" for claim in given.claims)
            coord.notice(f"{word} {tokens}: the run of {run.name} that held it was killed")
        forget_run(coord, run.id)
        forget(coord, run.id)


def _outlived(run: Run, held: list[Any]) -> str:
    tokens = " ".join(f"#{token}" for token in held)
    return (
        f"the run of {run.name} was killed, its command (process {run.command.split()[0]}) goes on; {tokens} is held "
        "until that has ended"
    )


def is_due(coord: Coord) -> bool:
    """Tell whether something of killed runs is still to be given back, or to be said."""
    return any(not (has_command(run) and run.is_told) for run in killed(coord))


def has_command(run: Run) -> bool:
    """Tell whether the command of a run is at work still; one of another's number is not."""
    pid, _, started = run.command.partition(" ")
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return _started(int(pid)) == started


def found(coord: Coord) -> list[Run]:
    """Return the runs that are noted of the acting agent's session, in the order of their beginning."""
    if coord.identity is None:
        return []
    try:
        entries = list(os.scandir(coord.files.path(FOLDER)))
    except OSError:
        return []
    start = f"{coord.me.agent}."
    mine = [e for e in entries if e.name.startswith(start) and "." not in e.name[len(start) :]]
    runs = [_read(coord, entry.name[len(start) :]) for entry in sorted(mine, key=_begun)]
    return [run for run in runs if run is not None and run.session == coord.me.session]


def _begun(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def is_alive(coord: Coord, run: str) -> bool:
    """Tell whether the process of a run lives; where that cannot be told it does."""
    try:
        fd = os.open(coord.files.path(_name(coord, run)), os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        # For correctness: it says that the run is alive.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _before(coord: Coord) -> Mapping[str, Any] | None:
    """Return what the agent had set to be shown; what another of its runs shows it did not set itself."""
    own = own_record(coord)
    if own is None or not is_shown(coord):
        return None
    for run in found(coord):
        if run.shows and (own.state, own.note) == (run.shows["state"], run.shows["note"]):
            return run.before
    return _fields(own)


def _fields(own: Presence) -> Mapping[str, Any]:
    names = ("state", "task", "queue", "ttl", "branch", "at")
    return {"note": own.note or "", "will": own.will or ""} | {name: getattr(own, name) for name in names}


def _name(coord: Coord, run: str) -> str:
    return f"{FOLDER}/{coord.me.agent}.{run}"


def _write(coord: Coord, run: Run) -> None:
    """Write the note in its place: a lock is on the file itself."""
    path = coord.files.path(_name(coord, run.id))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        data = json.dumps(run._asdict()).encode()
        os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
    finally:
        os.close(fd)


def _made(coord: Coord, run: Run) -> int:
    """Write the note, which nobody sees before this process holds its lock."""
    name = f"{run.id}.new"
    _write(coord, run._replace(id=name))
    path = coord.files.path(_name(coord, name))
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.rename(path, coord.files.path(_name(coord, run.id)))
    return fd


def _read(coord: Coord, run: str) -> Run | None:
    try:
        return Run(**json.loads(coord.files.read(_name(coord, run)) or b""))._replace(id=run)
    except (ValueError, TypeError):
        return None


def _started(pid: int) -> str:
    """Return when a process began, in the system's own words; empty where it does not say, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
        return "" if words[0] in (b"Z", b"X") else words[19].decode("ascii")
    except (OSError, IndexError):
        return ""
