"""Answers from the local view: who holds what, what a check of some resources says, and the whole status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from git_coord.domain.ids import Agent, Nonce
from git_coord.domain.items import Item
from git_coord.domain.lease import is_stale, is_unattended, lease_end
from git_coord.domain.ledger import Conflict
from git_coord.domain.obstacles import PROTECTED_SECONDS, blocks_on, in_the_way, kept_from, overdue
from git_coord.domain.restoring import is_on_hold
from git_coord.domain.state import Block, LiveClaim, State, Waiter

from .context import Coord
from .leases import own_leases
from .ledger import view
from .posts import LIVE, Posted, board
from .presence import Seen, beats, last_seen, records, roster

NOBODY = Agent("")
"""Who acts where no agent is set up: every claim is somebody else's."""


@dataclass(frozen=True, slots=True)
class Held:
    """A live claim as a reader sees it: when its lease ends (seconds since the epoch), and whether that is over."""

    claim: LiveClaim
    lease_until: int
    is_stale: bool
    is_confirmed: bool
    seen_at: int | None
    vouched_until: int | None = None
    """Of an own claim: until when this clone can vouch for it, by the last beat that it knows to have arrived."""
    is_unattended: bool = False
    """Whether it came by the queue or by hand, and no sign of life of its holder followed yet."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The local view with everything needed to describe claims in it."""

    state: State
    unconfirmed: frozenset[Nonce]
    beats: dict[Agent, int]
    now: int
    vouched: Mapping[Nonce, int]
    seen: Mapping[Agent, int] = field(default_factory=dict)
    """When each agent was last seen, by its heartbeat or its operations."""

    def held(self, claim: LiveClaim) -> Held:
        """Describe one claim; one that waits "ends" when it keeps newcomers off no longer."""
        if not claim.token:
            until = claim.at + PROTECTED_SECONDS
            return Held(claim, until, is_stale=False, is_confirmed=claim.op not in self.unconfirmed, seen_at=None)
        beat = self.beats.get(claim.holder)
        stale, is_confirmed = is_stale(claim, beat, self.now, self.state.skew), claim.op not in self.unconfirmed
        vouched = self.vouched.get(claim.op)
        unattended = is_unattended(claim, beat)
        seen = self.seen.get(claim.holder)
        return Held(claim, lease_end(claim, beat), stale, is_confirmed, seen, vouched, unattended)

    def is_lost(self, claim: LiveClaim) -> bool:
        """Tell whether a claim of the acting agent's is one that it can vouch for no longer."""
        return self.now > self.vouched.get(claim.op, self.now)


def picture(coord: Coord) -> Picture:
    """Return what this clone knows now."""
    state, unconfirmed = view(coord)
    vouched = {own.claim.op: own.until for own in own_leases(coord, state)}
    shown = records(coord)
    seen = last_seen(coord, state, shown)
    return Picture(state, unconfirmed, beats(coord, state, shown), coord.clock.now(), vouched, seen)


@dataclass(frozen=True, slots=True)
class Checked:
    """One resource: "free", "mine", "held", "stale", "blocked", "unknown" (on hold); the item and claim that decide.

    `blocks` are those on a task or above it, which keep everybody from claiming it, whoever holds it now.
    """

    asked: Item
    status: str
    held: Held | None
    item: Item | None
    blocks: tuple[Block, ...] = ()


def check(coord: Coord, items: Sequence[Item], seen: Picture | None = None) -> list[Checked]:
    """Say for each item who holds it; others' claims count before own ones, as they decide what one may do."""
    now = seen or picture(coord)
    me = coord.actor
    found = [_with_blocks(now.state, _checked(now, item, me)) for item in items]
    if not is_on_hold(now.state, now.now):
        return found
    # Who was ahead of a ledger that was restored may hold it, and has not said so yet.
    return [replace(each, status="unknown") if each.status == "free" else each for each in found]


def _with_blocks(state: State, found: Checked) -> Checked:
    blocks = tuple(block for _, block in blocks_on(state, [found.asked]))
    return replace(found, status="blocked", blocks=blocks) if blocks else found


def _checked(now: Picture, asked: Item, me: Agent | None) -> Checked:
    """Answer as a claim would; of several in the way one whose lease is not over, since that decides."""
    found = kept_from(now.state, me or NOBODY, (asked,), now.now)
    if found:
        first = min(found, key=lambda conflict: now.held(conflict.claim).is_stale)
        held = now.held(first.claim)
        return Checked(asked, "stale" if held.is_stale else "held", held, first.held)
    mine = now.state.strongest_own(me, asked) if me is not None else None
    return Checked(asked, "mine", now.held(mine[0]), mine[1]) if mine else Checked(asked, "free", None, None)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A claim in the queue, who is in its way now, and whether it is confirmed."""

    waiter: Waiter
    behind: tuple[Conflict, ...]
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class Status:
    """Everything `status` shows."""

    agents: list[Seen]
    claims: list[Held]
    waiting: list[Waiting]
    posts: list[Posted]
    warnings: list[str]
    blocks: list[Block]
    """Tasks that nobody may claim, the oldest block first."""
    picture: Picture


def status(coord: Coord) -> Status:
    """Return agents, claims, posts that are not over, and warnings of the local view."""
    now = picture(coord)
    claims = [now.held(claim) for claim in sorted(now.state.claims.values(), key=lambda claim: claim.token)]
    posts = [posted for posted in board(coord) if posted.post.status in LIVE]
    blocks = list(now.state.blocks.values())
    return Status(roster(coord), claims, queue(now), posts, list(_warnings(now, claims)), blocks, now)


def queue(now: Picture) -> list[Waiting]:
    """Return who waits, in the order of the queue; whose time is over goes with the next operation."""
    over = overdue(now.state, now.now)
    return [_waiting(now, waiter) for waiter in now.state.waiting.values() if waiter not in over]


def _waiting(now: Picture, waiter: Waiter) -> Waiting:
    behind = in_the_way(now.state, waiter.agent, waiter.op.items, now.now, waiter.queue)
    return Waiting(waiter, behind, waiter.op.nonce not in now.unconfirmed)


def _warnings(now: Picture, claims: Iterable[Held]) -> Iterable[str]:
    for held in claims:
        if held.claim.renewed > now.now + now.state.skew:
            yield f"#{held.claim.token} of {held.claim.holder} is dated in the future: a clock is wrong"
