"""Around the command: presence and claims before it, and whatever happens, given back after it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from git_coord.app import App
from git_coord.domain.announcements import Presence
from git_coord.domain.lease import beat_interval
from git_coord.errors import CoordError
from git_coord.guard import beats
from git_coord.service import claims
from git_coord.service.claims import ClaimGranted, ClaimRefused, Wanted
from git_coord.service.heartbeat import push_beat
from git_coord.service.leases import is_shown, remember
from git_coord.service.ledger import open_ledger, view
from git_coord.service.operations import require_membership
from git_coord.service.presence import DEFAULT_TTL, Wish, own_record, set_presence
from git_coord.service.selection import Selection
from git_coord.service.under_run import claimed_under, forget_run

SILENT_BEATS = 3
"""So many beats may fail to arrive before others take this agent for silent."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that has begun: its id, what its agent had set to be shown before, and the claim it holds, if any."""

    run: str
    before: Presence | None
    claim: ClaimGranted | None


def begin(app: App, name: str, wanted: Wanted | None) -> Begun | ClaimRefused:
    """Show that the agent is here, running a program of this name, and claim what is wanted: all of it or nothing.

    One push carries both. Without a claim it may fail, which is said. Raises CoordError as `claims.claim` does.
    """
    coord = app.coord
    open_ledger(coord)
    require_membership(coord)
    begun = Begun(str(coord.nonce()), own_record(coord) if is_shown(coord) else None, None)
    coord.run = begun.run
    _show(app, name, wanted)
    if wanted is None:
        _say_hello(app)
        return begun
    try:
        result = claims.claim(coord, wanted)
    except BaseException:
        _show_as_before(app, begun)
        raise
    app.refresh_snapshot()
    if isinstance(result, ClaimRefused):
        _show_as_before(app, begun)
        return result
    return Begun(begun.run, begun.before, result)


def _show(app: App, name: str, wanted: Wanted | None) -> None:
    """Say in words and by its ttl what it means should nothing more be heard of this agent."""
    seconds = beat_interval([wanted.ttl] if wanted else [], len(app.coord.known.state.agents))
    what = "what it holds ends with its lease" if wanted else "it holds nothing of its own"
    wish = Wish(
        "busy" if wanted else "online",
        note=f"runs {name}",
        ttl=max(SILENT_BEATS * seconds, 1),
        branch=app.branch(),
        will=f"cut off while it ran {name}: {what}",
    )
    set_presence(app.coord, wish)
    remember(app.coord, view(app.coord)[0], shows=True)


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
    state, _ = view(coord)
    mine = claimed_under(coord, begun.run)
    held = [claim for claim in state.held_by(coord.me.agent) if claim.op in mine]
    _show_as_before(app, begun)
    if held:
        done = claims.release(coord, Selection(tuple((claim, None) for claim in held)), reason)
        word = "released" if done.is_confirmed else "to be released"
        coord.notice(f"{word} {' '.join(f'#{claim.token}' for claim in held)} ({reason})")
    elif coord.remote is not None:
        beats.start(coord.files.common, coord.me.agent, coord.clock.now(), 0, asks=True)
    forget_run(coord, begun.run)
    app.refresh_snapshot()


def _show_as_before(app: App, begun: Begun) -> None:
    """Show what the agent had set before the run, when that is believed still; else offline."""
    coord, before = app.coord, begun.before
    if before is not None and coord.clock.now() <= before.at + before.ttl:
        kept = before.note or "", before.task, before.queue, before.ttl, before.branch, before.will or ""
        wish = Wish(before.state, *kept)
    else:
        wish = Wish("offline", note="", ttl=DEFAULT_TTL, will="")
    set_presence(coord, wish)
    remember(coord, view(coord)[0], shows=wish.state != "offline")


def environment(app: App, begun: Begun) -> dict[str, str]:
    """Return the environment of the command: who it is, and the fencing tokens of what it holds."""
    tokens = [] if begun.claim is None or not begun.claim.is_confirmed else [str(begun.claim.claim.token)]
    return dict(os.environ) | {
        "GIT_COORD_AGENT": app.coord.me.agent,
        "GIT_COORD_SESSION": app.coord.me.session,
        "GIT_COORD_RUN": begun.run,
        "GIT_COORD_TOKENS": ",".join(tokens),
    }
