"""Around the command: presence and claims before it, and whatever happens, given back after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from git_coord.app import App
from git_coord.domain.lease import beat_interval
from git_coord.errors import CoordError
from git_coord.guard import beats
from git_coord.service import claims
from git_coord.service.alive import runs
from git_coord.service.claims import ClaimGranted, ClaimRefused, Wanted
from git_coord.service.giving_back import give_back
from git_coord.service.heartbeat import push_beat
from git_coord.service.ledger import open_ledger
from git_coord.service.operations import require_membership
from git_coord.service.presence import Wish
from git_coord.service.under_run import forget_run

SILENT_BEATS = 3
"""So many beats may fail to arrive before others take this agent for silent."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that has begun: its id, its note with the lock that says that it lives, and the claim it holds, if any."""

    run: str
    note: runs.Run
    claim: ClaimGranted | None
    lock: int | None = None


def begin(app: App, name: str, wanted: Wanted | None) -> Begun | ClaimRefused:
    """Show that the agent is here, running a program of this name, and claim what is wanted: all of it or nothing.

    One push carries both. Without a claim it may fail, which is said. Raises CoordError as `claims.claim` does.
    """
    coord = app.coord
    open_ledger(coord)
    require_membership(coord)
    coord.run = str(coord.nonce())
    note, lock = runs.begin(coord, coord.run, name, _wish(app, name, wanted))
    begun = Begun(coord.run, note, None, lock)
    if wanted is None:
        _say_hello(app)
        return begun
    try:
        result = claims.claim(coord, wanted)
    except BaseException:
        _forget(app, begun)
        raise
    app.refresh_snapshot()
    if isinstance(result, ClaimRefused):
        _forget(app, begun)
        return result
    return replace(begun, claim=result)


def note_command(app: App, begun: Begun, pid: int) -> None:
    """Note which process was started, for who finds that this one was killed."""
    runs.note_command(app.coord, begun.note, pid)


def _wish(app: App, name: str, wanted: Wanted | None) -> Wish:
    """Say in words and by its ttl what it means should nothing more be heard of this agent."""
    seconds = beat_interval([wanted.ttl] if wanted else [], len(app.coord.known.state.agents))
    what = "what it holds ends with its lease" if wanted else "it holds nothing of its own"
    return Wish(
        "busy" if wanted else "online",
        note=f"runs {name}",
        ttl=max(SILENT_BEATS * seconds, 1),
        branch=app.branch(),
        will=f"cut off while it ran {name}: {what}",
    )


def _say_hello(app: App) -> None:
    try:
        push_beat(app.coord)
    except CoordError as trouble:
        app.coord.notice(f"others are not told yet: {trouble.message}")


def end(reopen: Callable[[], App], begun: Begun, reason: str) -> None:
    """Give back what was claimed under the run and is held still; presence is as before, or offline.

    Trouble with the remote is said: what could not be pushed goes out with the next sync.
    """
    app = reopen()
    coord = app.coord
    open_ledger(coord)
    runs.show_before(coord, begun.note)
    given = give_back(coord, begun.run, reason)
    if given.claims:
        word = "released" if given.is_confirmed else "to be released"
        coord.notice(f"{word} {' '.join(f'#{claim.token}' for claim in given.claims)} ({reason})")
    elif coord.remote is not None:
        beats.start(coord.files.common, coord.me.agent, coord.clock.now(), 0, asks=True)
    forget_run(coord, begun.run)
    runs.forget(coord, begun.run)
    app.refresh_snapshot()


def _forget(app: App, begun: Begun) -> None:
    """Show what was shown before, of a run that never began."""
    runs.show_before(app.coord, begun.note)
    runs.forget(app.coord, begun.run)


def environment(app: App, begun: Begun) -> dict[str, str]:
    """Return the environment of the command: who it is, and the fencing tokens of what it holds."""
    tokens = [] if begun.claim is None or not begun.claim.is_confirmed else [str(begun.claim.claim.token)]
    return dict(os.environ) | {
        "GIT_COORD_AGENT": app.coord.me.agent,
        "GIT_COORD_SESSION": app.coord.me.session,
        "GIT_COORD_RUN": begun.run,
        "GIT_COORD_TOKENS": ",".join(tokens),
    }
