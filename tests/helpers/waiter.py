"""A `git-coord claim … --wait` at work beside a test."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from .patience import PATIENCE
from .repo import Repo


class Waiter:
    """A `git-coord claim … --wait` at work, started when it stands in the queue."""

    def __init__(self, repo: Repo, *args: str) -> None:
        self._process = subprocess.Popen(
            ["git-coord", "claim", *args],
            cwd=repo.path,
            env=repo.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        self.says = self._process.stderr.readline()

    def ends(self, number: int | None = None) -> tuple[int, str, str]:
        """Send it a signal, if any, and return status and what it said."""
        if number is not None:
            self._process.send_signal(number)
        out, err = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, out, err

    def answer(self) -> tuple[int, dict[str, Any]]:
        """Return status and object of one that was started with `--json`."""
        out, _ = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, json.loads(out)

    def stop(self) -> None:
        """End it if it still runs."""
        self._process.kill()
        self._process.communicate()


class Waiters:
    """Those that one test has started."""

    def __init__(self) -> None:
        self._started: list[Waiter] = []

    def __call__(self, repo: Repo, *args: str) -> Waiter:
        """Start one; return it when it stands in the queue."""
        self._started.append(Waiter(repo, *args))
        return self._started[-1]

    def stop(self) -> None:
        """End those that still run."""
        for waiter in self._started:
            waiter.stop()
