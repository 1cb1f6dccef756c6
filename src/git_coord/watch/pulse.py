"""Signs of life of the agent beside a watch, for as long as the process lives on whose behalf it watches."""

from __future__ import annotations

import os
import select
from contextlib import suppress

from git_coord.app import App
from git_coord.errors import CoordError, Kind
from git_coord.guard import beats

TURN_SECONDS = 2.0
"""How often it is looked whether a beat is due: two small files."""


class Pulse:
    """Beats when that is due, by a process of its own as after a command, while another process lives."""

    def __init__(self, app: App, pid: int) -> None:
        """Take whom to beat for; raises CoordError: USAGE when there is no such process, ERROR without an agent."""
        coord = app.coord
        self._clock, self._folder, self._agent = coord.clock, coord.files.common, coord.me.agent
        self._pid, self._beat, self._due = pid, 0, 0.0
        self._handle = _handle(pid)
        if not self.is_alive():
            raise CoordError(Kind.USAGE, f"there is no process {pid} to beat for")

    def is_alive(self) -> bool:
        """Tell whether that process lives; one that ended and was not waited for does not, where that can be told."""
        if self._handle is not None:
            return not select.select([self._handle], [], [], 0)[0]
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def turn(self) -> None:
        """Beat if it is time; trouble only makes the leases end earlier, and is said by what the agent does next."""
        if self._beat:
            with suppress(ChildProcessError):
                self._beat = 0 if os.waitpid(self._beat, os.WNOHANG)[0] else self._beat
        if self._clock.monotonic() < self._due:
            return
        self._due = self._clock.monotonic() + TURN_SECONDS
        with suppress(OSError):
            self._take()

    def _take(self) -> None:
        now, lease = self._clock.now(), beats.read_lease(self._folder, self._agent)
        if lease is None or not lease[1]:
            beats.beat(self._folder, self._agent, now)
        elif not self._beat and beats.is_due(self._folder, self._agent, now):
            self._beat = beats.start(self._folder, self._agent, now, min(beats.SPACING, lease[1] // 2)) or 0


def _handle(pid: int) -> int | None:
    """Return what stays with this process even when its number is given to another one, None where there is none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or no such process
        return None
