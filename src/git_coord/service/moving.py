"""Objects written and refs moved in one go: what was pruned in between is written again, a lock that stays is said."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.merkle import GitObject
from git_coord.errors import CoordError, Kind
from git_coord.store.interface import RefUpdate, Swap

from .context import Coord
from .exchange.own_refs import note_own
from .recent import remember

TRIES = 3
"""Of a store that itself waits for a lock as long as a live git may hold one."""


def move(
    coord: Coord, objects: Sequence[GitObject], updates: Sequence[RefUpdate], reason: str, *, are_stored: bool = False
) -> bool:
    """Write the objects and swap the refs; False when another was first: read again, then decide anew.

    Objects that `are_stored` are written only should they be missing.
    Raises CoordError(ERROR) when a lock stays (somebody was killed while holding it: that is never "held by another"),
    or when the objects vanish as fast as they are written.
    """
    note_own(coord, updates)
    pruned: CoordError | None = None
    for _ in range(TRIES):
        if not are_stored:
            store(coord, objects)
        are_stored = True
        try:
            result = coord.store.swap(updates, reason)
        except CoordError as trouble:
            if "missing" not in trouble.data:
                raise
            pruned, are_stored = trouble, False
            continue
        if result is Swap.MOVED:
            remember(coord, objects)
        if result is not Swap.LOCKED:
            return result is Swap.MOVED
    raise pruned or locked(updates)


def store(coord: Coord, objects: Sequence[GitObject]) -> None:
    """Write the objects, with a step before and after; raises CoordError(ERROR) when the disk refuses."""
    coord.reach("before write")
    try:
        coord.store.write(objects)
    except CoordError:
        coord.store.write(objects)  # a prune removes folders that are empty, also from under a writer
    coord.reach("after write")


def locked(updates: Sequence[RefUpdate]) -> CoordError:
    """Return the error for refs whose lock stays."""
    refs = [update.ref for update in updates]
    return CoordError(
        Kind.ERROR,
        f"{' or '.join(refs)} stays locked: another git is at work on it, or was killed there",
        next="git coord doctor",
        data={"locked": refs},
    )
