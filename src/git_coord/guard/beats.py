"""Signs of life as small files, and the one process beside the command that pushes them when they are due.

`beats/<agent>`: `AT SESSION`, the last beat that the remote acknowledged (without a remote: the last one). By
`leases/<agent>` the guard knows what depends on it; its first line is `SESSION INTERVAL WARN`: a beat is due once the
acknowledged one is INTERVAL seconds old (0: there is no remote, a beat is a line in the file), and from WARN on there
is something to say. All times in seconds since the epoch.
"""

import os
import sys

from .git import read_file

BEATS, LEASES, GONE = "beats", "leases", "gone"
ATTEMPT = "beat.attempt"
"""When the last push of a beat was started here: one at a time, and none right after another."""
SPACING = 60
"""Most seconds between two attempts while the remote gives no answer."""

Lease = tuple[bytes, int, int]
"""Session, interval, from when to warn."""


def read_lease(folder: str, agent: str) -> Lease | None:
    """Return what depends on the agent's beats; None when nothing does."""
    words = (read_file(folder, LEASES, agent) or b"").partition(b"\n")[0].split()
    if len(words) != 3 or not (words[1].isdigit() and words[2].isdigit()):
        return None
    return words[0], int(words[1]), int(words[2])


def last_beat(folder: str, agent: str) -> tuple[int, bytes] | None:
    """Return `(at, session)` of the last acknowledged beat."""
    words = (read_file(folder, BEATS, agent) or b"").split()
    return (int(words[0]), words[1]) if len(words) == 2 and words[0].isdigit() else None


def is_due(folder: str, agent: str, now: int) -> bool:
    """Tell whether a beat has to be pushed; one from the future, after a clock was set back, is no reason not to."""
    lease = read_lease(folder, agent)
    if lease is None or not lease[1]:
        return False
    last = last_beat(folder, agent)
    return last is None or last[1] != lease[0] or not 0 <= now - last[0] < lease[1]


def beat(folder: str, agent: str, now: int) -> None:
    """Let a command that had nothing else to do count as a sign of life; trouble only makes the lease end earlier."""
    lease = read_lease(folder, agent)
    if lease is None:
        return
    if lease[1]:
        push_if_due(folder, agent, now)
        return
    last = last_beat(folder, agent)
    if last is not None and last[0] < now:
        note(folder, agent, now, last[1])


def note(folder: str, agent: str, at: int, session: bytes) -> None:
    """Write down a beat; raises OSError."""
    replace(os.path.join(folder, BEATS, agent), b"%d %s\n" % (at, session))


def push_if_due(folder: str, agent: str, now: int) -> bool:
    """Start the process that pushes a beat, in the current directory, and do not wait for it; tell whether it was."""
    if not is_due(folder, agent, now):
        return False
    lease = read_lease(folder, agent)
    return start(folder, agent, now, min(SPACING, lease[1] // 2 if lease else SPACING)) is not None


def start(folder: str, agent: str, now: int, spacing: int, *, asks: bool = False) -> int | None:
    """Start that process and return its number, unless one was started less than `spacing` seconds ago.

    One that `asks` waits for its turn, and reads the ledger too.
    """
    last = (read_file(folder, ATTEMPT) or b"").strip()
    if last.isdigit() and 0 <= now - int(last) < spacing:
        return None
    replace(os.path.join(folder, ATTEMPT), b"%d\n" % now)
    # -P: a file of the repository must never be imported because we happen to stand beside it.
    command = [sys.executable, "-P", "-m", "git_coord.hooks", "beat", agent]
    return detach([*command, *(["--ask"] if asks else [])], dict(os.environ))


def detach(argv: list[str], env: dict[str, str]) -> int:
    """Start a program that outlives us: its own session, no terminal, none of our pipes. Raises OSError."""
    actions: list[tuple[int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        *((os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited()),
    ]
    try:
        return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=True)
    except NotImplementedError:  # an older macOS: a group of its own is what it can do
        return os.posix_spawn(argv[0], argv, env, file_actions=actions, setpgroup=0)


def _inherited() -> list[int]:
    """Return the descriptors beyond stdio that a child would get: a lock or a pipe of whoever started us."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:  # the listing's own descriptor
            continue
    return found


def replace(path: str, data: bytes) -> None:
    """Write a file whole, with the folder it needs; raises OSError."""
    scratch = f"{path}.{os.getpid()}.tmp"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
    os.replace(scratch, path)
