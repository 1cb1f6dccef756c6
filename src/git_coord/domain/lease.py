"""When a lease ends: a claim lives as long as its holder shows signs of life, and is never freed silently."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .announcements import Presence
    from .state import LiveClaim, Member

CLASSES = {"quick": 30 * 60, "standard": 2 * 3600, "long": 4 * 3600}
"""Lease classes and their ttl in seconds."""
OFFLINE_NOT_AFTER = 10 * 60
"""Seconds after which an interactive claim that was not placed is refused."""


def lease_end(claim: LiveClaim, beat: int | None) -> int:
    """Return when the lease is over: max(granted or renewed at, last beat) + ttl, seconds since the epoch."""
    return max(claim.renewed, beat or 0) + claim.ttl


def counting_beat(member: Member, presence: Presence | None, now: int, skew: int) -> int | None:
    """Return `at` of a heartbeat that keeps claims alive: of the agent's current session, and not from the future."""
    if presence is None or presence.session != member.session or presence.at > now + skew:
        return None
    return presence.at


def is_stale(claim: LiveClaim, beat: int | None, now: int) -> bool:
    """Tell whether the lease is over; a stale claim still blocks."""
    return now > lease_end(claim, beat)
