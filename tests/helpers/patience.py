"""Waiting for what other processes do: as long as a loaded machine may need, and not a moment longer than it takes."""

from __future__ import annotations

import select
import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds in which everything a test waits for has happened, also where ten tests share a core."""


def until(holds: Callable[[], object], seconds: float = PATIENCE, pause: float = 0.02) -> None:
    """Ask until it holds; between two questions the processor is left to those who are waited for."""
    end = time.monotonic() + seconds
    nothing = select.poll()
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        nothing.poll(pause * 1000)
