"""Where the session is in which an agent is at work, and what to type here instead of acting as that agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from git_coord.domain.durations import show_age
from git_coord.domain.ids import Agent, Session
from git_coord.domain.state import State
from git_coord.errors import CoordError
from git_coord.guard import whose
from git_coord.lean import NamedTuple

from .context import Coord
from .members.read_only import read_only

REJOIN = "git coord rejoin"
EDIT_SESSIONS = os.path.join("edit", "sessions")
"""In a worktree's folder of ours: files `AGENT SESSION`, of sessions of coding agents."""


MADE_CURRENT = "session.current"
"""In a worktree's folder of ours: the session that was last made an agent's current one here."""


class Elsewhere(NamedTuple):
    """Another session of the acting agent, which is the current one; `worktree` is that of this clone which has it.

    `is_here` says that it belongs to this very worktree, `is_over` that nothing was seen of it for long, or that it
    said goodbye.
    """

    agent: Agent
    session: Session
    worktree: str | None
    is_here: bool
    seen_at: int | None
    is_over: bool

    @property
    def is_free(self) -> bool:
        """Tell whether going on as this agent takes nobody's place."""
        return self.is_here or self.is_over

    def words(self, now: int) -> str:
        """Say who is where."""
        seen = "" if self.seen_at is None else f", seen {show_age(max(0, now - self.seen_at))} ago"
        if self.is_here:
            return f"{self.agent} is at work in another session of this worktree ({self.session}){seen}"
        if self.worktree is not None:
            return f"{self.agent} is at work in another worktree, {self.worktree}{seen}"
        verb = "was" if self.is_over else "is"
        return f"{self.agent} {verb} at work in another session ({self.session}), of another clone{seen}"


class Nobody(NamedTuple):
    """Why nobody acts here, and the command that gives the worktree an agent of its own."""

    why: str
    step: str

    @property
    def line(self) -> str:
        """Say it beside a refusal."""
        return f"  ({self.why}, so here every claim is somebody else's)"

    @property
    def notice(self) -> str:
        """Say it where nothing stands in the way."""
        return f"{self.why}; here it is nobody, and nothing is signed for it; next: {self.step}"


def nobody(coord: Coord) -> Nobody | None:
    """Return why nobody acts here, None when somebody does or nobody can; the ledger has been opened.

    No name is this worktree's own, or its agent is at work in another session: every claim is another's then.
    """
    if coord.identity is None:
        if read_only(coord.files):
            return None  # which is no lack of a name
        return Nobody("no agent is set up in this worktree", "git coord init")
    found = elsewhere(coord)
    if found is None:
        return None
    from .operations import free_name  # noqa: PLC0415 - which asks here where somebody is

    return Nobody(found.words(coord.clock.now()), step(coord, found, free_name(coord)))


def write_sessions(coord: Coord) -> None:
    """Write down in which session each member is, for who reads no ledger. Raises OSError."""
    rows = sorted(f"{agent} {member.session}\n" for agent, member in coord.known.state.agents.items())
    data = "".join(rows).encode("ascii")
    if coord.files.read(whose.SESSIONS_FILE) != data:
        coord.files.write(whose.SESSIONS_FILE, data)


def is_known_elsewhere(coord: Coord) -> bool:
    """Tell whether the acting agent is at work in another session, as far as that is written down."""
    if coord.identity is None:
        return False
    common = os.path.dirname(coord.files.common)
    return whose.current_session(common, coord.me.agent) not in (None, coord.me.session.encode("ascii"))


def elsewhere(coord: Coord, *, asks: bool = False) -> Elsewhere | None:
    """Return where the acting agent is at work, None when that is this session, or nobody has joined under its name.

    `asks` fetches what it shows of itself before it is taken to be gone; a remote that gives no answer says nothing.
    """
    if asks and coord.remote is not None and coord.actor is None:
        from .remote_ledger import ROSTER_FAMILIES, fetch_and_adopt  # noqa: PLC0415 - on the way to an error

        with suppress(CoordError):
            fetch_and_adopt(coord, ROSTER_FAMILIES)
    if coord.identity is None or coord.actor is not None:
        return None
    state, me = coord.known.state, coord.me.agent
    session = state.agents[me].session
    worktree, is_here = _worktree_with(coord, session)
    seen_at, is_over = _last_seen(coord, state, me, session)
    return Elsewhere(me, session, worktree, is_here, seen_at, is_over and worktree is None)


def _worktree_with(coord: Coord, session: Session) -> tuple[str | None, bool]:
    """Return the worktree of this clone that a session belongs to, and whether it is this one."""
    common = os.path.dirname(coord.files.common)
    for git_dir in git_dirs(common):
        if session in _sessions_of(os.path.join(git_dir, "coord")) and (top := _top(git_dir, common)) is not None:
            return top, os.path.realpath(git_dir) == os.path.realpath(os.path.dirname(coord.files.local))
    return None, False


def note_current(coord: Coord) -> None:
    """Note that this session was made the agent's current one in this worktree, whose own one it need not be."""
    coord.files.note(MADE_CURRENT, f"{coord.me.session}\n".encode("ascii"), local=True)


def is_of_this_clone(coord: Coord, session: Session) -> bool:
    """Tell whether a session belongs to one of this clone's worktrees."""
    return (coord.identity is not None and session == coord.me.session) or _worktree_with(coord, session)[0] is not None


def git_dirs(common: str) -> list[str]:
    """Return the git directory of every worktree of a clone, the common one first."""
    linked = os.path.join(common, "worktrees")
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    return [common, *(os.path.join(linked, name) for name in names)]


def _sessions_of(folder: str) -> Iterator[str]:
    edits = os.path.join(folder, EDIT_SESSIONS)
    names = os.listdir(edits) if os.path.isdir(edits) else []
    own = [os.path.join(folder, name) for name in (whose.SESSION_FILE, MADE_CURRENT)]
    for path in (*own, *(os.path.join(edits, name) for name in names)):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                yield file.read().strip().rpartition(" ")[2]
        except OSError:
            continue


def _top(git_dir: str, common: str) -> str | None:
    """Return the folder of a worktree, None when it is there no more: nobody works in it."""
    if git_dir == common:
        return os.path.dirname(common) if os.path.basename(common) == ".git" else common
    try:
        with open(os.path.join(git_dir, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
            link = os.path.normpath(os.path.join(git_dir, file.read().rstrip("\n")))
    except OSError:
        return None
    return os.path.dirname(link) if os.path.lexists(link) else None


def _last_seen(coord: Coord, state: State, agent: Agent, session: Session) -> tuple[int | None, bool]:
    from .presence import DEFAULT_TTL, last_seen, records  # noqa: PLC0415 - only for who is elsewhere

    record, at, now = records(coord).get(agent), last_seen(coord, state).get(agent), coord.clock.now()
    if record is not None and record.session == session and record.state == "offline" and (at or 0) <= record.at:
        return record.at, True
    if at is None:
        return None, coord.remote is None  # what nothing is known of is not dead, unless all there is lies here
    return at, now > at + (record.ttl if record is not None else DEFAULT_TTL)


def step(coord: Coord, found: Elsewhere, free: str) -> str:
    """Return the command that takes nobody's place: to go on where that is over, else as an agent of one's own.

    `free` is a name that nobody has.
    """
    given = coord.me.given
    if found.is_free:
        return REJOIN if given is not None else f"{REJOIN} --agent {found.agent}"
    if given is None:
        return "git coord init"
    return "unset GIT_COORD_AGENT && git coord init" if given == "GIT_COORD_AGENT" else f"git coord init --agent {free}"
