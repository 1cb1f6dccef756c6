"""A hub and clones in memory, agents with real keys, and a clock that only moves when told: services without git."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from git_coord.crypto.keys import InProcessSigner, Signer, generate_key
from git_coord.domain.chain import Head
from git_coord.domain.ids import Agent, Nonce, Oid, Session
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.ledger import Outcome
from git_coord.domain.state import State
from git_coord.domain.statements import Base, Stamp
from git_coord.errors import CoordError
from git_coord.service import claims, membership, sync, telling
from git_coord.service.claims import Changed, ClaimGranted, ClaimRefused, Wanted
from git_coord.service.context import Coord, Identity, Settings
from git_coord.service.files import CoordFiles
from git_coord.service.ledger import open_ledger
from git_coord.service.losses import Loss
from git_coord.service.membership import Birth, Founding
from git_coord.service.selection import Selection, by_item
from git_coord.store.interface import Store
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refcache import ForgettingRemote, RefCache
from git_coord.store.refnames import LEDGER

START = 1_767_225_600
"""2026-01-01T00:00:00Z"""
REPO = "00000000-0000-4000-8000-000000000001"
NOBODY = Base(None, None, None)


@dataclass
class FakeClock:
    """Time that passes only in `sleep` and when a test says so."""

    wall: int = START
    steady: float = 0.0

    def now(self) -> int:
        return self.wall + int(self.steady)

    def monotonic(self) -> float:
        return self.steady

    def sleep(self, seconds: float) -> None:
        self.steady += seconds


@dataclass
class Desk:
    """One agent at work in one clone; every method is a command of its own, as far as memory goes."""

    scene: Scene
    agent: Agent
    session: Session
    signer: Signer
    store: MemoryStore
    remote: MemoryRemote | None
    files: CoordFiles
    clock: FakeClock
    settings: Settings = field(default_factory=Settings)
    heard: list[str] = field(default_factory=list)
    policy_signer: Callable[[], Signer] | None = None

    def coord(self, *, opened: bool = True, below: Store | None = None, **settings: Any) -> Coord:
        """Return the means of one command, with the ledger opened."""
        cache = RefCache(below or self.store)
        made = Coord(
            store=cache,
            remote=None if self.remote is None else ForgettingRemote(self.remote, cache),
            files=self.files,
            clock=self.clock,
            nonce=self.scene.nonce,
            jitter=lambda: 0.5,
            settings=self.settings._replace(**settings),
            identity=Identity(self.agent, self.session),
            signer=self.signer,
            policy_signer=self.policy_signer,
            notice=self.heard.append,
        )
        if opened:
            open_ledger(made)
        return made

    def init(self) -> Founding:
        """Found or adopt the ledger and join it."""
        coord = self.coord(opened=False)
        founding = membership.found_or_adopt(coord, lambda: Birth(REPO, "none", self.signer))
        membership.join(coord)
        return founding

    def claim(self, *names: str, coord: Coord | None = None, **options: Any) -> ClaimGranted | ClaimRefused:
        """Claim paths."""
        return claims.claim(coord or self.coord(), wanted(*names, **options))

    def granted(self, *names: str, **options: Any) -> ClaimGranted:
        """Claim paths, which must be granted."""
        result = self.claim(*names, **options)
        assert isinstance(result, ClaimGranted), result
        return result

    def refused(self, *names: str, **options: Any) -> list[tuple[str, str, str]]:
        """Claim paths, which must be refused; return `(asked, holder, held)` of each conflict."""
        result = self.claim(*names, **options)
        assert isinstance(result, ClaimRefused), result
        return [(c.asked.name, str(c.claim.holder), c.held.name) for c in result.conflicts]

    def release(self, *names: str, coord: Coord | None = None) -> Changed:
        """Release what is held of these paths."""
        using = coord or self.coord()
        return claims.release(using, selected(using, *names), "")

    def sync(self) -> sync.Synced:
        """Exchange with the remote."""
        return sync.sync(self.coord(opened=False))

    def head(self) -> Head:
        """Return the ledger as this clone verified it."""
        return self.coord().known

    def state(self) -> State:
        """Return its state."""
        return self.head().state

    def holdings(self) -> dict[str, str]:
        """Return who holds what in this clone's verified ledger, by path."""
        claims_ = self.state().claims.values()
        return {item.name: str(claim.holder) for claim in claims_ for _, item in claim.live()}

    def tip(self) -> Oid | None:
        """Return the live ledger ref of this clone."""
        return self.store.refs(LEDGER).get(LEDGER)

    def forward(self) -> list[str]:
        """Return what was said since, and forget it."""
        said = [*self.heard, *(loss.words for loss in self.lost())]
        self.heard.clear()
        return said

    def lost(self) -> list[Loss]:
        """Return what the agent is to be told it has lost, as a command does; it is told then."""
        coord = self.coord(opened=False)
        found = telling.listed(coord)
        telling.told(coord)
        return found


class Scene:
    """A hub, its clones and their agents; without a hub all agents share one repository."""

    def __init__(self, folder: Path, *, with_hub: bool = True) -> None:
        self.folder = folder
        self.hub = MemoryStore()
        self.clock = FakeClock()
        self.shared = None if with_hub else MemoryStore()
        self._nonces: Iterator[int] = iter(range(1, 1 << 30))

    def nonce(self) -> Nonce:
        """Return the next nonce: unpredictable for nobody, different every time."""
        return Nonce(hashlib.sha256(b"%d" % next(self._nonces)).hexdigest()[:32])

    def signer(self, name: str) -> Signer:
        """Return the signer of this name, a new key the first time."""
        path = self.folder / "keys" / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            generate_key(path, name)
        return InProcessSigner(path)

    def desk(self, name: str, *, clone: str | None = None, session: str | None = None, key: str | None = None) -> Desk:
        """Return an agent in a clone of its own (or of that name) that has not joined yet."""
        place = self.folder / (clone or name)
        store = self.shared or MemoryStore()
        remote = MemoryRemote(self.hub, store) if self.shared is None else None
        if self.shared is not None:
            place = self.folder / "shared"
        files = CoordFiles(str(place / "common"), str(place / name))
        who = Agent(name), Session(session or f"{name}-session")
        return Desk(self, *who, self.signer(key or name), store, remote, files, self.clock)

    def joined(self, *names: str) -> list[Desk]:
        """Return agents that have joined, the first one with the policy key; all in step."""
        desks = [self.desk(name) for name in names]
        for desk in desks:
            desk.init()
        for desk in desks if self.shared is None else ():
            desk.sync()
        return desks

    def hub_tip(self) -> Oid | None:
        """Return the hub's ledger."""
        return self.hub.refs(LEDGER).get(LEDGER)


def beside(desk: Desk, name: str) -> Desk:
    """Return another agent in the same clone, not joined yet."""
    made = desk.scene.desk(name)
    return replace(made, store=desk.store, remote=desk.remote, files=desk.files)


def again(desk: Desk, **changes: Any) -> Desk:
    """Return the same desk with something else, a new list of what it heard."""
    return replace(desk, heard=[], **changes)


def item(name: str, intent: str = "edit") -> Item:
    """Return a path item."""
    return Item(ItemKind.PATH, name, Intent(intent))


def wanted(
    *names: str, ttl: int = 7200, intent: str = "edit", stamps: tuple[Stamp, ...] | None = None, purpose: str = ""
) -> Wanted:
    """Return what a claim of these paths asks for."""
    return Wanted(tuple(item(name, intent) for name in names), purpose, "standard", ttl, stamps, NOBODY)


def selected(coord: Coord, *names: str) -> Selection:
    """Return the agent's claims on these paths."""
    return by_item(coord.known.state, coord.me.agent, [item(name) for name in names])


def expect(outcome: Outcome | None, kind: type[Outcome]) -> None:
    """Assert what became of an operation."""
    assert isinstance(outcome, kind), outcome


def trouble(error: CoordError) -> tuple[str, str]:
    """Return code and cause of an error; advice that follows a semicolon may be worded anew without a test here."""
    return error.kind.code, error.message.partition(";")[0]


def step(*desks: Desk) -> None:
    """Bring clones in step, where there are any."""
    for desk in desks:
        desk.sync()
