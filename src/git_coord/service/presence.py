"""Heartbeats and the roster: who is here, doing what, and for how long that may be believed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from git_coord.domain.announcements import Presence
from git_coord.domain.ids import Agent
from git_coord.domain.lease import counting_beat
from git_coord.domain.state import State
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.store.refnames import Family

from .announce import read_all, read_own, replace_own
from .beat import local_beats, note_ttl, share_of_beats
from .context import Coord

DEFAULT_TTL = 900
"""Seconds for which a heartbeat is believed when nothing shorter is asked for."""
LEAST_TTL = 30
"""Fewest seconds to ask for where heartbeats are pushed: a third of it is the time between two."""
ALIASES = {
    "start": "online",
    "ready": "online",
    "busy": "busy",
    "standby": "dormant",
    "pause": "dormant",
    "end": "offline",
}
"""Other words for the states, as harnesses use them."""


class Advice(NamedTuple):
    """How to reach an agent: "send", "queue" or "hold", and for how many seconds that is good; None, till it speaks."""

    word: str
    timeout: int | None


@dataclass(frozen=True, slots=True)
class Seen:
    """One line of the roster; `state` is "unknown" past `at + ttl`, and None for who was never seen.

    `acted` is when the agent was last seen by its operations, too. `came_back` says that it claimed since it said
    goodbye.
    """

    agent: Agent
    state: str | None
    record: Presence | None
    is_future: bool
    acted: int | None = None
    came_back: bool = False

    @property
    def at(self) -> int | None:
        """When the agent was last seen, None for never."""
        return self.acted if self.acted is not None else self.record.at if self.record is not None else None

    @property
    def is_live(self) -> bool:
        """Whether the agent is at work, as far as it can be believed; a stamp from the future cannot."""
        return self.state in ("online", "busy", "draining") and not self.is_future

    @property
    def said(self) -> Presence | None:
        """What the agent says of itself; of who came back, not what it said when it went."""
        return None if self.came_back else self.record

    def advice(self, now: int) -> Advice:
        """Say whether work for this agent is sent now, queued until it comes to it, or held back.

        1. Not heard of, gone, or its clock is wrong: hold, until it shows itself. 2. It takes nothing new: hold, and
        look again when its word is over. 3. It sleeps, is busy, or others wait already: queue. 4. Else send.
        """
        if self.at is None or self.is_future or self.state in (None, "unknown", "offline"):
            return Advice("hold", None)
        left = max(0, self.at + (self.record.ttl if self.record else DEFAULT_TTL) - now)
        if self.state == "draining":
            return Advice("hold", left)
        waits = self.said is not None and self.said.queue
        return Advice("queue" if self.state != "online" or waits else "send", left)


@dataclass(frozen=True, slots=True)
class Wish:
    """What `presence set` asks for; None keeps what was."""

    state: str
    note: str | None = None
    task: str | None = None
    queue: int | None = None
    ttl: int | None = None
    branch: str | None = None
    will: str | None = None
    is_beat: bool = False
    """Whether it only says once more what was said before."""


def records(coord: Coord) -> dict[Agent, Presence]:
    """Return every member's newest believable heartbeat."""
    return {agent: record for agent, record in read_all(coord, Family.PRESENCE).items() if isinstance(record, Presence)}


def beats(coord: Coord, state: State, shown: Mapping[Agent, Presence] | None = None) -> dict[Agent, int]:
    """Return for each agent `at` of the heartbeat that keeps its claims alive; `shown` are those known already."""
    now = coord.clock.now()
    found = {
        agent: counting_beat(state.agents[agent], record, now, state.skew)
        for agent, record in (records(coord) if shown is None else shown).items()
        if agent in state.agents
    }
    known = {agent: at for agent, at in found.items() if at is not None}
    return known | {agent: max(at, known.get(agent, 0)) for agent, at in local_beats(coord, state).items()}


def last_seen(coord: Coord, state: State, shown: Mapping[Agent, Presence] | None = None) -> dict[Agent, int]:
    """Return when each agent was last seen: by its newest heartbeat, whatever that says, or its last operation.

    Nothing that is dated in the future counts. `shown` are the heartbeats, if they are known.
    """
    latest = coord.clock.now() + state.skew
    found: dict[Agent, int] = {}
    stamps = [(agent, record.at) for agent, record in (records(coord) if shown is None else shown).items()]
    stamps += local_beats(coord, state).items()
    stamps += [(agent, member.at) for agent, member in state.agents.items() if member.at]
    for agent, at in stamps:
        if at <= latest:
            found[agent] = max(at, found.get(agent, 0))
    return found


def claimed_last(state: State) -> dict[Agent, int]:
    """Return when each agent last claimed or renewed what it holds: who said goodbye before that came back."""
    found: dict[Agent, int] = {}
    for claim in state.claims.values():
        if not claim.unattended:
            found[claim.holder] = max(claim.renewed, found.get(claim.holder, 0))
    return found


def own_record(coord: Coord) -> Presence | None:
    """Return what the agent last showed from this session."""
    record = read_own(coord, Family.PRESENCE)
    return record if isinstance(record, Presence) and record.session == coord.me.session else None


def current_state(coord: Coord) -> str:
    """Return the state that the agent last showed from this session, "online" when there is none."""
    record = own_record(coord)
    return record.state if record and record.state != "offline" else "online"


def roster(coord: Coord) -> list[Seen]:
    """Return all members by name, with what their presence says now."""
    now, state = coord.clock.now(), coord.known.state
    known = records(coord)
    seen, claimed = last_seen(coord, state, known), claimed_last(state)
    return [
        _seen(agent, known.get(agent), seen.get(agent), claimed.get(agent, 0), now, state.skew)
        for agent in sorted(state.agents)
    ]


def believed_until(record: Presence, beat: int | None) -> int:
    """Return until when what an agent showed may be believed: its ttl after the heartbeat, or a later sign of life."""
    return max(record.at, beat or 0) + record.ttl


def _seen(agent: Agent, record: Presence | None, at: int | None, claimed: int, now: int, skew: int) -> Seen:
    """Judge one agent by its heartbeat, by when it was last seen, and when it last claimed something.

    1. No heartbeat is believed: online as long as one would have been. 2. It said goodbye, and claimed nothing since:
    offline. 3. Too long ago: unknown.
    """
    if record is None:
        state = None if at is None else "online" if now <= at + DEFAULT_TTL else "unknown"
        return Seen(agent, state, None, is_future=False, acted=at)
    is_future = record.at > now + skew
    at = record.at if at is None or is_future else at
    came_back = record.state == "offline" and record.at < claimed <= now + skew
    if record.state == "offline" and not came_back:
        return Seen(agent, "offline", record, is_future, at)
    state = "unknown" if now > believed_until(record, at) else "online" if came_back else record.state
    return Seen(agent, state, record, is_future, at, came_back)


def show_again(coord: Coord) -> None:
    """Let who said goodbye, and claims again, be seen as online; it reaches others with the claim."""
    own = own_record(coord)
    if own is not None and own.state == "offline" and coord.actor is not None:
        set_presence(coord, Wish("online", queue=0, will=""))


def set_presence(coord: Coord, wish: Wish) -> Presence:
    """Replace the agent's heartbeat; it reaches others with the next push.

    Others learn what `coord.presence.share` lets out. Raises CoordError(USAGE) for words that hold more than that.
    """
    level = coord.settings.share
    for name in ("note", "task", "will"):
        _refuse_path(name, getattr(wish, name), level)

    def make(old: Presence | None, seq: int) -> Presence:
        now = coord.clock.now()
        unchanged = old is not None and old.state == wish.state and old.session == coord.me.session
        return Presence(
            repo=coord.known.state.repo,
            agent=coord.me.agent,
            session=coord.me.session,
            seq=seq,
            at=now,
            nonce=coord.nonce(),
            head=coord.known.oid,
            branch=_said(level, wish.branch or (old.branch if old else None)),
            host=coord.settings.host,
            note=_said(level, _kept(wish.note, old.note if old and unchanged else None)),
            place=coord.settings.place,
            queue=0 if level == "none" else _queue(wish, old),
            since=old.since if unchanged and old else now,
            state=wish.state,
            task=_said(level, _kept(wish.task, old.task if old and unchanged else None)),
            ttl=_ttl(coord, wish.ttl or (old.ttl if old else DEFAULT_TTL)),
            will=_said(level, _kept(wish.will, old.will if old and old.session == coord.me.session else None)),
        )

    made = replace_own(coord, Family.PRESENCE, make)
    assert isinstance(made, Presence)
    note_ttl(coord, made.ttl if made.state != "offline" else None)
    return made


def _queue(wish: Wish, old: Presence | None) -> int:
    """Return how much waits: as said now, else as before; "online", said anew, is that nothing does."""
    if wish.queue is not None:
        return wish.queue
    return old.queue if old is not None and (wish.is_beat or wish.state != "online") else 0


def _ttl(coord: Coord, seconds: int) -> int:
    """Return for how long a heartbeat is believed: long enough for three, where many agents share the pace."""
    return seconds if seconds < DEFAULT_TTL else max(seconds, 3 * share_of_beats(coord))


def _kept(new: str | None, old: str | None) -> str | None:
    return old if new is None else new


def _said(level: str, text: str | None) -> str | None:
    """Return what the sharing level lets out of a text: none, a heartbeat only; basic, no absolute path; full, all."""
    return None if level == "none" or (level != "full" and _has_path(text)) else text


def _refuse_path(name: str, text: str | None, level: str) -> None:
    if level != "full" and _has_path(text):
        raise CoordError(
            Kind.USAGE,
            f"the {name} has an absolute path, which others are not told (coord.presence.share is {level})",
            next="git config coord.presence.share full",
        )


def _has_path(text: str | None) -> bool:
    # Compiled where it is needed: most heartbeats have no words at all.
    return text is not None and bool(re.search(r"""(?:^|[\s"'(=:,])(?:/[^\s/]+/|~[^\s/]*/|[A-Za-z]:\\)""", text))
