"""Signals that end a wait in good order: noted the first time, and at once the second.

Nothing is said in a handler: it may have struck inside a `print`, which cannot be entered twice.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from git_coord.interrupts import ENDING, Interrupted, is_echo


class Ending(Protocol):
    """What may end a command before its time."""

    @property
    def exit_status(self) -> int:
        """The status to end with then."""

    def is_over(self) -> bool:
        """Tell whether the command is to end."""


class Asked:
    """Whoever asked for the command may give up; there is no process whose status would say so."""

    exit_status = 128 + signal.SIGINT

    def __init__(self, is_over: Callable[[], bool]) -> None:
        """Take how to find out."""
        self.is_over = is_over


class Noted:
    """The signal that came, None before."""

    number: int | None = None

    def is_over(self) -> bool:
        """Tell whether one came."""
        return self.number is not None

    @property
    def exit_status(self) -> int:
        """What a shell says of a process that a signal ended."""
        return 128 + (self.number or 0)


@contextmanager
def noted() -> Iterator[Noted]:
    """Let the body see that it is to end; a second signal, other than an echo, interrupts it wherever it is."""
    found = Noted()
    first: list[float] = []

    def note(number: int, _frame: FrameType | None) -> None:
        repeats = is_echo(first)
        if found.number is None:
            found.number = number
        elif not repeats:
            raise Interrupted(number)

    before = {number: signal.signal(number, note) for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
