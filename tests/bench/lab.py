"""Where rows are measured: a scratch folder, a sealed environment, a stopwatch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.helpers import Repo, new_repo, seal

ROUNDS = 11
WARMUPS = 2


@dataclass(eq=False)  # hashable by identity, so that what rows share can be cached by lab
class Lab:
    """One run of the benchmarks. `rounds` is how often each command is measured after the warm-ups."""

    folder: Path
    rounds: int = ROUNDS
    _laps: list[float] = field(default_factory=list)

    @cached_property
    def env(self) -> dict[str, str]:
        """The sealed environment, with the disk's own pace: users pay for fsync too."""
        return seal(self.folder / "home", os.environ, quick=False)

    def repo(self, name: str, *options: str) -> Repo:
        """Make an empty repository in the scratch folder."""
        return new_repo(self.folder / name, self.env, *options)

    def interleave(
        self, commands: Mapping[str, Callable[[], object]], *, rounds: int | None = None, warmups: int = WARMUPS
    ) -> dict[str, list[float]]:
        """Run all commands in turn, warm-ups first, and return the seconds each took, round by round.

        In turn, so that a busy minute of the machine hits subject and reference alike. A command that enters `timed` is
        counted only inside it; preparation and clean-up outside are free.
        """
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(warmups + (rounds or self.rounds)):
            for name, command in commands.items():
                seconds = self._measure(command)
                if turn >= warmups:
                    times[name].append(seconds)
        return times

    def _measure(self, command: Callable[[], object]) -> float:
        self._laps.clear()
        begun = time.perf_counter()
        command()
        whole = time.perf_counter() - begun
        return sum(self._laps) if self._laps else whole

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count only what happens inside, for the command being measured."""
        begun = time.perf_counter()
        yield
        self._laps.append(time.perf_counter() - begun)
