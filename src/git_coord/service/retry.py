"""The one retry loop: try, and wait a jittered, growing while between tries, until a deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from git_coord.clock import Clock


def attempts(
    clock: Clock, jitter: Callable[[], float], *, seconds: float, first_wait: float = 0.005, longest: float = 1.0
) -> Iterator[int]:
    """Yield 0, 1, 2, … at least twice, sleeping between; `jitter` returns a number in [0, 1)."""
    deadline = clock.monotonic() + seconds
    wait = first_wait
    count = 0
    while count < 2 or clock.monotonic() < deadline:
        yield count
        count += 1
        clock.sleep(wait * jitter())
        wait = min(wait * 2, longest)
