"""A ledger that the remote lost: put there again by who can sign, and what others had beyond it is placed again.

What this clone has verified leaves it only when the remote has it: the lost part stays under the local refs until the
push that replays it has landed, so a kill between any two steps forgets nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from git_coord.crypto.keys import Signer
from git_coord.domain import chain
from git_coord.domain.chain import Extension, Head, OpId, Placed, Sealed
from git_coord.domain.ids import Oid
from git_coord.domain.outcome import Refused
from git_coord.domain.placing import MAX_PLACED, fault
from git_coord.domain.restoring import is_on_hold
from git_coord.domain.statements import (
    MAX_ITEMS,
    MAX_LOST,
    Checkpoint,
    Join,
    LostCommit,
    Operation,
    Replay,
    ReplayedOp,
    Restore,
    Rotate,
)
from git_coord.errors import CoordError, Kind
from git_coord.service.adopt import Walk, load_head, operations_by_commit, walk
from git_coord.service.context import Coord
from git_coord.service.ledger import BesideError, advance, place_locally, untrusted
from git_coord.service.lineage import lineage, shared
from git_coord.service.moving import store
from git_coord.service.operations import operation
from git_coord.service.records import seal_operation
from git_coord.service.requests import withdraw
from git_coord.store.interface import ABSENT, PushStatus, RefUpdate
from git_coord.store.refnames import LEDGER

from .lost_part import note_lost_part
from .refusal import is_final, words_of
from .restored import tell, tell_replayed
from .undone import give_up_granted

MACHINERY = (Restore, Replay, Checkpoint)
"""Kinds that are of the chain that placed them: another one has its own."""

Rows = Sequence[tuple[Oid, Sequence[Sealed]]]
"""Lost commits in order, each with what of it is to be placed again."""


def put_back(coord: Coord, tip: Oid | None) -> bool:
    """Push this clone's ledger with a `restore` on top where the remote has none, or an older one: both or neither.

    False when the remote moved meanwhile. Raises CoordError(UNKNOWN) when this clone cannot sign, or the host refuses:
    nobody here can tell what is free then.
    """
    signer = _signer(coord)
    if signer is None:
        raise lacking(coord, "only who has joined can put it back")
    op = operation(coord, Restore, coord.known.state.agents[coord.me.agent].seq + 1, found=tip)
    made = chain.extend(coord.known, [seal_operation(op, signer)], coord.store.algorithm)
    assert made is not None, "a restore on one's own head can be placed"
    if not _push(coord, [made], tip):
        return False
    place_locally(coord, made)
    tell(coord, tip)
    return True


def lacking(coord: Coord, why: str) -> CoordError:
    """Return the error for a remote that lacks what this clone knows: nothing there can be called free."""
    assert coord.remote is not None
    # A sync of who cannot sign would end with these very words.
    step = "git coord sync" if _signer(coord) is not None else "git coord status --local"
    return CoordError(
        Kind.UNKNOWN,
        f"{coord.remote.name} lacks a part of the ledger that this clone knows ({why}): what is free cannot be told",
        next=step,
        data={"remote": coord.remote.name, "kept": coord.known.oid, "why": why},
    )


def merge(coord: Coord, tip: Oid, live: Oid | None, seen: Oid | None) -> bool:
    """Take over a verified chain that branches off this clone's, with what this one has beyond it placed again.

    False when somebody else was first, here or there. Raises CoordError(UNTRUSTED) for a chain that does not verify or
    has nothing in common with this one, CoordError(UNKNOWN) when its own part can be placed by others only.
    """
    ours, theirs = lineage(coord.store, coord.known.oid, None), lineage(coord.store, tip, None)
    common = shared(ours, theirs)
    if not common:
        raise BesideError(coord, tip)
    base = load_head(coord.store, ours[common - 1])
    there = walk(coord, base, theirs[common:])
    if there.fault is not None or there.head is None:
        raise untrusted(there)
    here = walk(coord, base, ours[common:])
    refused = [each.sealed for each in here.placed.values() if isinstance(each.outcome, Refused)]
    rows = missing(coord, ours[common:], there.placed, {sealed.id for sealed in refused})
    _forget(coord, refused)
    replay = Replaying(coord, there.head) if rows else None
    if replay is not None and not _replayed(coord, replay, rows, there, tip):
        return False
    end = replay.head if replay else there.head
    placed = there.placed | (replay.placed if replay else {})
    note_lost_part(coord, here, placed, end)
    if not advance(coord, Walk(end, placed, there.commits, None), live or ABSENT, seen):
        return False
    give_up_granted(coord, refused, end.state)
    if replay is not None and replay.made:
        assert here.head is not None
        tell_replayed(coord, here.head.state, len(replay.again))
    return True


def _replayed(coord: Coord, replay: Replaying, rows: Rows, there: Walk, tip: Oid) -> bool:
    """Push what is placed again; who cannot waits out the hold for others to do it, and then goes on without."""
    signer = _signer(coord, replay.head)
    why = "only who has joined can place it again"
    if signer is not None:
        if not any(isinstance(each.sealed.op, Restore) for each in there.placed.values()):
            replay.begin_hold(tip, signer)
        replay.place(rows, signer)
        try:
            return _push(coord, replay.made, tip)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN or "kept" not in trouble.data:
                raise
            why = str(trouble.data["why"])
    replay.undo()
    if is_on_hold(replay.head.state, coord.clock.now()):
        raise lacking(coord, why)
    count = sum(len(operations) for _, operations in rows)
    if count:
        several = "s" * (count > 1)
        coord.notice(f"{count} operation{several} that this clone knew, not in the ledger any more: {why}")
    return True


def _forget(coord: Coord, refused: Sequence[Sealed]) -> None:
    """Let nothing be asked again for which its author was told no, though the other chain knows nothing of that."""
    coord.given_up.update(sealed.id for sealed in refused)
    if coord.identity is not None and coord.signer is not None:
        for sealed in refused:
            if sealed.op.agent == coord.me.agent:
                withdraw(coord, sealed)


def missing(coord: Coord, lost: Sequence[Oid], placed: Mapping[OpId, Placed], refused: Collection[OpId] = ()) -> Rows:
    """Return the lost commits that the other chain does not know of, with what each placed that it does not have.

    Not what was refused there: its author has heard so, and would come to hold something without knowing.
    """
    replays = (each.sealed.op for each in placed.values() if isinstance(each.sealed.op, Replay))
    listed = {row.commit for op in replays for row in op.lost}
    rows = [
        (commit, [s for s in found if not (s.id in placed or s.id in refused or isinstance(s.op, MACHINERY))])
        for commit, found in operations_by_commit(coord, lost)
    ]
    return [(commit, found) for commit, found in rows if found or commit not in listed]


def _signer(coord: Coord, head: Head | None = None) -> Signer | None:
    """Return the acting agent's signer when its operations can be placed on the present head, or one to be made."""
    if coord.identity is None or coord.signer is None:
        return None
    member = coord.known.state.agents.get(coord.me.agent)
    if member is None and head is not None:
        member = head.state.agents.get(coord.me.agent)
    return coord.signer if member is not None and member.key == coord.signer.key else None


@dataclass(slots=True)
class Replaying:
    """What is placed again on the end of a chain, commit by commit."""

    coord: Coord
    base: Head
    made: list[Extension] = field(default_factory=list)

    @property
    def head(self) -> Head:
        """The end so far."""
        return self.made[-1].head if self.made else self.base

    @property
    def placed(self) -> dict[OpId, Placed]:
        """What was placed so far, with what became of it."""
        return {entry.sealed.id: entry for made in self.made for entry in made.placed}

    @property
    def again(self) -> list[Placed]:
        """What of it had been placed before."""
        return [entry for entry in self.placed.values() if not isinstance(entry.sealed.op, MACHINERY)]

    def undo(self) -> None:
        """Place nothing after all."""
        self.made.clear()

    def begin_hold(self, tip: Oid, signer: Signer) -> None:
        """Say that a part was lost, where the chain does not say so: somebody else may be further ahead still."""
        made = self._made(Restore, signer, found=tip)
        if made is not None:
            self.made.append(made)

    def place(self, rows: Rows, signer: Signer | None) -> None:
        """Place lists of what follows, and what follows, in its order: a commit for each run of one agent's."""
        for part in _parts(rows):
            if signer is not None:
                self._say(part, signer)
            for _, operations in part:
                for _, run in groupby(operations, key=lambda sealed: sealed.op.agent):
                    self._run(list(run))

    def _say(self, part: Rows, signer: Signer) -> None:
        """Place the list, which its author may first have to join (again) for, or take its newer key."""
        made = self._list(part, signer)
        if made is None:
            own = [s for _, found in part for s in found if s.op.agent == self.coord.me.agent]
            last = max((i for i, s in enumerate(own) if isinstance(s.op, Join | Rotate)), default=-1)
            self._run(own[: last + 1])
            made = self._list(part, signer)
        if made is not None:
            self.made.append(made)

    def _list(self, part: Rows, signer: Signer) -> Extension | None:
        placed = self.placed
        lost = tuple(
            LostCommit(commit, tuple(ReplayedOp(s.op.agent, s.op.nonce) for s in found if s.id not in placed))
            for commit, found in part
        )
        return self._made(Replay, signer, lost=lost, token=self.coord.known.state.counters.token)

    def _made(self, cls: type[Operation], signer: Signer, **fields: object) -> Extension | None:
        """Return the commit that places such an operation on the end so far, None when it may not be placed there."""
        member = self.head.state.agents.get(self.coord.me.agent)
        op = replace(operation(self.coord, cls, member.seq + 1 if member else 1, **fields), head=self.head.oid)
        if fault(self.head.state, op, signer.key):
            return None
        return chain.extend(self.head, [seal_operation(op, signer)], self.coord.store.algorithm)

    def _run(self, operations: list[Sealed]) -> None:
        """Place one agent's operations; what cannot be placed keeps none of those after it back."""
        left = [sealed for sealed in operations if sealed.id not in self.placed]
        while left:
            made = chain.extend(self.head, left, self.coord.store.algorithm)
            if made is not None:
                self.made.append(made)
                done = {entry.sealed.id for entry in made.placed}
                left = [sealed for sealed in left if sealed.id not in done]
                if len(made.placed) == MAX_PLACED:
                    continue
            left = left[1:]


def _parts(rows: Rows) -> Iterator[Rows]:
    """Yield as many lost commits at a time as one replay can list."""
    part: list[tuple[Oid, Sequence[Sealed]]] = []
    for row in rows:
        if len(part) == MAX_LOST or sum(len(found) for _, found in part) + len(row[1]) > MAX_ITEMS:
            yield part
            part = []
        part.append(row)
    if part:
        yield part


def _push(coord: Coord, made: Sequence[Extension], tip: Oid | None) -> bool:
    """Push the ledger from exactly what was found there; False when it has moved since.

    Raises CoordError(UNKNOWN) without an answer, or when the host does not take it.
    """
    assert coord.remote is not None
    store(coord, [each for extension in made for each in extension.objects])
    update = RefUpdate(LEDGER, made[-1].head.oid, ABSENT if tip is None else tip)
    coord.reach("before push")
    result = coord.remote.push([update])[0]
    coord.reach("after push")
    if is_final(result):
        raise lacking(coord, f"it refuses our refs: {words_of(result)}")
    return result.status is not PushStatus.REJECTED
