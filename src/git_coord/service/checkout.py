"""Which other agents work in this very checkout, where each would overwrite what the other does."""

from __future__ import annotations

from collections.abc import Sequence

from .context import Coord
from .here import noted
from .presence import DEFAULT_TTL, Seen


def neighbours(coord: Coord, roster: Sequence[Seen]) -> list[Seen]:
    """Return the other agents of the roster that are at work in this very checkout.

    One is when its heartbeat comes from a session that was noted here, or is this agent's own (a session belongs to a
    checkout unless it was given), or when the note of its current session is as young as a heartbeat has to be and it
    has not said goodbye. Who was only refused here, because it is at work in another worktree, is not.
    """
    return [seen for seen in roster if seen.agent != coord.me.agent and _is_here(coord, seen)]


def _is_here(coord: Coord, seen: Seen) -> bool:
    note = noted(coord, seen.agent)
    session = seen.record.session if seen.record is not None else None
    if seen.is_live and session is not None and session in (coord.me.session, note[1] if note else None):
        return True
    if note is None or seen.state == "offline" or note[1] != coord.known.state.agents[seen.agent].session:
        return False
    return 0 <= coord.clock.now() - note[0] <= DEFAULT_TTL
