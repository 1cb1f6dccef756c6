"""`doctor --repair-ledger`: keep the remote's chain to its last good commit, replay ours beyond it, report the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from git_coord.domain.chain import Sealed
from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.store.interface import ABSENT, PushStatus, RefUpdate
from git_coord.store.refnames import LEDGER, SEEN

from .adopt import load_head, operations_of, walk
from .context import Coord
from .exchange.restore import Replaying, missing
from .ledger import fetched_ledger, open_ledger
from .lineage import is_continued_by, lineage, shared
from .moving import move
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt, remote_of


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair kept, replayed, lost and dropped; `void` is what a policy should list."""

    head: Oid
    fault: str | None
    replayed: tuple[Sealed, ...]
    lost: tuple[Sealed, ...]
    void: tuple[Oid, ...]


def repair(coord: Coord) -> Repaired | None:
    """Bring this clone and the remote back to one good ledger; None when there is nothing to repair.

    0. A live ref that somebody set to something bad goes back to the last good commit. 1. The remote's chain is
    verified from its root; what follows its last good commit is dropped. A chain that verifies was taken over by the
    fetch. 2. When that good part is a prefix of
    ours, ours is kept whole. 3. Else our operations beyond the common part that it does not have are placed again on
    the remote's good end, as far as they can be. Raises CoordError(UNKNOWN) when the remote moves meanwhile or refuses,
    CoordError(UNTRUSTED) when it has another ledger, of another root.
    """
    mended = _mend_here(coord)
    open_ledger(coord)
    if coord.head is None:
        raise CoordError(Kind.ERROR, "there is no ledger here to repair", next="git coord init")
    if coord.remote is None:
        return mended
    try:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNTRUSTED:
            raise
    tip = fetched_ledger(coord)
    if tip is None or tip == coord.head.oid:
        return mended
    theirs = _chain(coord, tip)
    ours = lineage(coord.store, coord.head.oid, None)
    good = walk(coord, None, theirs)
    wrong = good.fault.reason if good.fault else None if theirs else "what is there is no chain of commits"
    common = shared(ours, good.commits)
    if good.commits and not common:
        raise _another(coord, tip)
    if good.fault is None and common == len(ours):
        return mended
    dropped = [oid for oid in theirs if oid not in good.commits]
    if common == len(good.commits):
        return _settle(coord, tip, Replaying(coord, coord.head), (), wrong, dropped)
    rows = missing(coord, ours[common:], good.placed)
    assert good.head is not None
    replay = Replaying(coord, good.head)
    replay.place(rows, coord.signer if coord.identity else None)
    mine = [sealed for _, found in rows for sealed in found]
    return _settle(coord, tip, replay, mine, wrong, [*dropped, *ours[common:]])


def _mend_here(coord: Coord) -> Repaired | None:
    """Put this clone's live ref back to the last good commit, when what it points at cannot be adopted."""
    values = coord.store.refs(LEDGER, SEEN)
    live, seen = values.get(LEDGER), values.get(SEEN)
    if live is None or seen is None or live in lineage(coord.store, seen, None):
        return None
    coord.head = load_head(coord.store, seen)
    beyond = _beyond(coord, live, seen)
    good = walk(coord, coord.head, beyond) if beyond and is_continued_by(coord.store, seen, beyond[0]) else None
    if good is not None and good.fault is None:
        return None
    end = good.head.oid if good and good.head else seen
    move(coord, (), [RefUpdate(LEDGER, end, live), RefUpdate(SEEN, end, seen)], "repair")
    dropped = beyond[len(good.commits) :] if good else beyond
    reason = good.fault.reason if good and good.fault else f"the live ledger did not contain {seen[:10]}"
    return Repaired(end, reason, (), tuple(operations_of(coord, dropped)), tuple(dropped))


def _beyond(coord: Coord, live: Oid, seen: Oid) -> list[Oid]:
    """Return the commits of the live chain that this clone never verified; none when it is no chain at all."""
    try:
        chain_ids = lineage(coord.store, live, seen)
    except CoordError:
        return []
    known = set(lineage(coord.store, seen, None))
    return [oid for oid in chain_ids if oid not in known]


def _chain(coord: Coord, tip: Oid) -> list[Oid]:
    """Return the remote's chain from its root; nothing when the ref holds something else."""
    try:
        return lineage(coord.store, tip, None)
    except CoordError:
        return []


def _another(coord: Coord, tip: Oid) -> CoordError:
    """Return the error for a ledger with another root: neither ours to overwrite nor to take over."""
    name, ref = remote_of(coord).name, LEDGER
    return CoordError(
        Kind.UNTRUSTED,
        f"{name} has another ledger, with nothing of this clone's in it; pushing ours over it is for people to decide",
        next=f"git push {name} --force-with-lease={ref}:{tip} {ref}",
        data={"commit": tip, "kept": coord.known.oid},
    )


def _settle(
    coord: Coord, tip: Oid, replay: Replaying, mine: Sequence[Sealed], fault: str | None, dropped: list[Oid]
) -> Repaired:
    end = replay.head
    coord.store.write([each for made in replay.made for each in made.objects])
    if end.oid != tip:
        result = remote_of(coord).push([RefUpdate(LEDGER, end.oid, tip)])[0]
        if result.status is PushStatus.REJECTED:
            raise CoordError(
                Kind.UNKNOWN,
                f"{remote_of(coord).name} did not take the repaired ledger: {result.reason}",
                next="git coord doctor --repair-ledger",
            )
    values = coord.store.refs(LEDGER, SEEN)
    updates = [RefUpdate(ref, end.oid, values.get(ref, ABSENT)) for ref in (LEDGER, SEEN)]
    coord.store.swap(updates, "repair")
    coord.head = load_head(coord.store, end.oid)
    lost = tuple(sealed for sealed in mine if sealed.id not in replay.placed)
    return Repaired(end.oid, fault, tuple(entry.sealed for entry in replay.again), lost, tuple(dropped))
