"""Three clones and a hub that loses our refs, again and again: nobody is told "yours" beside another who was not told.

The rules follow what the hold promises: every clone that is alive syncs before it is over. Nothing else is arranged.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, membership, sync
from git_coord.service.adopt import walk
from git_coord.service.claims import ClaimGranted
from git_coord.service.context import Coord
from git_coord.service.lineage import lineage
from git_coord.store.refnames import Ref
from tests.service.scene import Desk, selected, wanted

from .audit import Auditor
from .world import KilledError, SharedKeys, kill, ledger_of, seen, set_ref, set_refs, space, stepping

NAMES = ("alpha", "beta", "gamma")
PATHS = ("a", "a/b", "b", "x.py")
HOLD = 600
COUNTS: Counter[str] = Counter()


def meet(one: str, two: str) -> bool:
    """Tell whether two paths overlap."""
    return one == two or one.startswith(two + "/") or two.startswith(one + "/")


class WipeMachine(RuleBasedStateMachine):
    """Agents that claim and release, each in a clone of its own, and what becomes of their hub."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.scene = SharedKeys(self.folder)
        self.desks: dict[str, Desk] = dict(zip(NAMES, self.scene.joined(*NAMES), strict=True))
        self.auditor = Auditor(space("none"))
        self.told: dict[str, set[str]] = {name: set() for name in NAMES}
        """What each agent was told is its own, and not told otherwise since."""
        self.wiped_at: int | None = None
        self.old: list[dict[Ref, Oid]] = []
        self.is_struck = False
        for name in NAMES:
            self.desks[name].sync()

    # what agents do

    def run(self, name: str, do: object, kill_at: int | None = None) -> object:
        """Run a command, and take note of what its agent hears."""
        desk = self.desks[name]
        coord = desk.coord()
        if kill_at is not None:
            coord = stepping(desk, coord, kill_at, kill)
        try:
            result: object = do(coord)  # type: ignore[operator]
        except KilledError:
            self.is_struck = True
            result = None
        except CoordError as trouble:
            result = trouble
        assert not (isinstance(result, CoordError) and result.kind is Kind.UNTRUSTED), result
        self.hear(name)
        return result

    def hear(self, name: str) -> None:
        """Take from what an agent holds what it is told is lost."""
        desk = self.desks[name]
        for loss in desk.lost():
            gone = {path for path in self.told[name] if path in loss.names.split(", ")}
            COUNTS["told lost"] += len(gone)
            self.told[name] -= gone
        desk.heard.clear()

    @rule(name=st.sampled_from(NAMES), path=st.sampled_from(PATHS), kill_at=st.none() | st.integers(0, 8))
    def claim(self, name: str, path: str, kill_at: int | None) -> None:
        def do(coord: Coord) -> object:
            return claims.claim(coord, wanted(path))

        result = self.run(name, do, kill_at)
        if isinstance(result, ClaimGranted):
            COUNTS["granted"] += 1
            for other in NAMES:
                clash = [mine for mine in self.told[other] if other != name and meet(mine, path)]
                assert not clash, f"{name} is told that {path} is its own, and {other} was told so of {clash}"
            self.told[name].add(path)
        elif isinstance(result, CoordError):
            COUNTS[f"refused: {'on hold' if 'hold_until' in result.data else result.kind.code}"] += 1
        self.note_restored()

    @rule(name=st.sampled_from(NAMES), path=st.sampled_from(PATHS))
    def release(self, name: str, path: str) -> None:
        if path in self.told[name]:
            # From here on it does not count on it, whatever becomes of the release.
            self.told[name].discard(path)
            self.run(name, lambda coord: self._release(coord, path))
            self.note_restored()

    def _release(self, coord: Coord, path: str) -> object:
        selection = selected(coord, path)
        return claims.release(coord, selection, "") if selection.claims else None

    @rule(name=st.sampled_from(NAMES), kill_at=st.none() | st.integers(0, 8))
    def sync(self, name: str, kill_at: int | None) -> None:
        self.run(name, sync.sync, kill_at)
        self.note_restored()

    # what becomes of the hub

    @rule(what=st.sampled_from(["all", "claims", "claims and requests"]))
    def wipe(self, what: str) -> None:
        COUNTS[f"wiped {what}"] += 1
        hub = self.scene.hub
        gone = {"all": "refs/coord/", "claims": "refs/coord/claims", "claims and requests": "refs/coord/requests/"}
        for prefix in {gone[what], "refs/coord/claims"}:
            for ref in hub.refs(prefix):
                set_ref(hub, ref, None)
        self.wiped_at = None

    @rule()
    def keep_a_copy(self) -> None:
        self.old.append(self.scene.hub.refs("refs/"))

    @precondition(lambda self: self.old)
    @rule(number=st.integers(0, 9))
    def put_an_old_copy_back(self, number: int) -> None:
        """Set the hub back; not to where a clone stands, which cannot know."""
        copy = self.old[number % len(self.old)]
        tip = copy.get(Ref("refs/coord/claims"))
        if tip is None or any(seen(desk) == tip for desk in self.desks.values()):
            return
        COUNTS["set back"] += 1
        set_refs(self.scene.hub, copy)
        self.wiped_at = None

    def note_restored(self) -> None:
        """Note since when a lost ledger is at the hub again."""
        if self.wiped_at is None and ledger_of(self.scene.hub) is not None:
            self.wiped_at = self.scene.clock.now()

    @rule(seconds=st.sampled_from([1, 60, HOLD, 7200]), order=st.permutations(NAMES))
    def pass_time(self, seconds: int, order: list[str]) -> None:
        """Let time pass; before a hold can be over everybody who is alive syncs, in any order."""
        if seconds >= HOLD:
            for name in order:
                self.run(name, sync.sync)
                self.note_restored()
        self.scene.clock.sleep(seconds)

    # what must hold

    @invariant()
    def nobody_is_told_what_another_was_told(self) -> None:
        for one in NAMES:
            for two in NAMES:
                for mine in self.told[one]:
                    assert one == two or not any(meet(mine, theirs) for theirs in self.told[two]), self.told

    @invariant()
    def every_ledger_is_a_good_one(self) -> None:
        for desk in self.desks.values():
            tip = seen(desk)
            assert tip is not None
            self.auditor.audit(desk.store, tip)

    def teardown(self) -> None:
        for _ in range(3):
            for name in NAMES:
                self.run(name, sync.sync)
        tips = {ledger_of(desk.store) for desk in self.desks.values()} | {ledger_of(self.scene.hub)}
        assert len(tips) == 1, tips
        state = self.desks["alpha"].state()
        for name in NAMES:
            held = {item.name for claim in state.held_by(self.desks[name].agent) for _, item in claim.live()}
            assert self.told[name] <= held, f"{name} was told {self.told[name]}, and holds {held}"
        coord = self.desks["alpha"].coord()
        assert walk(coord, None, lineage(coord.store, coord.known.oid, None)).fault is None
        shutil.rmtree(self.folder)


@pytest.mark.slow(30)
class TestWipes(WipeMachine.TestCase):  # type: ignore[name-defined,misc]
    """Run by the name that pytest looks for."""

    settings = settings(max_examples=80, stateful_step_count=25, deadline=None)


class WithoutHold(WipeMachine):
    """The same where a maintainer has set the hold to nothing."""

    def __init__(self) -> None:
        super().__init__()
        membership.set_policy(self.desks["alpha"].coord(), membership.PolicyChange(restore_hold=0))
        for name in NAMES:
            self.desks[name].sync()


def test_without_the_hold_two_are_told_that_the_same_is_theirs() -> None:
    """The machine would notice."""
    hasty = settings(
        max_examples=300,
        stateful_step_count=25,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError, match="is told that"):
        run_state_machine_as_test(WithoutHold, settings=hasty)
