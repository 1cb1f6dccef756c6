"""The claims that a command works under: kept alive beside it, and looked after."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from git_coord.app import App
from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.state import State
from git_coord.errors import CoordError
from git_coord.guard import beats
from git_coord.service.beat import interval
from git_coord.service.context import Coord
from git_coord.service.endings import endings
from git_coord.service.leases import NEVER, Gone, Standing, named, own_leases, said_beside, standing, warnings
from git_coord.service.ledger import open_ledger, view
from git_coord.service.under_run import claimed_under

LONGEST_SLEEP = 60
"""Seconds after which the clock is looked at again: a machine that slept wakes late from a longer wait."""


class Watch:
    """Beats when one is due, by a process of its own that also reads the ledger; knows when a claim is lost.

    What there is to warn of is said when it changes, however many beats fail meanwhile.
    """

    def __init__(self, reopen: Callable[[], App], run: str, told: set[int]) -> None:
        """Look at what is held now; raises CoordError. The tokens of what `losses` returns are `told`."""
        self._told = told
        self._losses: list[str] = []
        self._over: set[Nonce] = set()
        self._standing = Standing()
        self._reopen = reopen
        self._run = run
        self._beat: int | None = None
        self._retry = 0
        self._held: tuple[Oid | None, dict[Nonce, int]] = None, {}
        self._read()

    def losses(self) -> list[str]:
        """Return, once each, the claims that are somebody else's, or that nobody can vouch for: which, and by whom."""
        found, self._losses = self._losses, []
        return found

    def seconds(self) -> float:
        """Return how long nothing has to be done, unless a process ends or a signal comes."""
        now = self._clock.now()
        if self._beat is not None:
            return LONGEST_SLEEP
        at = max(self._next, self._retry)
        return min(LONGEST_SLEEP, max(0.2, min(at, self._until + 1) - now))

    def turn(self) -> None:
        """Do what is due."""
        now = self._clock.now()
        if self._beat is not None:
            if not _has_ended(self._beat):
                return
            self._beat = None
            self._look()
        elif now >= max(self._next, self._retry):
            self._retry = now + max(1, min(beats.SPACING, self._interval // 2))
            if self._has_remote:
                self._beat = beats.start(self._folder, self._agent, now, 0, asks=True)
            else:
                beats.beat(self._folder, self._agent, now)
                self._look()
        elif now > self._until:
            self._look()

    def _look(self) -> None:
        """Read what became of the claims, as far as this clone knows; trouble is looked at again in the next turn."""
        with suppress(CoordError, OSError):
            self._read()

    def _read(self) -> None:
        app = self._reopen()
        try:
            self._take(app)
        finally:
            app.rest()

    def _take(self, app: App) -> None:
        coord = app.coord
        self._clock, self._agent, self._folder = coord.clock, coord.me.agent, coord.files.common
        self._has_remote = coord.remote is not None
        open_ledger(coord)
        state, _ = view(coord)
        own = [each for each in own_leases(coord, state) if each.claim.op in claimed_under(coord, self._run)]
        now = coord.clock.now()
        # What is over is said once; only a beat that arrives can change that.
        self._until = min((each.until for each in own if each.until >= now), default=NEVER)
        self._interval = interval(coord)
        last = beats.last_beat(self._folder, self._agent)
        self._next = (last[0] if last else 0) + self._interval
        over = {each.claim.op: each for each in own if now > each.until}
        for each in [each for nonce, each in over.items() if nonce not in self._over]:
            name = named(int(each.claim.token), (item for _, item in each.claim.live()))
            self._losses.append(f"{name}, which can be vouched for no longer")
        self._over = set(over)
        gone = self._ended(app, {each.claim.op: int(each.claim.token) for each in own})
        self._losses += [f"{named(each.token, each.items)}, {each.ended.words(now)}" for each in gone]
        self._told |= {each.token for each in gone}
        self._tell(coord, state)

    def _tell(self, coord: Coord, state: State) -> None:
        """Say what is new: what a beat's own process had to say, and what to be warned of."""
        for line in said_beside(coord):
            coord.notice(line)
        before, self._standing = self._standing, standing(coord, state)
        if self._standing == before:
            return
        for line in warnings(coord, state):
            coord.notice(line)
        if self._standing == Standing():
            coord.notice("signs of life arrive again")

    def _ended(self, app: App, held: dict[Nonce, int]) -> list[Gone]:
        """Return how claims ended that were held at the last look; those the agent gave up itself are no loss."""
        (since, before), self._held = self._held, (app.coord.known.oid, held)
        missing = {nonce: token for nonce, token in before.items() if nonce not in held}
        if since is None or not missing:
            return []
        found = endings(app.coord, since, missing)
        return [Gone(missing[nonce], ended) for nonce, ended in found.items() if ended.is_loss]


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
