"""The frame of the machines: commands and what strikes them, what must hold after each, how all comes to rest."""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple

from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, sync
from git_coord.service.claims import Wanted
from git_coord.service.context import Coord
from git_coord.service.repair import repair
from git_coord.service.selection import Selection, by_item, everything
from git_coord.store.refnames import LEDGER, SEEN
from tests.service.scene import NOBODY, Desk, again

from .audit import Auditor, Ids
from .naive import Ledger
from .oracle import Thing
from .world import (
    KilledError,
    World,
    item,
    kill,
    ledger_of,
    prune,
    seen,
    set_ref,
    signer_of,
    space,
    stepping,
)

AGENTS = ("alpha", "beta", "gamma", "alpha@2")
DAY = 86400
GIVEN_UP = re.compile(r"lost: a (\w+) of (\S+) that was pending")
EXPECTED = (Kind.LOST, Kind.ERROR, Kind.BLOCKED, Kind.CONFLICT, Kind.UNKNOWN, Kind.UNTRUSTED)
COUNTS: Counter[str] = Counter()
"""Rules run and what became of them, for the report (`pytest -s`)."""


class Fault(NamedTuple):
    """What happens to a command at its step number `step`."""

    kind: str
    step: int
    other: str
    thing: Thing


class Frame(RuleBasedStateMachine):
    """Agents somewhere, what may happen to a command, and how all comes to rest."""

    CLONES: ClassVar[dict[str, tuple[str, ...]]] = {}
    FOLD = "none"
    WITH_HUB = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name), self.CLONES, self.FOLD, with_hub=self.WITH_HUB)
        self.auditor = Auditor(space(self.FOLD))
        self.lost: set[tuple[str, str]] = set()
        self.kept: dict[int, Oid] = {}
        self.tampered = self.silent = False
        self.drawn = 0
        self.said: Counter[tuple[str, str]] = Counter()
        self.was_struck = self.was_tampered = False
        for name in AGENTS:
            self.world.init(name) if "@" not in name else self.desk(name)
        for name in AGENTS if self.WITH_HUB else ():
            self.desk(name).sync()

    def desk(self, name: str) -> Desk:
        return self.world.desks[name]

    def siblings(self, name: str) -> list[Desk]:
        """Return the desks of the same agent."""
        return [desk for desk in self.world.desks.values() if desk.agent == self.desk(name).agent]

    def run_command(
        self, name: str, do: Callable[[Coord], object], fault: Fault | None = None, **settings: object
    ) -> object:
        """Run a command; return its result, its error, or None when it was killed."""
        desk = again(self.desk(name))
        try:
            result = do(self.armed(desk, fault, desk.coord(**settings)))  # type: ignore[arg-type]
        except KilledError:
            result = None
        except CoordError as trouble:
            self.check_trouble(desk, trouble)
            result = trouble
        self.desk(name).heard[:] = desk.heard
        heard = [*desk.heard, *(loss.words for loss in desk.lost())]
        self.said.update((said[1], said[2]) for said in map(GIVEN_UP.match, heard) if said)
        COUNTS[f"{type(result).__name__}"] += 1
        return result

    def armed(self, desk: Desk, fault: Fault | None, coord: Coord) -> Coord:
        return coord if fault is None else stepping(desk, coord, fault.step, lambda: self.strike(desk, fault))

    def strike(self, desk: Desk, fault: Fault) -> None:
        """Let the fault happen."""
        self.was_struck = True
        COUNTS[f"fault {fault.kind}"] += 1
        match fault.kind:
            case "kill":
                kill()
            case "sync":
                self.run_command(fault.other, sync.sync)
            case "claim":
                self.run_command(fault.other, lambda coord: claims.claim(coord, wanted({fault.thing: "edit"})))
            case "prune":
                prune(desk.store)
            case "rewind":
                self.rewind(fault.other, False)

    def check_trouble(self, desk: Desk, trouble: CoordError) -> None:
        """Check that an error has its reason."""
        words = [word for word in trouble.message.split()[:7] if word.isalpha() and word not in AGENTS]
        COUNTS[f"{trouble.kind.code}: {' '.join(words)}"] += 1
        assert trouble.kind in EXPECTED, trouble.message
        assert "never comes" not in trouble.message, trouble.message
        if trouble.kind is Kind.UNTRUSTED:
            assert self.tampered, trouble.message
        if trouble.kind is Kind.UNKNOWN:
            away = desk.remote is not None and (desk.remote.offline or desk.remote.refuse)
            on_hold = self.was_tampered and "hold_until" in trouble.data
            is_pruned = self.was_struck and trouble.message.endswith("an object to push is missing here")
            assert away or self.silent or self.tampered or on_hold or is_pruned, trouble.message

    def rewind(self, name: str, gone: bool) -> None:
        """Set this clone's live ledger back; what it has verified stays."""
        store = self.desk(name).store
        tip = ledger_of(store)
        chain = store.history(tip, None) if tip else []
        set_ref(store, LEDGER, None if gone or len(chain) < 2 else chain[-2])

    @rule()
    def settle(self) -> None:
        """Let everything come to rest: nothing published is missing, nothing is there twice, and all agree."""
        self.come_to_rest()
        tip = ledger_of(self.world.truth)
        assert tip is not None
        ledger, ids = self.auditor.audit(self.world.truth, tip)
        assert {ledger_of(store) for store in self.world.stores} == {tip}
        self.account(ledger, ids)
        self.tampered = False

    def come_to_rest(self) -> None:
        """Mend what is broken, let clocks pass every date that was signed, and sync until nothing is pending."""
        for desk in self.world.desks.values():
            desk.clock.wall = 0
        self.world.scene.clock.sleep(401 * DAY)
        self.silent = False
        for _ in range(2):
            for name in AGENTS:
                if isinstance(trouble := self.run_command(name, sync.sync), CoordError):
                    assert trouble.kind is Kind.UNTRUSTED, trouble.message
                    self.mend(name)
        for name in AGENTS:
            assert not isinstance(self.run_command(name, sync.sync), CoordError)

    def mend(self, name: str) -> None:
        """Repair the ledger from this clone, and keep what it said was lost."""
        done = repair(self.desk(name).coord(opened=False))
        if done is not None:
            self.lost |= {(s.op.agent, s.op.nonce) for s in done.lost}
        self.kept.pop(id(self.desk(name).store), None)
        self.run_command(name, sync.sync)

    def account(self, ledger: Ledger, ids: Ids) -> None:
        """Check that every operation ever published is in the ledger, or could not be placed any more."""
        self.world.look_at_requests()
        for name, (op, key) in self.world.published.items():
            if name not in ids and name not in self.lost:
                reason = ledger.fault(op, key)
                assert reason is not None, ("never placed", op)
                COUNTS[f"not placed: {op['kind']}: {reason}"] += 1
                self.excuse(op, reason)

    def excuse(self, op: dict[str, object], reason: str) -> None:
        """Check that what was given up was said: only who is killed, or overtaken while at it, may be silent."""
        said = self.said[str(op["kind"]), str(op["agent"])]
        assert said or self.was_struck or self.was_tampered or (reason == "wrong key" and self.drawn), (op, reason)

    @invariant()
    def nothing_verified_is_given_up(self) -> None:
        """Check each clone's verified ledger, and that it only ever grows."""
        COUNTS["states"] += 1
        self.fit_keys()
        self.world.look_at_requests()
        for desk in self.world.desks.values():
            tip, before = seen(desk), self.kept.get(id(desk.store))
            assert tip is not None
            self.auditor.audit(desk.store, tip)
            assert (
                before is None or before in self.auditor.line(desk.store, tip) or self.was_replayed(desk, tip, before)
            )
            self.kept[id(desk.store)] = tip

    def was_replayed(self, desk: Desk, tip: Oid, before: Oid) -> bool:
        """Tell whether a chain that this clone left lists what it had there: only where a hub was put back."""
        return self.was_tampered and self.auditor.lists(desk.store, tip, before)

    def fit_keys(self) -> None:
        """Let every agent sign with the key that its clone knows to be current, as far as it has one."""
        for desk in self.world.desks.values():
            ledger, _ = self.auditor.audit(desk.store, desk.store.refs(SEEN)[SEEN])
            current = ledger.keys.get(desk.agent, [desk.signer.key])[-1]
            names = [desk.agent, *(f"{desk.agent}-{n}" for n in range(1, self.drawn + 1))]
            desk.signer = next((s for s in map(signer_of, names) if s.key == current), desk.signer)

    def teardown(self) -> None:
        if sys.exc_info()[0] is None:
            self.settle()
        self.folder.cleanup()


def wanted(items: dict[Thing, str], ttl: int = 7200) -> Wanted:
    """Return what a claim of these items asks for."""
    return Wanted(tuple(item(thing, intent) for thing, intent in items.items()), "", "standard", ttl, None, NOBODY)


def chosen(coord: Coord, thing: Thing | None) -> Selection:
    """Return all claims of the agent, or those of one item."""
    if thing is None:
        return everything(coord.known.state, coord.me.agent)
    return by_item(coord.known.state, coord.me.agent, [item(thing, "edit")])
