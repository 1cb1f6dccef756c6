"""What each writer is moving, in a file it holds a lock on: the next can tell a dead writer's ref lock from a live one.

Every process that moves refs has a slot, `coord/swap-N` in the common directory. The slot's own lock (`flock`, shared
with the git process that moves the refs) goes when both are dead; its text says which refs they were moving to what.
A `<ref>.lock` is removed only when it holds exactly what a dead writer meant to write there, and no live one means to.
Age is no evidence: a stopped process comes back.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator

from .interface import ABSENT, RefUpdate
from .refnames import ALL_PREFIXES

MOST = 1024
_LIMIT = 1 << 20


class Slots:
    """This process's slot, and a look at those of others. Without a folder to write in, nothing is noted or healed."""

    def __init__(self, common_dir: str) -> None:
        """Open nothing yet."""
        self._common = common_dir
        self._fd: int | None = None
        self._owner = 0
        self._number = 0

    def held(self) -> int | None:
        """Return the descriptor of this process's slot, for git to inherit; None where none can be had."""
        if self._owner != os.getpid():
            # A fork shares its parent's lock: it needs a slot of its own.
            self._owner, self._fd = os.getpid(), None
            self._fd = self._taken()
        return self._fd

    def _taken(self) -> int | None:
        for number in range(MOST):
            fd = self._open(number, os.O_CREAT)
            if fd is None and not os.path.lexists(self._path(number)):
                break  # nothing can be made here
            if fd is not None and _locked(fd) and self._heal_from(fd, number) is not None:
                self._number = number
                return fd
            _close(fd)
        return None

    def note(self, updates: Iterable[RefUpdate]) -> None:
        """Write down what is about to be moved."""
        fd = self.held()
        rows = [f"{u.ref} {u.new}\n" for u in updates if u.new is not ABSENT and u.new != u.old]
        with contextlib.suppress(OSError):  # a full disk: a lock of this swap will be a stranger's then
            if fd is not None:
                os.pwrite(fd, "".join(rows).encode("ascii"), 0)

    def clear(self) -> None:
        """Write down that nothing is being moved."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)

    def heal_own(self) -> None:
        """Remove the ref locks of our own git, which was killed while we live on."""
        if self._fd is not None:
            self._heal_from(self._fd, self._number)

    def heal(self) -> bool:
        """Remove the ref locks of dead writers; tell whether there were any."""
        found = False
        for number, fd in self._all():
            if fd is not None and _locked(fd):
                found |= self._heal_from(fd, number) is True
            _close(fd)
        return found

    def _heal_from(self, fd: int, number: int) -> bool | None:
        """Tell whether a dead writer's slot named locks that were removed; None where that is not decided yet."""
        rows = [row.split(" ") for row in _text(fd).splitlines()]
        found = [self._remove(row[0], row[1], number) for row in rows if len(row) == 2]
        if None in found:
            return None
        with contextlib.suppress(OSError):
            os.ftruncate(fd, 0)
        return True in found

    def _remove(self, ref: str, new: str, number: int) -> bool | None:
        if not ref.startswith(ALL_PREFIXES) or ".." in ref:
            return False  # not a note of ours
        lock = os.path.join(self._common, f"{ref}.lock")
        before = _seen(lock)
        if before is None or before[1] != f"{new}\n".encode():
            return False
        # Helpers make the same commit: the lock may be a live one's. Whoever made it had noted that before.
        if self._is_being_moved(ref, number):
            return None
        if _seen(lock) != before:
            return False
        with contextlib.suppress(OSError):
            os.unlink(lock)
        return True

    def _is_being_moved(self, ref: str, but: int) -> bool:
        """Tell whether another process that lives means to move the ref; what cannot be looked at may."""
        for number, fd in self._all():
            is_one = fd is None or (number != but and not _locked(fd) and f"{ref} " in _text(fd))
            _close(fd)
            if is_one:
                return True
        return False

    def _all(self) -> Iterator[tuple[int, int | None]]:
        """Yield number and descriptor of each slot there is, None where it cannot be opened."""
        for number in range(MOST):
            fd = self._open(number)
            if fd is None and not os.path.lexists(self._path(number)):
                return
            yield number, fd

    def _open(self, number: int, flags: int = 0) -> int | None:
        flags |= os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        path = self._path(number)
        with contextlib.suppress(OSError):
            if flags & os.O_CREAT and not number:
                os.makedirs(os.path.dirname(path), exist_ok=True)
            fd = os.open(path, flags, 0o666)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
            os.close(fd)
        return None

    def _path(self, number: int) -> str:
        return os.path.join(self._common, "coord", f"swap-{number}")


def _locked(fd: int) -> bool:
    """Take a slot's lock (for correctness: it says that its writer is alive); False when another has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _close(fd: int | None) -> None:
    if fd is not None:
        os.close(fd)


def _text(fd: int) -> str:
    return os.pread(fd, _LIMIT, 0).decode("utf-8", "replace")


def _seen(lock: str) -> tuple[tuple[int, int], bytes] | None:
    """Return which file a lock is, and its text; None when it is gone or no plain file."""
    try:
        fd = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        return (status.st_ino, status.st_mtime_ns), os.read(fd, 256)
    except OSError:
        return None
    finally:
        os.close(fd)
