"""Follows the ledger, presence and the board from a cursor on: what is new since, each with the cursor after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from git_coord.domain.canonical import loads
from git_coord.domain.chain import Head
from git_coord.domain.digest import new
from git_coord.domain.ids import Agent, Oid
from git_coord.errors import CoordError
from git_coord.store import refnames
from git_coord.store.refnames import Family

from .adopt import CHUNK, load_head, walk
from .context import Coord
from .cursor import Cursor
from .events import Event, claim_stale, ledger_events
from .lineage import is_continued_by, lineage, shared
from .posts import Posted, board
from .presence import Seen, roster
from .query import picture


class Follower:
    """Reports each change once, as long as it is asked again and again; nothing is fetched or written here.

    Presence is debounced: a state is reported when it has lasted for a full ttl, so who comes and goes is not.
    """

    def __init__(self, coord: Coord, cursor: Cursor | None) -> None:
        """Begin at a cursor, or at what is now. The ledger is open; raises CoordError(ERROR) without one."""
        self._coord = coord
        self.cursor = cursor or Cursor(coord.known.state.counters.ops)
        self._head = self._head_at(self.cursor.ops)
        if self.cursor.is_new:
            self._take_as_is()

    def _take_as_is(self) -> None:
        """Begin with the present state of everything that has no position."""
        self.cursor.is_new = False
        now = self._coord.clock.now()
        self.cursor.presence = {seen.agent: (_state(seen), _state(seen), now) for seen in roster(self._coord)}
        self.cursor.posts = {_name(posted): (_mark(posted), 0) for posted in board(self._coord)}
        if self._head is not None and self._head.oid == self._coord.known.oid:
            seen_now = picture(self._coord)
            stale = (claim for claim in seen_now.state.claims.values() if seen_now.held(claim).is_stale)
            self.cursor.stale = {claim.token for claim in stale}

    def look(self) -> Iterator[Event]:
        """Yield what is new in the local view; `cursor` is then the one after the event."""
        yield from self._ledger()
        yield from self._stale()
        yield from self._presence()
        yield from self._posts()

    def rejected(self, trouble: CoordError) -> Iterator[Event]:
        """Yield the event of a ledger that was not adopted, once for each bad commit."""
        commit = str(trouble.data.get("commit", ""))
        name = commit or trouble.message
        if name == self.cursor.rejected:
            return
        self.cursor.rejected = name
        mark = commit or new("sha256", name.encode()).hexdigest()
        repo, now = self._coord.known.state.repo, self._coord.clock.now()
        data = {"commit": commit or None, "next": trouble.next}
        yield Event(f"{repo[:8]}-rejected-{mark}", "ledger.rejected", now, None, trouble.message, data)

    # the ledger

    def _head_at(self, ops: int) -> Head | None:
        """Return the last head at or before a position, None for before the root."""
        known = self._coord.known
        if ops >= known.state.counters.ops:
            return known
        commits = lineage(self._coord.store, known.oid, None)
        low, high = -1, len(commits) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._ops_of(commits[middle]) <= ops else (low, middle - 1)
        if low < 0 and self._ops_of(commits[0]) > 1:
            self._coord.notice("the ledger does not go back that far here; going on at its beginning")
            low, self.cursor.ops = 0, self._ops_of(commits[0])
        return load_head(self._coord.store, commits[low]) if low >= 0 else None

    def _ops_of(self, commit: Oid) -> int:
        blob = self._coord.store.read([f"{commit}:counters"])[0]
        counted: Any = loads(blob.data.rstrip(b"\n")) if blob is not None else {}
        return int(counted.get("ops", 0))

    def _ledger(self) -> Iterator[Event]:
        known = self._coord.known
        if self._head is not None and self._head.oid == known.oid:
            return
        commits = lineage(self._coord.store, known.oid, self._head.oid if self._head else None)
        if self._head is not None and not (commits and is_continued_by(self._coord.store, self._head.oid, commits[0])):
            # Not on the chain any more: the ledger was restored or repaired. What both have was told.
            common = self._shared(commits, self._head.oid)
            if not common:
                self._coord.notice("the ledger was replaced by another chain; going on at its end")
                self._head, self.cursor.ops = known, known.state.counters.ops
                return
            self._head = load_head(self._coord.store, commits[common - 1])
            self.cursor.ops = min(self.cursor.ops, self._head.state.counters.ops)
            commits = commits[common:]
        for start in range(0, len(commits), CHUNK):
            yield from self._part(commits[start : start + CHUNK])

    def _shared(self, commits: list[Oid], before: Oid) -> int:
        """Return how many of these commits the chain had that was followed before; none when that is not here."""
        try:
            return shared(commits, lineage(self._coord.store, before, None))
        except CoordError:
            return 0

    def _part(self, commits: list[Oid]) -> Iterator[Event]:
        position = self._head.state.counters.ops if self._head else 0
        done = walk(self._coord, self._head, commits)
        if done.head is None or done.fault is not None:
            return  # what was adopted verifies; should it not, whoever opens the ledger says so
        for placed in done.placed.values():
            position += 1
            if position <= self.cursor.ops:
                continue
            events = list(ledger_events(placed, position))
            yield from events[:-1]
            self.cursor.ops = position
            yield from events[-1:]
        self._head = done.head

    # what has no position

    def _stale(self) -> Iterator[Event]:
        now = picture(self._coord)
        live = {claim.token: now.held(claim) for claim in now.state.claims.values() if claim.op not in now.unconfirmed}
        self.cursor.stale &= {token for token, held in live.items() if held.is_stale}
        for token, held in sorted(live.items()):
            if held.is_stale and token not in self.cursor.stale:
                self.cursor.stale.add(token)
                yield claim_stale(now.state.repo, held.claim, held.lease_until)

    def _presence(self) -> Iterator[Event]:
        now = self._coord.clock.now()
        for seen in roster(self._coord):
            state, ttl = _state(seen), seen.record.ttl if seen.record else 0
            said, pending, since = self.cursor.presence.get(seen.agent, ("", "", now))
            if state != pending:
                since = _began(seen, pending, now)
            self.cursor.presence[seen.agent] = (said, state, since)
            if state != said and now - since >= ttl:
                self.cursor.presence[seen.agent] = (state, state, since)
                yield self._presence_event(seen, said, state, since)

    def _presence_event(self, seen: Seen, before: str, state: str, since: int) -> Event:
        repo, now = self._coord.known.state.repo, self._coord.clock.now()
        advice, timeout = seen.advice(now)
        data: dict[str, Any] = {"state": state, "before": before or None, "advice": advice, "timeout": timeout}
        if seen.record is not None:
            data |= {"note": seen.record.note, "task": seen.record.task, "will": seen.record.will}
        text = f"{seen.agent} is {state}" + (f", was {before}" if before else "")
        return Event(
            f"{repo[:8]}-presence-{seen.agent}-{state}-{since}", "presence.changed", since, seen.agent, text, data
        )

    def _posts(self) -> Iterator[Event]:
        here = {_name(posted): posted for posted in board(self._coord)}
        for name, posted in here.items():
            old, count = self.cursor.posts.get(name, ("", -1))
            if (mark := _mark(posted)) != old:
                self.cursor.posts[name] = (mark, count + 1)
                yield self._post_event(posted, count + 1)
        for name in sorted(set(self.cursor.posts) - set(here)):
            _, count = self.cursor.posts.pop(name)
            agent, _, post_id = name.partition("/")
            data = {"post": post_id, "status": "removed"}
            repo, now = self._coord.known.state.repo, self._coord.clock.now()
            event_id = f"{repo[:8]}-post-{agent}-{post_id}-{count + 1}"
            yield Event(event_id, "post.changed", now, Agent(agent), f"{agent} removed post {post_id}", data)

    def _post_event(self, posted: Posted, count: int) -> Event:
        repo, now = self._coord.known.state.repo, self._coord.clock.now()
        post = posted.post
        by = f" by {posted.taker}" if posted.taker and posted.status == "taken" else ""
        to = f" to {post.to}" if post.to else ""
        text = f'post {post.id} of {posted.agent}{to} is {posted.status}{by}: "{post.text}"'
        data: Mapping[str, Any] = {
            "post": post.id,
            "status": posted.status,
            "text": post.text,
            "to": post.to,
            "claim": posted.token,
            "taken_by": posted.taker,
            "taker_says": posted.taking.status if posted.taking else None,
        }
        event_id = f"{repo[:8]}-post-{posted.agent}-{post.id}-{count}"
        return Event(event_id, "post.changed", post.at if count == 0 else now, posted.agent, text, data)


def watched_refs(coord: Coord) -> dict[refnames.Ref, Oid]:
    """Return the refs whose move may be news; that none moved costs one look."""
    families = (Family.CLAIMS, Family.PRESENCE, Family.POSTS)
    prefixes = [refnames.prefix(family, fetched=fetched) for family in families for fetched in (False, True)]
    return coord.store.refs(*prefixes)


def _state(seen: Seen) -> str:
    return "unknown" if seen.state is None or seen.is_future else seen.state


def _began(seen: Seen, before: str, now: int) -> int:
    """Return when the state began: as the agent says, unless it only comes back from silence with an old state."""
    if seen.record is None or seen.is_future:
        return now
    if _state(seen) == "unknown":
        return seen.record.at + seen.record.ttl
    return min(now, seen.record.at if before == "unknown" else seen.record.since)


def _name(posted: Posted) -> str:
    return f"{posted.agent}/{posted.post.id}"


def _mark(posted: Posted) -> str:
    words = (posted.status, posted.post.text, posted.taker, posted.taking and posted.taking.status)
    return new("sha256", repr(words).encode("utf-8", "backslashreplace")).hexdigest()[:8]
