"""When a lease ends: a claim lives as long as its holder shows signs of life, and is never freed silently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .announcements import Presence
    from .state import LiveClaim, Member

CLASSES = {"quick": 30 * 60, "standard": 2 * 3600, "long": 4 * 3600}
"""Lease classes and their ttl in seconds."""
OFFLINE_NOT_AFTER = 10 * 60
"""Seconds after which an interactive claim that was not placed is refused."""
LEAST_SECONDS = 300
PER_AGENT_SECONDS = 15
"""A beat is pushed at most every max(5 min, 15 s for each agent): hosts advise about six pushes a minute."""


def lease_end(claim: LiveClaim, beat: int | None) -> int:
    """Return when the lease is over: max(granted or renewed at, last beat) + ttl, seconds since the epoch.

    One that came by the queue or by hand needs a beat later than that, or it ends sooner: its holder may be gone.
    """
    if is_unattended(claim, beat):
        return claim.certain_end
    return max(claim.renewed, beat or 0) + claim.ttl


def is_unattended(claim: LiveClaim, beat: int | None) -> bool:
    """Tell whether a claim came to its holder while it was not acting, and no sign of life followed."""
    return claim.unattended and (beat is None or beat <= claim.renewed)


def counting_beat(member: Member, presence: Presence | None, now: int, skew: int) -> int | None:
    """Return `at` of a heartbeat that keeps claims alive: of the agent's current session, and not from the future."""
    if presence is None or presence.session != member.session or presence.at > now + skew:
        return None
    return presence.at


def is_over(end: int, now: int, skew: int) -> bool:
    """Tell whether a lease that ends then is over, whichever clock is off by the skew.

    The one definition of that: what is called stale can be taken over as far as the lease goes, and nothing else can.
    """
    return now > end + skew


def is_stale(claim: LiveClaim, beat: int | None, now: int, skew: int) -> bool:
    """Tell whether the lease is over; a stale claim still blocks."""
    return is_over(lease_end(claim, beat), now, skew)


def vouched_until(claim: LiveClaim, acknowledged: int | None, skew: int) -> int:
    """Return until when the holder itself may rely on a claim, by the last beat that it knows to have arrived.

    That is `skew` seconds before others see the lease end, so that clocks which disagree never make two holders; of a
    lease shorter than three times the skew, a third of it.
    """
    return lease_end(claim, acknowledged) - min(skew, claim.ttl // 3)


def warned_from(claim: LiveClaim, until: int) -> int:
    """Return from when the holder is told that the claim will end: the last quarter of its time."""
    needs_beat = claim.unattended and until <= claim.certain_end
    return until - (claim.certain_end - claim.renewed if needs_beat else claim.ttl) // 4


def beat_interval(ttls: Iterable[int], agents: int) -> int:
    """Return after how many seconds a beat is due, by the shortest own lease and how many agents have to share."""
    share = max(LEAST_SECONDS, PER_AGENT_SECONDS * agents)
    return max(1, min([share, *(ttl // 3 for ttl in ttls)]))
