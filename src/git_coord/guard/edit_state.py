"""Small files of edit hooks: which agent a session of a coding agent is, content as it was last seen, news to tell."""

import os

from .beats import replace
from .edit_places import Place
from .git import read_file

FOLDER = os.path.join("coord", "edit")
IDLE = 2 * 3600
"""Seconds without a call after which a session is taken to be over, if its tool never said so."""
TOUCHED = 60
ABSENT = b"-"
CHUNK = 1 << 20
LARGE = 1 << 26
"""Bytes from which on a file is not read through for an edit, neither here nor to pin a claim of it."""


def session_key(tool: str, session: str, subagent: str, *, apart: bool) -> str:
    """Return the name under which a session is known here, fit for a file's name; empty when it has none.

    `apart`: a subagent counts as a session of its own.
    """
    if not session:
        return ""
    text = f"{tool}-{session}" + (f"-{subagent}" if apart and subagent else "")
    if len(text) <= 120 and all(char.isascii() and (char.isalnum() or char in "-_") for char in text):
        return text
    import hashlib

    return f"{tool}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:32]}"


def owner_file(place: Place) -> str:
    """Return the file that says which session acts as the worktree's own agent: its key."""
    return os.path.join(place.git_dir, FOLDER, "owner")


def session_file(place: Place, key: str) -> str:
    """Return the file of a session that has an agent of its own: `AGENT SESSION`."""
    return os.path.join(place.git_dir, FOLDER, "sessions", key)


def acting(place: Place, key: str, agent: str) -> tuple[str, str] | None:
    """Return agent and session (empty: the worktree's) that a session acts as, None when that is not settled yet.

    `agent` is the worktree's own. `GIT_COORD_AGENT` was set by somebody who knows better.
    """
    if given := os.environ.get("GIT_COORD_AGENT"):
        # It becomes part of file names; what cannot be a name at all the full program refuses with better words.
        return None if "/" in given or given.startswith(".") else (given, "")
    path = owner_file(place)
    if agent and (not key or (read_file(path) or b"").decode("ascii", "replace").strip() == key):
        _touch(path)
        return agent, ""
    path = session_file(place, key)
    words = (read_file(path) or b"").decode("ascii", "replace").split() if key else []
    if len(words) != 2:
        return None
    _touch(path)
    return words[0], words[1]


def _touch(path: str) -> None:
    """Let the file tell that its session is alive, at most once a minute."""
    import time  # built in

    try:
        if not 0 <= time.time() - os.stat(path).st_mtime < TOUCHED:
            os.utime(path)
    except OSError:
        return


def _pin_file(place: Place, agent: str, name: bytes) -> str:
    word = name.hex()
    if len(word) > 200:
        import hashlib

        word = hashlib.sha256(name).hexdigest()
    return os.path.join(place.git_dir, FOLDER, "pins", agent, word)


def stamp(top: str, name: bytes) -> bytes:
    """Return what tells one version of a file from another without reading it."""
    try:
        found = os.lstat(os.path.join(os.fsencode(top), name))
    except OSError:
        return ABSENT
    return b"%d %d %d %d" % (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def is_large(top: str, name: bytes) -> bool:
    """Tell whether a file is too large to be read through for an edit."""
    try:
        return os.lstat(os.path.join(os.fsencode(top), name)).st_size > LARGE
    except OSError:
        return False


def _content(top: str, name: bytes) -> bytes:
    """Return the hash of what a file or a link holds; of a large one, its stamp, for no edit may wait for a minute."""
    import hashlib

    path = os.path.join(os.fsencode(top), name)
    found = hashlib.sha256()
    try:
        if os.path.islink(path):
            found.update(os.readlink(path))
        elif not os.path.isfile(path):
            return ABSENT
        elif is_large(top, name):
            return stamp(top, name)
        else:
            with open(path, "rb", buffering=0) as file:
                while part := file.read(CHUNK):
                    found.update(part)
    except OSError:
        return ABSENT
    return found.hexdigest().encode("ascii")


def pin(place: Place, agent: str, name: bytes) -> None:
    """Remember what a file holds now, as this agent left it; raises OSError."""
    replace(_pin_file(place, agent, name), b"%s\n%s\n" % (stamp(place.top, name), _content(place.top, name)))


def is_as_pinned(place: Place, agent: str, name: bytes) -> bool | None:
    """Tell whether a file is as the agent last left it, None when that was never noted."""
    lines = (read_file(_pin_file(place, agent, name)) or b"").split(b"\n")
    if len(lines) != 3:
        return None
    if lines[0] == stamp(place.top, name):
        return True
    return lines[1] == _content(place.top, name)


def unpin(place: Place, agent: str, name: bytes) -> None:
    """Forget what a file held."""
    try:
        os.unlink(_pin_file(place, agent, name))
    except OSError:
        return


def news_file(place: Place, agent: str) -> str:
    """Return the file with what the agent is to be told at its next call: lines `NONCE WORDS`."""
    return os.path.join(place.common, FOLDER, "news", agent)


def take_news(place: Place, agent: str) -> list[str]:
    """Return what is to be told, once; what is pending stays until it is known."""
    path = news_file(place, agent)
    if not os.path.exists(path):
        return []
    taken = f"{path}.{os.getpid()}.taken"
    try:
        os.rename(path, taken)
    except OSError:
        return []
    lines = (read_file(taken) or b"").decode("utf-8", "replace").splitlines()
    os.unlink(taken)
    return [line.partition(" ")[2] for line in lines]


def append(path: str, line: str) -> None:
    """Add a line in one write; raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(fd, f"{line}\n".encode(errors="replace"))
    finally:
        os.close(fd)
