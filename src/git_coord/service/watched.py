"""Since when this clone has seen each claim and its holder's heartbeat unchanged, on its own monotonic clock.

A machine that sleeps does not watch: that clock stands still meanwhile. Nor does one that was switched off: what it
saw before is forgotten when it boots.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping

from git_coord.domain.announcements import Presence
from git_coord.domain.ids import Agent, Nonce
from git_coord.domain.state import LiveClaim, State
from git_coord.lean import NamedTuple

from .beat import last_acknowledged
from .context import Coord
from .presence import records

FILE = "watched"
"""A line for each live claim: its nonce, what was seen of it, since when (seconds of the monotonic clock); first the
boot that clock belongs to."""


class Watched(NamedTuple):
    """What was seen of a claim, and since when it is the same."""

    mark: str
    since: float


def note_watched(coord: Coord) -> None:
    """Write down what was seen just now of every claim; called by whoever fetches presence, or judges it here."""
    if coord.head is None:
        return
    before, now = watched(coord), coord.clock.monotonic()
    marks = _marks(coord, coord.known.state)
    after = {nonce: _seen(before.get(nonce), mark, now) for nonce, mark in marks.items()}
    if after != before:
        rows = [f"{nonce} {seen.mark} {seen.since}" for nonce, seen in sorted(after.items())]
        with contextlib.suppress(OSError):  # whoever only looks may have no right to write: then it does not watch
            coord.files.write(FILE, "\n".join([f"boot {coord.boot()}", *rows, ""]).encode("ascii", "replace"))


def watched(coord: Coord) -> dict[Nonce, Watched]:
    """Return what this clone has seen since this machine was started."""
    head, *rows = (coord.files.read(FILE) or b"").decode("ascii", "replace").split("\n")
    if head != f"boot {coord.boot()}":
        return {}
    fields = [row.split(" ") for row in rows if row.count(" ") == 2]
    return {Nonce(nonce): Watched(mark, since) for nonce, mark, text in fields if (since := _number(text)) is not None}


def unchanged_for(coord: Coord, claim: LiveClaim, shown: Mapping[Agent, Presence], began: float) -> int:
    """Return for how many whole seconds, until the look that began then, this clone saw a claim unchanged.

    `shown` are the heartbeats; `began` is of the monotonic clock.
    """
    known = watched(coord).get(claim.op)
    if known is None or known.mark != _mark(coord, coord.known.state, claim, shown):
        return 0
    return max(0, math.floor(began - known.since))


def _seen(known: Watched | None, mark: str, now: float) -> Watched:
    # A time that lies ahead is of another clock, whatever the boot says.
    return known if known is not None and known.mark == mark and known.since <= now else Watched(mark, now)


def _marks(coord: Coord, state: State) -> dict[Nonce, str]:
    shown = records(coord)
    return {claim.op: _mark(coord, state, claim, shown) for claim in state.claims.values()}


def _mark(coord: Coord, state: State, claim: LiveClaim, shown: Mapping[Agent, Presence]) -> str:
    """Return what changes with each sign of life: the claim's last renewal, its terms, the heartbeat, the session."""
    record = shown.get(claim.holder)
    last = last_acknowledged(coord, claim.holder)
    member = state.agents[claim.holder]
    words = (claim.renewed, claim.ttl, record.nonce if record else "-", last[0] if last else "-", member.seq)
    return ".".join(map(str, words))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
