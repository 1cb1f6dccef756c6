"""What every verb works with: one repository, one agent, and the means passed in by `app.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from git_coord.clock import Clock
from git_coord.crypto.keys import Signer
from git_coord.domain.chain import Extension, Head, OpId, Placed, Sealed
from git_coord.domain.ids import Agent, Nonce, Oid, Session
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.store.interface import Remote, Store

from .files import CoordFiles
from .members.read_only import read_only
from .remembered import Remembered


class Identity(NamedTuple):
    """Who acts: the agent's name and the session of this work context."""

    agent: Agent
    session: Session
    given: str | None = None
    """Where the name is from: `GIT_COORD_AGENT` or `coord.agent`; None when the command named it."""


@dataclass(slots=True)
class Telling:
    """What a command is about to tell its agent was lost: the file that has it, locked; `listed` in its answer."""

    handle: int
    said: set[Nonce] = field(default_factory=set)
    listed: set[Nonce] = field(default_factory=set)


class Settings(NamedTuple):
    """The `coord.*` values that services heed; times in seconds."""

    freshness: int = 60
    min_ttl_remote: int = 300
    min_ttl_local: int = 1
    offline: str = "deny"
    keeps_history: bool = False
    """Replaced refs take the previous commit as parent, for hosts that take only branches (`coord.refPrefix`)."""
    pinned_root: Oid | None = None
    pinned_repo: str | None = None
    share: str = "basic"
    """How much presence tells others (`coord.presence.share`): none, basic or full."""
    host: str | None = None
    """This machine's name; None unless it is shared."""
    place: str | None = None
    """The absolute path of the worktree; None unless it is shared."""
    clock_skew: int = 60
    """How much earlier than others the holder takes its own lease for over; nothing without a remote."""


@dataclass(slots=True, eq=False, repr=False)
class Coord:
    """One repository and one agent at work; `head` is the ledger as this process last verified it."""

    store: Store
    remote: Remote | None
    files: CoordFiles
    clock: Clock
    nonce: Callable[[], Nonce]
    jitter: Callable[[], float]
    settings: Settings
    identity: Identity | None = None
    signer: Signer | None = None
    policy_signer: Callable[[], Signer] | None = None
    notice: Callable[[str], None] = lambda _text: None
    progress: Callable[[str], None] = lambda _text: None
    """Told now and then how far long work has come."""
    reach: Callable[[str], None] = lambda _name: None
    """Called at each step at which a kill must lose nothing (`failpoints.py`)."""
    head: Head | None = None
    outcomes: dict[OpId, Placed] = field(default_factory=dict)
    """What became of operations seen being placed."""
    given_up: set[OpId] = field(default_factory=set)
    """Pending operations that this command said are lost, or replaced."""
    answering: set[OpId] = field(default_factory=set)
    """Operations that this command submits, and whose outcome is its answer."""
    settled: list[Placed] = field(default_factory=list)
    """Operations that were pending in this clone and that this command saw being placed."""
    telling: Telling | None = None
    opened: dict[Oid, Sealed | None] = field(default_factory=dict)
    """Requests and operations opened by this process, by blob id; None for what cannot be believed."""
    remembered: Remembered = field(init=False)
    drafted: tuple[Oid, Extension] | None = None
    """The parent and the commit that the first push of an operation will carry, made when it was published."""
    stored: set[Oid] = field(default_factory=set)
    """Ledger commits whose objects this process wrote, so that a retry does not write them again."""
    learned: list[str] = field(default_factory=list)
    """What this command said of claims that others ended, or handed over, and of operations that it gave up."""
    boot: Callable[[], str] = lambda: ""
    """Names the time since this machine was started, of which `clock.monotonic()` counts the seconds."""
    run: str | None = None
    """The `git coord run` this works under, which gives back at its end what was claimed meanwhile."""
    fetched_at: float | None = None
    """`clock.monotonic()` of the fetch that this command made, None before."""

    def __post_init__(self) -> None:
        """Open the memory of verified records."""
        self.remembered = Remembered(self.files)

    @property
    def me(self) -> Identity:
        """The acting identity; raises CoordError when none is configured: ERROR, or UNKNOWN in a read-only clone."""
        if self.identity is None:
            found = read_only(self.files)
            if found:
                raise found.refusal()
            raise CoordError(Kind.ERROR, "no agent is set up in this worktree", next="git coord init")
        return self.identity

    @property
    def actor(self) -> Agent | None:
        """Who acts here: None without a name, and for an agent that the ledger has at work in another session.

        Whatever such a one holds, it is not here that it may be touched. Of the ledger as known so far.
        """
        if self.identity is None:
            return None
        member = self.head.state.agents.get(self.identity.agent) if self.head else None
        is_here = member is None or member.session == self.identity.session
        return self.identity.agent if is_here else None

    @property
    def known(self) -> Head:
        """The verified ledger head; raises CoordError(ERROR) when there is no ledger."""
        if self.head is None:
            raise CoordError(Kind.ERROR, "git coord is not set up in this repository", next="git coord init")
        return self.head

    @property
    def own_signer(self) -> Signer:
        """The agent's signer; raises CoordError(ERROR) when its key is not here."""
        if self.signer is None:
            raise CoordError(Kind.ERROR, f"no key of {self.me.agent} on this machine", next="git coord init")
        return self.signer

    def give_up(self, sealed: Sealed, why: str) -> None:
        """Say, once, that a pending operation will never be placed."""
        if sealed.id not in self.given_up:
            self.given_up.add(sealed.id)
            words = f"lost: a {sealed.op.KIND} of {sealed.op.agent} that was pending: {why}"
            self.learned.append(words)
            self.notice(words)

    def note_placed(self, placed: Mapping[OpId, Placed], ours: Sequence[Placed] = ()) -> None:
        """Remember what became of operations seen on the way to the present head; `ours` were pending here."""
        self.outcomes.update(placed)
        self.settled += ours
