"""The loop: look at this clone often, at the remote now and then; hand every event on before the cursor moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from git_coord.app import App
from git_coord.domain.text import escape_for_display
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.service.cursor import Cursor, encode
from git_coord.service.events import Event
from git_coord.service.follow import Follower, watched_refs
from git_coord.service.ledger import open_ledger
from git_coord.service.remote_ledger import ROSTER_FAMILIES, fetch_and_adopt

from .pulse import Pulse
from .sinks import Sink, UndeliveredError

POLL_SECONDS = 1.0
"""How often this clone's refs are looked at: one process of 3 ms."""
LOOK_SECONDS = 5.0
"""How often what only time changes (leases, presence) is looked at."""
LONGEST_PAUSE = 60.0
"""Seconds between questions to a remote that does not answer, or events for a webhook that takes none; at most."""


@dataclass(slots=True)
class Plan:
    """How to watch; times in seconds, `timeout` None for without end."""

    interval: float
    timeout: float | None
    is_once: bool
    poll: float = POLL_SECONDS
    look: float = LOOK_SECONDS


class Watch:
    """One watch of one repository."""

    def __init__(
        self, app: App, plan: Plan, sinks: Sequence[Sink], save: Callable[[str], None], pulse: Pulse | None = None
    ) -> None:
        """Take what it needs; `save` is called with each new cursor, without a `pulse` it is no sign of life."""
        self._coord = app.coord
        self._app = app
        self._plan = plan
        self._sinks = sinks
        self._save = save
        self._pulse = pulse
        self._saved = ""
        self._due = self._look_due = 0.0
        self._pause = plan.interval
        self._is_silent = False
        self._troubles: list[CoordError] = []
        self._refs: dict[Any, Any] = {}

    def run(self, cursor: Cursor | None) -> None:
        """Watch until its time is over; a signal, a closed pipe, or the end of whom it beats for lose nothing."""
        end = None if self._plan.timeout is None else self._coord.clock.monotonic() + self._plan.timeout
        self._refresh()
        follower = Follower(self._coord, cursor)
        self._keep(follower.cursor)
        self._announce(follower)
        while self._is_wanted():
            self._hand_on(follower)
            left = self._plan.poll if end is None else min(self._plan.poll, end - self._coord.clock.monotonic())
            if self._plan.is_once or left <= 0:
                return
            self._coord.clock.sleep(left)
            self._refresh()

    def _is_wanted(self) -> bool:
        """Beat for whom it may concern; tell whether that one lives still."""
        if self._pulse is None:
            return True
        if not self._pulse.is_alive():
            self._coord.notice("the process to beat for has ended, and so does this watch")
            return False
        self._pulse.turn()
        return True

    def _announce(self, follower: Follower) -> None:
        where = (
            f"{self._app.remote_name} every {self._plan.interval:.0f} s" if self._coord.remote else "this repository"
        )
        if not self._plan.is_once:
            self._coord.notice(f"watching {where}, from ledger position {follower.cursor.ops}; Ctrl-C ends it")

    # what is new

    def _refresh(self) -> None:
        """Bring the local view up to date: by a fetch when one is due, else from this clone's refs."""
        now = self._coord.clock.monotonic()
        try:
            if self._coord.remote is not None and now >= self._due:
                self._fetch()
            self._app.look_again()
            open_ledger(self._coord)
        except CoordError as trouble:
            self._note(trouble)
        finally:
            # A process that lives for days must not remember every operation it ever saw.
            self._coord.opened.clear()
            self._coord.outcomes.clear()

    def _fetch(self) -> None:
        self._due = self._coord.clock.monotonic() + self._pause
        before = self._coord.head
        if before is None:
            open_ledger(self._coord)
        fetch_and_adopt(self._coord, ROSTER_FAMILIES)
        if self._is_silent:
            self._coord.notice(f"{self._app.remote_name} answers again")
        self._is_silent, self._pause = False, self._plan.interval
        if self._coord.head is not before:
            self._app.refresh_snapshot()

    def _note(self, trouble: CoordError) -> None:
        """Say once that the remote is silent and ask it less often; keep a rejected ledger for the stream."""
        if self._coord.head is None:
            raise trouble
        if trouble.kind is Kind.UNTRUSTED:
            self._troubles.append(trouble)
        elif not self._is_silent:
            self._is_silent = True
            self._coord.notice(f"{trouble.message}; going on with what is here")
        if trouble.kind is Kind.UNKNOWN:
            self._pause = min(LONGEST_PAUSE, self._pause * 2)
            self._due = self._coord.clock.monotonic() + self._pause

    # handing on

    def _hand_on(self, follower: Follower) -> None:
        for event in self._events(follower):
            payload = {
                "ok": True,
                "id": event.id,
                "kind": event.kind,
                "at": format_stamp(event.at),
                "agent": event.agent,
                **event.data,
                "message": escape_for_display(event.text),
                "cursor": encode(follower.cursor),
            }
            for sink in self._sinks:
                self._deliver(sink, event, payload)
            self._keep(follower.cursor)
        self._keep(follower.cursor)

    def _events(self, follower: Follower) -> Iterator[Event]:
        while self._troubles:
            yield from follower.rejected(self._troubles.pop(0))
        now = self._coord.clock.monotonic()
        refs = watched_refs(self._coord)
        if refs == self._refs and now < self._look_due:
            return
        self._refs, self._look_due = refs, now + self._plan.look
        yield from follower.look()

    def _deliver(self, sink: Sink, event: Event, payload: dict[str, Any]) -> None:
        """Hand on one event, however long that takes: the next one waits, so that none is lost and none overtakes.

        With `--once` there is no later: raises CoordError(UNKNOWN), the cursor stays before the event.
        """
        pause, is_told = self._plan.interval, False
        while True:
            try:
                sink.send(event, payload)
                return
            except UndeliveredError as trouble:
                if self._plan.is_once:
                    raise CoordError(
                        Kind.UNKNOWN, str(trouble), next="git coord watch --once --cursor-file FILE"
                    ) from None
                if not is_told:
                    self._coord.notice(f"{trouble}; trying again, nothing is lost")
                is_told, pause = True, min(LONGEST_PAUSE, pause * 2)
                self._coord.clock.sleep(pause)
                if not self._is_wanted():
                    raise CoordError(Kind.UNKNOWN, f"{trouble}; the event is reported again next time") from None

    def _keep(self, cursor: Cursor) -> None:
        word = encode(cursor)
        if word != self._saved:
            self._save(word)
            self._saved = word
