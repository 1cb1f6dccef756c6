"""Coming back: this session becomes the current one, own claims are asserted anew, and what became of them is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.items import ItemKind, show_name
from git_coord.domain.layout import AGENTS
from git_coord.domain.lease import warned_from
from git_coord.domain.obstacles import conflicts
from git_coord.domain.state import LiveClaim, State, Waiter
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from . import claims, membership
from .adopt import load_head
from .context import Coord
from .endings import endings
from .gone import kept
from .leases import Gone
from .ledger import open_ledger, view
from .operations import free_name
from .posts import LIVE, Posted, board
from .query import Held, Picture, picture
from .remote_ledger import ROSTER_FAMILIES, fetch_and_adopt
from .selection import Selection, everything
from .sessions import elsewhere, step
from .sync import sync

Pins = Callable[[Selection], Mapping[Nonce, tuple[Oid | None, ...]]]
"""What the files that claims name contain here and now."""


class Risk(NamedTuple):
    """Why a claim was not safe: "lease", "takeover", "changed" or "waited"; `at` goes with the text."""

    kind: str
    text: str
    at: int | None = None


class Found(NamedTuple):
    """An own claim as it is now, and what was wrong with it before it was asserted anew; nothing: it is intact."""

    held: Held
    risks: tuple[Risk, ...]


@dataclass(frozen=True, slots=True)
class Rejoined:
    """What `rejoin` found: own claims, what others ended since the agent's last operation, posts that are not over."""

    found: list[Found]
    lost: list[Gone]
    posts: list[Posted]
    is_confirmed: bool


def rejoin(coord: Coord, pins: Pins, *, unless_alive: bool = False) -> Rejoined:
    """Make this session the agent's current one, renew all it holds with the content of now, and show presence.

    Takes and breaks nothing of anybody's. Raises CoordError: ERROR without membership, LOST with `unless_alive` while
    another session of the agent lives elsewhere, UNKNOWN when the remote gives no answer (what was published then is
    pending).
    """
    open_ledger(coord)
    if coord.remote is not None:
        fetch_and_adopt(coord, ROSTER_FAMILIES)
    if unless_alive:
        _refuse_alive(coord)
    lost = lost_since_last(coord)
    before = picture(coord)
    membership.rejoin(coord)
    risks = _all_risks(coord, before, pins)
    is_confirmed = _assert_anew(coord, pins)
    now, me = picture(coord), coord.me.agent
    own = [Found(now.held(claim), tuple(risks.get(claim.op, ()))) for claim in now.state.held_by(me)]
    posts = [each for each in board(coord) if each.status in LIVE and (each.agent == me or each.is_for(me))]
    return Rejoined(own, lost, posts, is_confirmed)


def _refuse_alive(coord: Coord) -> None:
    found = elsewhere(coord)
    if found is None or found.is_free:
        return
    text = f"{found.words(coord.clock.now())}; rejoin would take its place (--force)"
    data = {"agent": found.agent, "session": found.session, "worktree": found.worktree}
    raise CoordError(Kind.LOST, text, next=step(coord, found, free_name(coord)), data=data)


def _assert_anew(coord: Coord, pins: Pins) -> bool:
    """Renew all that is held; who holds nothing shows itself with a sync. Tell whether the remote has confirmed it."""
    for _ in range(2):
        state, _unconfirmed = view(coord)
        if not state.held_by(coord.me.agent):
            if coord.remote is not None:
                sync(coord)
            return True
        chosen = everything(state, coord.me.agent)
        try:
            return claims.renew(coord, chosen, None, pins(chosen), None).is_confirmed
        except CoordError as trouble:
            if trouble.kind is not Kind.LOST:
                raise  # else one of them was just taken: the others are still to be renewed
    return False


def _all_risks(coord: Coord, now: Picture, pins: Pins) -> dict[Nonce, list[Risk]]:
    mine = now.state.held_by(coord.me.agent)
    there = pins(Selection(tuple((claim, None) for claim in mine))) if mine else {}
    return {claim.op: list(_risks(now, claim, there.get(claim.op, claim.pins))) for claim in mine}


def _risks(now: Picture, claim: LiveClaim, pins: Sequence[Oid | None]) -> Iterator[Risk]:
    """Yield what was wrong with a claim.

    1. Its lease was over, or nearly. 2. So long that others may take it over. 3. A file is not what it was when it was
    pinned. 4. Somebody waits for it.
    """
    held, state = now.held(claim), now.state
    if held.is_stale:
        yield Risk("lease", "its lease was over since", held.lease_until)
    elif now.now >= warned_from(claim, held.lease_until):
        yield Risk("lease", "its lease was to end at", held.lease_until)
    if held.is_stale and state.policy.takeover != "never":
        yield Risk("takeover", "others may have taken it over after", held.lease_until + state.skew)
    changed = [
        show_name(item.kind, item.name)
        for position, item in claim.live()
        if item.kind is ItemKind.PATH and pins[position] != claim.pins[position]
    ]
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        yield Risk("changed", f"changed since it was pinned: {', '.join(changed[:3])}{more}")
    waiters = [waiter.agent for waiter in state.waiting.values() if _waits(state, waiter, claim)]
    if waiters:
        yield Risk("waited", f"waited for by {', '.join(dict.fromkeys(waiters))}")


def _waits(state: State, waiter: Waiter, claim: LiveClaim) -> bool:
    return any(found.claim.op == claim.op for found in conflicts(state, waiter.agent, waiter.op.items))


def lost_since_last(coord: Coord) -> list[Gone]:
    """Return the claims that others ended since the agent's last operation, whichever clone of it that came from."""
    found = {each.token: each for each in kept(coord)}
    since = _last_commit(coord)
    if since is not None:
        held = load_head(coord.store, since).state.held_by(coord.me.agent)
        missing = {claim.op: int(claim.token) for claim in held if claim.op not in coord.known.state.claims}
        ended = endings(coord, since, missing) if missing else {}
        found |= {missing[nonce]: Gone(missing[nonce], how) for nonce, how in ended.items()}
    return [found[token] for token in sorted(found)]


def _last_commit(coord: Coord) -> Oid | None:
    """Return the ledger commit that placed the agent's last operation, the first in which its entry is as it is now."""
    commits = coord.store.history(coord.known.oid, None)
    now = _entry(coord, commits[-1])
    if now is None:
        return None
    low, high = 0, len(commits) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _entry(coord, commits[middle]) == now else (middle + 1, high)
    return commits[low]


def _entry(coord: Coord, commit: Oid) -> bytes | None:
    blob = coord.store.read([f"{commit}:{AGENTS}/{coord.me.agent}"])[0]
    return None if blob is None else blob.data
