"""Beside the calls: signs of life when they are due, and notices of what has changed in the repositories in use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread

from git_coord.app import App
from git_coord.app.afterwards import clear_away, end_killed
from git_coord.clock import Clock
from git_coord.errors import CoordError
from git_coord.guard import beats
from git_coord.service.follow import watched_refs
from git_coord.service.heartbeat import push_beat
from git_coord.service.moved import kinds_moved
from git_coord.service.superseded import has_many

from .connection import Connection, Used

TURN_SECONDS = 2.0
"""How often it is looked whether a beat is due or something has changed: two small files, and one git process."""
SPACING = 60
"""Most seconds between two beats that did not arrive."""
AFFECTED = {
    "claims": ("claims", "audit"),
    "presence": ("roster",),
    "posts": ("board",),
}
"""Which resources show what kind of ref."""


@dataclass(slots=True)
class _Seen:
    refs: dict[Any, Any] | None = None
    tried: int = 0


class Background:
    """One turn after another while the connection lasts; `publish` tells the client which resource changed where."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        publish: Callable[[str, str], Awaitable[None]],
        log: Callable[[str], None],
    ) -> None:
        """Take whose background it is; nothing is looked at yet."""
        self._connection = connection
        self._clock = clock
        self._publish = publish
        self._log = log
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._limiter = anyio.CapacityLimiter(1)

    async def run(self) -> None:
        """Turn until cancelled; a call that has ended is reason to look at once."""
        while True:
            with anyio.move_on_after(TURN_SECONDS):
                await self._connection.changed.wait()
            self._connection.changed = anyio.Event()
            for used in list(self._connection.used.values()):
                for what in await anyio.to_thread.run_sync(self._turn, used, limiter=self._limiter):
                    await self._publish(what, used.folder)

    def _turn(self, used: Used) -> list[str]:
        """Beat if that is due, and return which resources changed; trouble is looked at again in the next turn."""
        seen = self._seen.setdefault((used.common, used.agent), _Seen())
        with suppress(CoordError, OSError):
            app = self._connection.workspaces.take(used.folder, used.asked_as, self._log)
            try:
                self._beat(app, used, seen)
                return _news(app, seen)
            finally:
                self._connection.workspaces.give(used.folder, used.asked_as, app)
        return []

    def _beat(self, app: App, used: Used, seen: _Seen) -> None:
        coord, now = app.coord, self._clock.now()
        with suppress(CoordError, OSError):  # the next turn tries again
            end_killed(app)
        if coord.remote is None:
            beats.beat(used.common, used.agent, now)
        elif beats.is_due(used.common, used.agent, now) and not 0 <= now - seen.tried < _spacing(used):
            seen.tried = now
            try:
                # It also reads the ledger: what was lost meanwhile is then told with the next answer.
                push_beat(coord, asks=True)
            finally:
                app.refresh_snapshot()
        if has_many(coord):
            clear_away(app)


def _spacing(used: Used) -> int:
    lease = beats.read_lease(used.common, used.agent)
    return min(SPACING, lease[1] // 2) if lease is not None else SPACING


def _news(app: App, seen: _Seen) -> list[str]:
    """Return the resources that show a ref which has moved since the last turn."""
    before, seen.refs = seen.refs, watched_refs(app.coord)
    moved = kinds_moved(before, seen.refs) if before is not None else set()
    return [what for kind, shown in AFFECTED.items() if kind in moved for what in shown]
