"""What a command changed in the worktree, whatever it was: the changed files as git lists them, before and after."""

import os

from . import git
from .edit_places import Place
from .edit_state import FOLDER, stamp
from .snapshot import escape, unescape

_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty")
UNCLAIMED = os.path.join(FOLDER, "unclaimed")
"""Log of files that changed without a claim: lines `AT AGENT TOOL PATH`, in the common directory."""


def _file(place: Place, agent: str) -> str:
    return os.path.join(place.git_dir, FOLDER, "tree", agent)


def is_known(place: Place, agent: str) -> bool:
    """Tell whether there is a picture to compare with."""
    return os.path.exists(_file(place, agent))


def look(place: Place, agent: str) -> list[bytes]:
    """Return the paths whose content changed since the last look, and remember how they are now.

    The first look finds nothing. Raises GitFailed, OSError.
    """
    now = _now(place)
    data = git.read_file(_file(place, agent))
    before = _parsed(data or b"")
    _remember(place, agent, now)
    if data is None:
        return []
    found = [path for path, stamped in now.items() if before.get(path) != stamped]
    # One that is no longer listed was committed, or brought back to what HEAD has: then it changed as well.
    found += [path for path, stamped in before.items() if path not in now and stamp(place.top, path) != stamped]
    return sorted(found)


def changed(place: Place) -> list[bytes]:
    """Return the tracked files that differ from HEAD; raises GitFailed, OSError."""
    return _listed(place, "--untracked-files=no")


def _now(place: Place) -> dict[bytes, bytes]:
    return {path: stamp(place.top, path) for path in _listed(place, "--untracked-files=all")}


def _listed(place: Place, untracked: str) -> list[bytes]:
    os.environ["GIT_OPTIONAL_LOCKS"] = "0"
    rows = git.Process("-C", place.top, *_STATUS, untracked).output().split(b"\0")
    return [row[3:] for row in rows if row]


def _parsed(data: bytes) -> dict[bytes, bytes]:
    rows = [line.split(b"\t") for line in data.split(b"\n") if line]
    return {unescape(row[0]): row[1] for row in rows if len(row) == 2}


def _remember(place: Place, agent: str, now: dict[bytes, bytes]) -> None:
    from .beats import replace

    lines = [b"%s\t%s\n" % (escape(path), stamped) for path, stamped in now.items()]
    replace(_file(place, agent), b"".join(lines))
