"""The gates before a takeover: whether the holder of a claim is gone, as far as this clone can find out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from git_coord.domain.announcements import Posts, Presence
from git_coord.domain.granting import LONG_OVER
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.lease import is_over, lease_end
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Evidence
from git_coord.lean import NamedTuple
from git_coord.store.refnames import Family

from .announce import read_all
from .context import Coord
from .presence import beats, believed_until, claimed_last, last_seen, records
from .watched import unchanged_for


class Gate(NamedTuple):
    """One condition: "lease", "presence", "commits" or "watched"; `at` goes with the text.

    `passes_at` is when it may pass, None when it did or time alone will not do it. `stop` is a reason to ask a person.
    """

    name: str
    is_passed: bool
    text: str
    at: int | None = None
    passes_at: int | None = None
    stop: str | None = None


class Looked(NamedTuple):
    """A claim of somebody else's, when its lease ends, its gates in order, and what goes into the record."""

    claim: LiveClaim
    lease_until: int
    gates: tuple[Gate, ...]
    evidence: Evidence

    @property
    def failed(self) -> tuple[Gate, ...]:
        """The gates that are closed; none when the claim may be taken over."""
        return tuple(gate for gate in self.gates if not gate.is_passed)

    @property
    def passes_at(self) -> int | None:
        """When all may be open, as far as that is only a matter of time, seconds since the epoch."""
        times = [gate.passes_at for gate in self.failed]
        return max((at for at in times if at is not None), default=None) if None not in times else None


class Scene(NamedTuple):
    """What was fetched just now; `began` is the monotonic clock's second before that, `now` the time after."""

    coord: Coord
    shown: Mapping[Agent, Presence]
    beats: Mapping[Agent, int]
    began: float
    now: int
    seen: Mapping[Agent, int]
    claimed: Mapping[Agent, int]


def scene(coord: Coord, began: float) -> Scene:
    """Return the scene to look at claims in; the caller has fetched ledger, presence, posts and notes since `began`."""
    shown, state = records(coord), coord.known.state
    now, seen = coord.clock.now(), last_seen(coord, state, shown)
    return Scene(coord, shown, beats(coord, state, shown), began, now, seen, claimed_last(state))


def look(here: Scene, claim: LiveClaim) -> Looked:
    """Look at one claim, each gate by itself.

    1. Its lease is over by more than the skew. 2. The holder's presence is not fresh; one that is missing says nothing.
    3. No commit with the holder's receipt is newer than a lease ago. 4. This clone saw claim and heartbeat unchanged
    for a full ttl; or the lease is long over, and a third agent's fresh record agrees with this clock.
    """
    end = lease_end(claim, here.beats.get(claim.holder))
    commits, tip = _commits(here, claim)
    unchanged = unchanged_for(here.coord, claim, here.shown, here.began)
    witness = _witness(here, claim) if _is_long_over(here, claim, end) else None
    gates = (_lease(here, end), _presence(here, claim), commits, _watched(here, claim, end, unchanged, witness))
    # Where watching was enough nobody else need vouch for this clock.
    named = None if unchanged >= claim.ttl else witness
    beat = here.beats.get(claim.holder)
    return Looked(claim, end, gates, Evidence(claim.op, beat, end, tip, unchanged, named))


def _lease(here: Scene, end: int) -> Gate:
    skew = here.coord.known.state.skew
    if is_over(end, here.now, skew):
        return Gate("lease", True, "over since", end)
    return Gate("lease", False, "runs until", end, end + skew + 1)


def _presence(here: Scene, claim: LiveClaim) -> Gate:
    holder, skew = claim.holder, here.coord.known.state.skew
    record, beat = here.shown.get(holder), here.beats.get(holder)
    if record is None and (here.coord.settings.keeps_history or here.coord.remote is None):
        # Where heartbeats are not pushed, or live in files of this clone, there is none to miss.
        return Gate(
            "presence", True, f"{holder} was seen last" if beat else f"{holder} shows none, as is usual here", beat
        )
    if record is None:
        return Gate("presence", False, f"{holder}'s is missing: unknown, never dead", stop="presence_unknown")
    if record.at > here.now + skew:
        return Gate("presence", True, f"{holder}'s is dated in the future, and does not count:", record.at)
    came_back = record.state == "offline" and record.at < here.claimed.get(holder, 0) <= here.now + skew
    if record.state == "offline" and not came_back:
        return Gate("presence", True, f"{holder} went offline", record.at)
    at = max(record.at, here.seen.get(holder, 0))
    fresh_until = believed_until(record, at)
    if here.now <= fresh_until:
        text = f"{holder} says it is {'online' if came_back else record.state}, seen"
        return Gate("presence", False, text, at, fresh_until + 1, "roster_disagrees")
    return Gate("presence", True, f"{holder} was seen last", at)


def _commits(here: Scene, claim: LiveClaim) -> tuple[Gate, Oid | None]:
    """Return the gate, and the newest commit of the holder's that is known of: where it stood, or one it signed since.

    A receipt is a sign of life at its own date: commits carry dates that anybody writes.
    """
    at, tip = _newest_receipt(here, claim)
    if at is None:
        return Gate("commits", True, f"none with a receipt of {claim.holder}"), claim.base.head
    opens = at + claim.ttl + here.coord.known.state.skew
    text = f"{claim.holder} signed {(tip or '')[:10]}"
    if here.now > opens:
        return Gate("commits", True, f"{text} last", at), tip
    return Gate("commits", False, text, at, opens + 1, "branch_active"), tip


def _newest_receipt(here: Scene, claim: LiveClaim) -> tuple[int | None, Oid | None]:
    """Return date and commit of the holder's newest receipt; one dated in the future never counts.

    On whichever branch: after a rebase nothing tells that a commit is on the branch where the claim was made, and who
    commits elsewhere is no less alive.
    """
    from .evidence import read_notes  # noqa: PLC0415 - only for a takeover

    notes = read_notes(here.coord)
    notes.rows = {row for row in notes.rows if row[0] == claim.holder}
    latest = here.now + here.coord.known.state.skew
    found = notes.naming({commit for _, commit, _ in notes.rows}).items()
    dated = [(one.receipt.at, commit) for commit, signed in found for one in signed if one.receipt.at <= latest]
    return max(dated, default=(None, None))


def _is_long_over(here: Scene, claim: LiveClaim, end: int) -> bool:
    record = here.shown.get(claim.holder)
    if record is not None and record.at > here.now + here.coord.known.state.skew:
        return False  # whose clock is ahead may be at work all the time: only watching tells
    return here.now > end + max(claim.ttl, LONG_OVER)


def _watched(here: Scene, claim: LiveClaim, end: int, unchanged: int, witness: Agent | None) -> Gate:
    if unchanged >= claim.ttl:
        return Gate("watched", True, f"unchanged here for a full lease ({claim.ttl} s)")
    if witness is not None:
        return Gate("watched", True, f"long over, and {witness}'s fresh record agrees with this clock")
    opens = here.now + claim.ttl - unchanged + 1  # both clocks are cut to whole seconds
    why = ", and nobody else's fresh record agrees with this clock" if _is_long_over(here, claim, end) else ""
    return Gate("watched", False, f"unchanged here for {unchanged} s of {claim.ttl} s{why}", None, opens)


def _witness(here: Scene, claim: LiveClaim) -> Agent | None:
    """Return a third agent whose record, as it was fetched just now, agrees with this clock within the skew."""
    skew, me = here.coord.known.state.skew, here.coord.me.agent
    known = here.coord.known.state.agents
    stamps = [(agent, at) for agent, at in _stamps(here) if abs(at - here.now) <= skew and agent in known]
    third = [(at, agent) for agent, at in stamps if agent not in (me, claim.holder)]
    return max(third)[1] if third else None


def _stamps(here: Scene) -> Iterator[tuple[Agent, int]]:
    """Yield whose signed records say which time it is: heartbeats, posts, claims that their holders made or renewed."""
    yield from ((agent, record.at) for agent, record in here.shown.items())
    for agent, posts in read_all(here.coord, Family.POSTS).items():
        if isinstance(posts, Posts):
            yield agent, posts.at
    for claim in here.coord.known.state.claims.values():
        if not claim.unattended:
            yield claim.holder, claim.renewed
