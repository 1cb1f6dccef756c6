"""The command itself: started with its environment, given the signals that we get, waited for without turning idly."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType

PASSED_ON = tuple(
    getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "WINCH", "TSTP", "CONT")
)
BY_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH, signal.SIGCONT)
"""What a terminal, or the shell in it, sends to all of a job: the command has it already."""


class Child:
    """The running command; signals reach it from the moment it is started until it has ended.

    With a terminal it is part of our own job, as if we were not there: it reads from the terminal, and Ctrl-C and
    Ctrl-Z mean both of us. Without one it leads a group of its own, and what we are sent reaches all of that.
    """

    def __init__(self) -> None:
        """Take the signals from now on; those that come before the start are passed on with it."""
        self.code: int | None = None
        self.pid = 0
        self._early: list[int] = []
        self._is_ours = any(os.isatty(fd) for fd in (0, 1, 2))
        self._waker, waking = os.pipe()
        for fd in (self._waker, waking):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        # What we were told to ignore (nohup) the command shall, too.
        left_alone = BY_TERMINAL[2:] if self._is_ours else ()
        self._taken = [n for n in PASSED_ON if signal.getsignal(n) is not signal.SIG_IGN and n not in left_alone]
        for number in self._taken:
            signal.signal(number, self._pass_on)
        signal.signal(signal.SIGCHLD, _nothing)

    def start(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start the command; raises OSError when it cannot be started."""
        # Python ignores SIGPIPE, and a child would inherit that.
        reset = (signal.SIGPIPE, signal.SIGXFSZ)
        if self._is_ours:
            self.pid = os.posix_spawnp(argv[0], list(argv), env, setsigdef=reset)
        else:
            self.pid = os.posix_spawnp(argv[0], list(argv), env, setsigdef=reset, setpgroup=0)
        for number in self._early:
            self._pass_on(number, None)

    def wait(self, seconds: float) -> None:
        """Return when a child has ended, a signal came, or the time is over."""
        waiting = select.poll()
        waiting.register(self._waker, select.POLLIN)
        waiting.poll(max(0.0, seconds) * 1000)
        with suppress(BlockingIOError):
            while os.read(self._waker, 512):
                pass

    def has_ended(self) -> bool:
        """Look whether it has ended; `code` is then its status, minus the signal's number if it died of one."""
        if self.code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # whoever started us ignores SIGCHLD: the code is lost, and lost is not success
                pid, status = self.pid, 255 << 8
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def send(self, number: int) -> None:
        """Send it a signal; all of its group, when it has one of its own."""
        if self.code is None:
            with suppress(ProcessLookupError, PermissionError):
                (os.kill if self._is_ours else os.killpg)(self.pid, number)

    def stop(self) -> None:
        """Ask it to end, also when it is stopped."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)

    def kill(self) -> None:
        """End it."""
        self.send(signal.SIGKILL)

    def let_go(self) -> None:
        """Stand for ourselves again: only Ctrl-C ends what there is left to do."""
        signal.set_wakeup_fd(-1)
        for number in self._taken:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _nothing)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if not self.pid:
            self._early.append(number)
            return
        if self._is_ours and number in BY_TERMINAL:
            return
        self.send(number)
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)  # until somebody continues us, which is passed on in its turn


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Let the signal wake us, which an ignored one would not."""


def ending(code: int) -> tuple[int, str]:
    """Return our exit status for a command's, and the reason to give for a release."""
    if code >= 0:
        return code, "done" if code == 0 else f"exit {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return 128 - code, f"killed by {name}"
