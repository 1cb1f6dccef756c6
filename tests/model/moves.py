"""Operations signed past every check that commands make before them: waiting, other hands, settling, blocked tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from git_coord.domain.ids import Agent, Nonce, Oid
from git_coord.domain.ledger import Refused
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import (
    BlockTasks,
    Claim,
    Evidence,
    Landed,
    Operation,
    Release,
    Settle,
    Takeover,
    Target,
    Unblock,
)
from git_coord.service.claims import Wanted
from git_coord.service.context import Coord
from git_coord.service.operations import operation
from git_coord.service.place import submit
from git_coord.service.waiting import Patience, claim_waiting
from git_coord.store.refcache import RefCache

from .frame import COUNTS

UNKNOWN = Nonce("f" * 32)
TASKS = ("E-1", "E-1/2", "e-1")
T = TypeVar("T")


def wait(coord: Coord, wanted: Wanted, seconds: int) -> None:
    """Claim, and wait for so long."""
    fields = {name: getattr(wanted, name) for name in ("items", "purpose", "lease", "ttl", "stamps", "base")}
    _sign(coord, Claim, not_after=None, wait_until=coord.clock.now() + seconds, **fields)


def wait_patiently(coord: Coord, wanted: Wanted, seconds: int) -> object:
    """Claim and wait as the command does."""
    store = coord.store
    assert isinstance(store, RefCache)
    plan = Patience(
        seconds=seconds,
        interval=10.0,
        moved=lambda: None,
        look_again=store.forget,
        refresh=lambda: None,
        is_over=lambda: False,
        tell=lambda *_: None,
    )
    return claim_waiting(coord, wanted, plan)


def take_over(coord: Coord, number: int, wanted: Wanted) -> None:
    """Take over a claim of somebody else, with evidence that is enough or not."""
    claim = _picked(_foreign(coord), number)
    if claim is None:
        return
    seen = Evidence(claim.op, None, claim.certain_end, None, (claim.ttl, claim.ttl, 0)[number % 3], None)
    fields = {name: getattr(wanted, name) for name in ("items", "purpose", "lease", "ttl", "stamps", "base")}
    _sign(coord, Takeover, claims=(seen,), reason="gone", **fields)


def hand_over(coord: Coord, number: int, to: str) -> None:
    """Hand over an own claim, or its first item."""
    claim = _picked(coord.known.state.held_by(coord.me.agent), number)
    if claim is not None:
        first = next(position for position, _ in claim.live())
        target = Target(claim.op, (None, (first,))[number % 2])
        _sign(coord, Release, targets=(target,), reason="", to=Agent(to))


def land(coord: Coord, number: int) -> None:
    """Let an own claim wait for a branch."""
    claim = _picked(coord.known.state.held_by(coord.me.agent), number)
    if claim is not None:
        landed = Landed("topic", Oid("c" * 40), (), "main")
        _sign(coord, Release, targets=(Target(claim.op, None),), reason="", landed=landed)


def settle(coord: Coord, number: int) -> None:
    """Say that a branch has what a claim waits for; it may be that none does."""
    waits = [claim.op for claim in coord.known.state.claims.values() if claim.settling or number == 0]
    _sign(coord, Settle, claims=(_picked(waits, number) or UNKNOWN,), commit=Oid("d" * 40))


def block(coord: Coord, number: int) -> None:
    """Block a task."""
    _sign(coord, BlockTasks, tasks=(TASKS[number % len(TASKS)],), reason="")


def unblock(coord: Coord, number: int) -> None:
    """Lift a block; it may be that there is none."""
    _sign(coord, Unblock, blocks=(_picked(list(coord.known.state.blocks), number) or UNKNOWN,), reason="")


NUMBERED: dict[str, Callable[[Coord, int], None]] = {
    "land": land,
    "settle": settle,
    "block": block,
    "unblock": unblock,
}


def _foreign(coord: Coord) -> list[LiveClaim]:
    return [claim for claim in coord.known.state.claims.values() if claim.holder != coord.me.agent]


def _picked(among: Sequence[T], number: int) -> T | None:
    return among[number % len(among)] if among else None


def _sign(coord: Coord, cls: type[Operation], **fields: Any) -> None:
    def make(seq: int) -> Operation:
        return operation(coord, cls, seq, **fields)

    outcome = submit(coord, make).outcome
    what = outcome.reason.value if isinstance(outcome, Refused) else type(outcome).__name__.lower()
    COUNTS[f"signed {cls.KIND}: {what}"] += 1
