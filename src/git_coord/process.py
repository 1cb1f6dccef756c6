"""A child process over `os.posix_spawn` and `select.poll`: `import subprocess` alone costs 4 ms of a 30 ms command."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence

from git_coord.lean import NamedTuple

_CHUNK = 1 << 16
_TICK = 0.05
"""Seconds between looks for the child's end where the system has no pidfd to wait on; fewer once its pipes are shut."""
_SHORT_TICK = 0.001
_GRACE = 0.25
"""Seconds from SIGTERM to SIGKILL: enough for git to remove its lock files and half-written packs."""


class Completed(NamedTuple):
    """What a process left behind; `code` is minus the signal's number when it died of one."""

    code: int
    out: bytes
    err: bytes


class Process:
    """A child in a session of its own, so no terminal can be asked and one signal reaches all it has started.

    Input is buffered here and written whenever the child takes it, also while its output is awaited: neither side can
    block the other.
    """

    def __init__(self, program: str, argv: list[str], env: Mapping[str, str], keep: int | None = None) -> None:
        """Start the program; it shares the descriptor `keep`. Raises OSError when it cannot be started."""
        self.owner = os.getpid()
        self.err = bytearray()
        self._out = bytearray()
        self._input = bytearray()
        self._closing = False
        self.code: int | None = None
        self.pid, self._stdin, self._stdout, self._stderr = _spawn(program, argv, env, keep)
        self._pidfd = _pidfd(self.pid)
        self._poll = select.poll()
        for fd in (self._stdout, self._stderr):
            self._poll.register(fd, select.POLLIN)

    def send(self, data: bytes) -> None:
        """Write what the child takes at once; the rest is written by whatever waits for output next."""
        was_idle = not self._input
        self._input += data
        if was_idle and data:
            self._poll.register(self._stdin, select.POLLOUT)
            self._write()

    def end(self) -> None:
        """End the input; what is queued is still written."""
        if not self._closing:
            self._closing = True
            if not self._input and self._stdin >= 0:
                os.close(self._stdin)
                self._stdin = -1

    def line(self) -> bytes:
        """Return the next line of output without its newline; raises EOFError when there is none."""
        while (end := self._out.find(b"\n")) < 0:
            self._more()
        line = bytes(self._out[:end])
        del self._out[: end + 1]
        return line

    def take(self, size: int) -> bytes:
        """Return exactly that many bytes of output; raises EOFError when there are fewer."""
        while len(self._out) < size:
            self._more()
        data = bytes(self._out[:size])
        del self._out[:size]
        return data

    def communicate(self, timeout: float | None = None) -> Completed:
        """End the input and wait for the end; raises TimeoutError after killing the child and its children."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self.end()
        if self._pidfd is not None:
            self._poll.register(self._pidfd, select.POLLIN)
        try:
            # The child's own end counts: what it left running (an ssh master) may hold the pipes open for hours.
            while not self._ended():
                self._turn(deadline)
            while self._turn(time.monotonic()):
                pass
        except BaseException:  # also Ctrl-C, which the child's session does not see
            self.kill()
            raise
        assert self.code is not None
        self._close()
        return Completed(self.code, bytes(self._out), bytes(self.err))

    def finish(self) -> int:
        """End the input, drop what output is left, and return the exit code."""
        return self.communicate().code

    def kill(self) -> None:
        """End the child and all its children: politely, then not."""
        if self.code is None:
            self._signal(signal.SIGTERM)
            if self._pidfd is not None:
                waiting = select.poll()
                waiting.register(self._pidfd, select.POLLIN)
                waiting.poll(_GRACE * 1000)
            # Before the child is reaped, while nobody else can have got its number.
            self._signal(signal.SIGKILL)
            self._reap(0)
        self._close()

    def forget(self) -> None:
        """Close our ends of the pipes, as a forked child must that does not own the process."""
        self._close()

    def _more(self) -> None:
        if self._stdout < 0:
            raise EOFError
        try:
            self._turn(None)
        except BaseException:
            self.kill()
            raise

    def _turn(self, deadline: float | None) -> bool:
        """Move bytes once; return whether any moved. Raises TimeoutError past a deadline while the child lives."""
        wait = None if self._pidfd is not None else _TICK if self._stdout >= 0 else _SHORT_TICK
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            wait = left if wait is None else min(wait, left)
        events = self._poll.poll(None if wait is None else wait * 1000)
        moved = [self._serve(fd) for fd, _ in events if fd != self._pidfd]
        if not events and self.code is None and deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError
        return any(moved)

    def _serve(self, fd: int) -> bool:
        if fd == self._stdin:
            self._write()
            return False
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._drop(fd)
        (self._out if fd == self._stdout else self.err).extend(data)
        if fd != self._stdout and data:
            del self.err[:-_CHUNK]
        return bool(data)

    def _write(self) -> None:
        try:
            # A view, so that a large input is not copied once a turn; released before the buffer shrinks.
            with memoryview(self._input) as view:
                sent = os.write(self._stdin, view[:_CHUNK])
            del self._input[:sent]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._input.clear()
            self._closing = True
        if not self._input:
            self._poll.unregister(self._stdin)
            if self._closing:
                os.close(self._stdin)
                self._stdin = -1

    def _ended(self) -> bool:
        return self.code is not None or self._reap(os.WNOHANG)

    def _reap(self, options: int) -> bool:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # the parent ignores SIGCHLD: the code is lost, and lost is not success
            pid, status = self.pid, 255 << 8
        if pid:
            self.code = os.waitstatus_to_exitcode(status)
            if self._pidfd is not None:
                self._drop(self._pidfd)
        return bool(pid)

    def _drop(self, fd: int) -> None:
        with contextlib.suppress(KeyError):
            self._poll.unregister(fd)
        os.close(fd)
        self._stdout = -1 if fd == self._stdout else self._stdout
        self._stderr = -1 if fd == self._stderr else self._stderr
        self._pidfd = None if fd == self._pidfd else self._pidfd

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _close(self) -> None:
        for fd in (self._stdin, self._stdout, self._stderr, -1 if self._pidfd is None else self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._stdin = self._stdout = self._stderr = -1
        self._pidfd = None

    def __del__(self) -> None:
        # A child left open sees the end of its input and leaves; nobody waits for it here.
        if hasattr(self, "_pidfd"):
            self._close()


def found(program: str, env: Mapping[str, str]) -> str:
    """Return the program's path by the `PATH` of an environment; raises FileNotFoundError.

    Relative entries are skipped: nothing that a checkout contains is ever run.
    """
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, program)
        if os.path.isabs(folder) and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise FileNotFoundError(errno.ENOENT, f"{program} is not on PATH")


def _spawn(program: str, argv: list[str], env: Mapping[str, str], keep: int | None) -> tuple[int, int, int, int]:
    """Return the child's pid and our ends of its three pipes."""
    fds: list[int] = []
    try:
        for _ in range(3):
            fds.extend(_above_stderr(fd) for fd in os.pipe())
        theirs = (fds[0], fds[3], fds[5])
        actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(theirs)]
        if keep is not None:
            # Under another number: onto itself it would stay closed on exec, with some C libraries.
            actions.append((os.POSIX_SPAWN_DUP2, keep, 3 if keep != 3 else 4))
        pid = _posix_spawn(program, argv, env, actions)
    except BaseException:
        for fd in fds:
            os.close(fd)
        raise
    for fd in theirs:
        os.close(fd)
    ours = (fds[1], fds[2], fds[4])
    for fd in ours:
        os.set_blocking(fd, False)
    return pid, *ours


def _posix_spawn(program: str, argv: list[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]]) -> int:
    # Python ignores SIGPIPE, and a child would inherit that.
    reset = (signal.SIGPIPE, signal.SIGXFSZ)
    try:
        return os.posix_spawn(program, argv, env, file_actions=actions, setsid=True, setsigdef=reset)
    except NotImplementedError:  # an older macOS: a group of its own is what it can do
        return os.posix_spawn(program, argv, env, file_actions=actions, setpgroup=0, setsigdef=reset)


def _above_stderr(fd: int) -> int:
    """Move a descriptor out of 0 to 2, where it lands when a hook was started with one of these closed."""
    if fd > 2:
        return fd
    import fcntl  # noqa: PLC0415  # hardly ever needed

    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return moved


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        return None
