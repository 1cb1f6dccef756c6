"""What an agent does, line by line in a file that survives its `kill -9`, and how others read it."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


def pause(seconds: float) -> None:
    """Let real time pass: somebody works, or there is nothing to do yet."""
    select.select([], [], [], max(0.0, seconds))


class Journal:
    """The journal of one agent; each entry has `t` (seconds of the monotonic clock), `at` (of the day) and `event`."""

    def __init__(self, folder: Path, agent: str) -> None:
        self.path = folder / f"{agent}.jsonl"

    def note(self, event: str, **facts: Any) -> None:
        """Write one entry, whole or not at all."""
        entry = {"t": time.monotonic(), "at": time.time(), "event": event, **facts}
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(handle)

    def entries(self, event: str = "") -> list[Entry]:
        """Return all entries, or those of one kind."""
        return [entry for entry in self._read() if event in ("", entry["event"])]

    def _read(self) -> Iterator[Entry]:
        if self.path.exists():
            yield from map(json.loads, self.path.read_text().splitlines())
