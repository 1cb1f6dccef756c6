"""Heartbeats and posts that newer ones replaced: listed as it happens, and cleared away when there are many.

Each is three loose objects in every clone that saw it, which git itself would keep for two weeks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import parse_tree

from .context import Coord

FILE = "superseded"
"""Ids of replaced commits, one a line."""
REST = "superseded.rest"
"""Until when nothing is cleared away, because finding out what may be took long: seconds since the epoch."""
MANY = 100
"""Replaced commits that may lie about."""
MIN_AGE = 600
"""Seconds for which a replaced commit stays: a push that names it may be under way."""
SHARE = 100
"""Clearing away takes at most one part in this many of the time."""
NAMES = ("presence", "posts")

Discard = Callable[[Collection[Oid], int], Collection[Oid]]
"""Removes those of some objects that nothing refers to and that are older than a number of seconds; returns which."""


def note_superseded(coord: Coord, commits: Collection[Oid]) -> None:
    """Remember commits that no ref of ours names any more."""
    if commits:
        coord.files.append(FILE, "".join(f"{oid}\n" for oid in sorted(commits)).encode("ascii"))


def has_many(coord: Coord) -> bool:
    """Tell whether it is time to clear away, from the list's size alone."""
    data = coord.files.read(FILE)
    if data is None or data.count(b"\n") <= MANY:
        return False
    rest = (coord.files.read(REST) or b"").strip()
    return not rest.isdigit() or coord.clock.now() >= int(rest)


def clear_away(coord: Coord, discard: Discard) -> int:
    """Remove what was superseded and nothing refers to; return how many objects went."""
    began = coord.clock.monotonic()
    listed = list(dict.fromkeys(coord.files.take(FILE).decode("ascii", "replace").split()))
    parts = {Oid(commit): objects for commit in listed if (objects := _parts(coord, Oid(commit)))}
    gone = set(discard({oid for objects in parts.values() for oid in objects}, MIN_AGE))
    note_superseded(coord, [commit for commit in parts if commit not in gone])
    seconds = coord.clock.monotonic() - began
    coord.files.write(REST, b"%d\n" % (coord.clock.now() + int(SHARE * seconds)))
    return len(gone)


def _parts(coord: Coord, commit: Oid) -> tuple[Oid, ...]:
    """Return commit, tree and record; nothing for what is gone, or was never made by a program like this one.

    A ref of ours may point at anything: what somebody else made of it is left to git.
    """
    found, tree = coord.store.read([commit, f"{commit}:"])
    if found is None or tree is None or b"\nparent " in found.data.partition(b"\n\n")[0]:
        return ()
    rows = parse_tree(tree.data, coord.store.algorithm)
    if len(rows) != 1 or rows[0][1] not in NAMES:
        return ()
    return commit, tree.oid, rows[0][2]
