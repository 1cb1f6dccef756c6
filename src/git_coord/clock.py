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
