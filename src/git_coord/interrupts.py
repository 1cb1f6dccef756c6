"""Signals that would end a process become an interrupt: what it started ends with it, what it claims is taken back."""

from __future__ import annotations

import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks are in a hurry
    from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ECHO = 1.0
"""Seconds within which a second signal is the first one again: a group is sent it, and git passes its own on to us."""


class Interrupted(KeyboardInterrupt):
    """The signal that came, by its number."""

    def __init__(self, number: int) -> None:
        """Take the number."""
        super().__init__(number)
        self.number = number


def interruptible() -> None:
    """Let a signal that would end this process raise `Interrupted` in it, and again when more than an echo follows.

    Without this, SIGTERM (what `timeout` sends) would leave a git behind that waits for its remote for good, since each
    has a session of its own. What is ignored (`nohup`) stays so.
    """
    first: list[float] = []

    def strike(number: int, _frame: FrameType | None) -> None:
        if not is_echo(first):
            raise Interrupted(number)

    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, strike)


def is_echo(first: list[float]) -> bool:
    """Tell whether this signal repeats one; `first` is empty before any came, and has the time of the first after."""
    now = time.monotonic()
    if not first:
        first.append(now)
        return False
    return now - first[0] < ECHO


def exit_status(trouble: BaseException) -> int:
    """Return what a shell says of a process that was ended as this interrupt, or its cause, tells."""
    for each in (trouble, trouble.__cause__):
        if isinstance(each, Interrupted):
            return 128 + each.number
    return 128 + signal.SIGINT
