"""Wall and monotonic time, passed in as an argument so that tests decide what time it is."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the services ask about time."""

    def now(self) -> int:
        """Return whole seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> int:
        """Return whole seconds since the epoch, UTC."""
        return int(time.time())

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def boot_id() -> str:
    """Return what names the time since this machine was started, one word.

    `monotonic` of `SystemClock` begins anew there, and stands still while the machine sleeps (Linux and macOS).
    Where the system has no name for it, it is the ten minutes in which the machine was started, by both clocks: a
    machine that slept since has another one, which is as if it had been started then.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return f"at-{int(time.time() - time.monotonic()) // 600}"
