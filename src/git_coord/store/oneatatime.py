"""One fetch at a time in a clone; who waited shares a fetch that began after it asked."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterator

from git_coord.clock import Clock
from git_coord.errors import CoordError, Kind

_SAME_BOOT = 3
"""Seconds by which wall clock minus monotonic clock may differ within one boot: whole seconds, and a slewed clock."""


_ONLY_READ = (errno.EROFS, errno.EACCES, errno.EPERM)


class Turn:
    """What came of waiting: seconds left (None: the time is over), and whether the work is done; the body sets that."""

    __slots__ = ("done", "left")

    def __init__(self, left: float | None, *, done: bool = False) -> None:
        """Start with what the lock and the stamp said."""
        self.left = left
        self.done = done


class OneAtATime:
    """A lock and a stamp in one folder of the clone.

    The lock only saves work: two fetches at once would be correct, if wasteful, and one may fail on the other's refs.
    """

    def __init__(self, folder: str, clock: Clock, reach: Callable[[str], None] = lambda _name: None) -> None:
        """Make nothing yet; `reach` is told before and after the lock is taken."""
        self._folder = folder
        self._clock = clock
        self._reach = reach

    @property
    def folder(self) -> str:
        """Where lock and stamp lie."""
        return self._folder

    @contextlib.contextmanager
    def turn(self, scope: str, names: Collection[str], limit: float) -> Iterator[Turn]:
        """Wait for a turn at most `limit` seconds; what the body marks done is stamped for those who wait.

        Where the folder may only be read there is nothing to wait for: such a fetch succeeds when there is no news.
        Raises CoordError(ERROR) where no lock can be made for another reason.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415  # 30 ms, and a lock made before a fork is shared

        asked = self._clock.monotonic()
        lock = FileLock(os.path.join(self._folder, "fetch.lock"))
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._reach("before lock")
            lock.acquire(timeout=limit, poll_interval=0.02)
            self._reach("after lock")
        except Timeout:
            yield Turn(None)
            return
        except OSError as error:
            if error.errno in _ONLY_READ:
                yield Turn(limit)
                return
            raise CoordError(Kind.ERROR, f"no lock can be taken in {self._folder}: {error.strerror}") from error
        try:
            began = self._clock.monotonic()
            # After taking the lock, look again.
            shared = self._covers(scope, names, asked)
            turn = Turn(max(0.0, asked + limit - began), done=shared)
            yield turn
            if turn.done and not shared:
                self._stamp(scope, names, began)
        finally:
            lock.release()

    def _covers(self, scope: str, names: Collection[str], asked: float) -> bool:
        try:
            with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
                began, boot, done, of = file.read().split("\n", 3)
            fresh = float(began) > asked and abs(float(boot) - self._boot()) <= _SAME_BOOT
        except (OSError, ValueError):
            return False
        return fresh and of == scope and set(names) <= set(done.split(" "))

    def _stamp(self, scope: str, names: Collection[str], began: float) -> None:
        # Losing the stamp only costs somebody a fetch.
        with contextlib.suppress(OSError):
            with open(f"{self._path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write("\n".join([repr(began), repr(self._boot()), " ".join(names), scope]))
            os.replace(f"{self._path}.new", self._path)

    def _boot(self) -> float:
        """Return when the monotonic clock began: it tells this boot from others."""
        return self._clock.now() - self._clock.monotonic()

    @property
    def _path(self) -> str:
        return os.path.join(self._folder, "fetch.stamp")
