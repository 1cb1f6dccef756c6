"""The process beside an edit: one bounded exchange with the remote, and what became of automatic claims noted."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from git_coord.app import App, open_app, worktrees_own
from git_coord.domain.items import Item, show_name
from git_coord.errors import CoordError
from git_coord.service.ledger import open_ledger
from git_coord.service.losses import Loss
from git_coord.service.requests import unplaced_here
from git_coord.service.sync import sync
from git_coord.service.telling import listed, told_of

from .automatic import ask_again, take_asked, tell

LOCK = "edit/sync.lock"
LONGEST = 180
"""Seconds after which the process ends, whatever it waits for; git's own limits are shorter."""


def run() -> int:
    """Exchange with the remote in the current directory's repository, after others of this clone have done so."""
    signal.alarm(LONGEST)
    from filelock import FileLock, Timeout

    app = open_app(os.getcwd(), os.environ)
    path = os.path.join(app.coord.files.common, LOCK)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # The lock only saves work: who comes later finds that its claim went out with another one's sync.
    try:
        with FileLock(path, timeout=LONGEST):
            return _exchange(open_app(os.getcwd(), os.environ))
    except Timeout:
        return 0


def depart() -> int:
    """Let others see that a session has ended; what it did before is exchanged first."""
    from git_coord.service.heartbeat import push_beat

    run()
    with suppress(CoordError):  # a remote that does not answer learns it later
        push_beat(open_app(os.getcwd(), os.environ).coord)
    return 0


def join(tool: str, key: str) -> int:
    """Give a session the name that it was not to wait for."""
    signal.alarm(LONGEST)
    from git_coord.guard.edit_places import place_at

    from .identity import settle

    place = place_at(os.getcwd())
    if place is not None:
        app = open_app(place.top, os.environ)
        own = worktrees_own(app.config, app.location) or ""
        settle(place, tool, key, own, notice=[], waits=True)
    return 0


def _exchange(app: App) -> int:
    """Exchange what is pending, then tell what became of the claims that nobody was told about yet."""
    open_ledger(app.coord)
    trouble = None
    if unplaced_here(app.coord):
        try:
            sync(app.coord)
        except CoordError as found:
            trouble = found
        app.refresh_snapshot()
    refusals = {loss.op: loss for loss in listed(app.coord)}
    open_now = {sealed.op.nonce for sealed in unplaced_here(app.coord).values()}
    asked = take_asked(app)
    for nonce in asked - open_now:
        claim = app.coord.known.state.claims.get(nonce)
        if nonce in refusals:
            tell(app, nonce, _loss(refusals[nonce]))
        elif claim is not None:
            tell(app, nonce, f"#{claim.token} {_names([item for _, item in claim.live()])} is confirmed")
    told_of(app.coord, (asked - open_now) & refusals.keys())
    ask_again(app, asked & open_now)
    if trouble is not None:
        for nonce in asked & open_now:
            tell(app, nonce, f"a claim is still pending: {trouble.message}; next: git coord sync")
    return 0


def _names(items: Sequence[Item]) -> str:
    return ", ".join(show_name(item.kind, item.name) for item in items[:3])


def _loss(loss: Loss) -> str:
    if loss.holder is not None:
        token = "" if loss.token is None else f" #{loss.token}"
        return f"the claim of {loss.names} is lost to {loss.holder}{token}: undo your change or ask for it"
    return f"the claim of {loss.names} is lost: {loss.reason}"
