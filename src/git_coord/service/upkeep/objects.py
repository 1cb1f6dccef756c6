"""Refs of ours whose objects are gone for good: each is made whole as far as anything still says what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import parse_tree
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Coord
from git_coord.service.recent import mend, restore
from git_coord.service.remote_ledger import ROSTER_FAMILIES, fetch_and_adopt
from git_coord.service.requests import flat_commit
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import BEFORE, LEDGER, SEEN, Family, Ref

Broken = Callable[[], Mapping[Ref, Oid]]
"""Returns the refs of ours that need an object which is not there."""
_LEDGERS = (LEDGER, SEEN, BEFORE)


def heal(coord: Coord, broken: Broken) -> list[str]:
    """Make every ref of ours whole again, or let it go; return a line for each thing done, and for what was lost.

    Raises CoordError(ERROR) for a ledger that nobody has any more, CoordError(UNKNOWN) when the remote must be asked
    and does not answer.
    """
    lines = ["wrote again what was stored in the last minute"] if restore(coord) else []
    if broken() and mend(coord):
        lines.append("fetched again what the remote has")
    left = broken()
    for ref, oid in left.items():
        if ref not in _LEDGERS:
            lines.append(_let_go(coord, ref, oid, left))
    if left.keys() & set(_LEDGERS):
        lines.append(_take_ledger_anew(coord, left))
    return lines


def _let_go(coord: Coord, ref: Ref, oid: Oid, left: Mapping[Ref, Oid]) -> str:
    """Put what is left of a ref in its place: of requests what can be read, of a list of posts what was sent."""
    name = refnames.parse(ref)
    if name is not None and name.family is Family.REQUESTS and not name.fetched:
        return _keep_readable(coord, ref, oid)
    copy = coord.store.refs(there := refnames.fetched(ref)).get(there)
    if refnames.is_fetched(ref) or copy is None or there in left:
        coord.store.swap([RefUpdate(ref, ABSENT, oid)], "missing objects")
        return f"{ref}: removed, its objects are gone"
    coord.store.swap([RefUpdate(ref, copy, oid)], "missing objects")
    return f"{ref}: set to what was last sent; what came after that is lost"


def _keep_readable(coord: Coord, ref: Ref, oid: Oid) -> str:
    tree = coord.store.read([f"{oid}:"])[0]
    rows = parse_tree(tree.data, coord.store.algorithm) if tree is not None else []
    there = coord.store.read([blob for _, _, blob in rows], 0)
    names = {name: blob for (_, name, blob), found in zip(rows, there, strict=True) if found is not None}
    if not names:
        coord.store.swap([RefUpdate(ref, ABSENT, oid)], "missing objects")
        return f"{ref}: removed; operations of this agent that were not sent are lost"
    commit, objects = flat_commit(coord, names, coord.clock.now())
    coord.store.write(objects)
    coord.store.swap([RefUpdate(ref, commit, oid)], "missing objects")
    return f"{ref}: {len(names)} of {len(rows)} operations kept; the others were not sent, and are lost"


def _take_ledger_anew(coord: Coord, left: Mapping[Ref, Oid]) -> str:
    """Go over to the remote's ledger, checked as a new clone checks it: this one's memory is what is gone."""
    if coord.remote is None:
        text = "objects of the ledger are gone, and there is no remote that has them: put .git/objects back from a copy"
        raise CoordError(Kind.ERROR, text, data={"refs": sorted(left)})
    coord.remote.fetch(ROSTER_FAMILIES)
    if refnames.FETCHED_LEDGER not in coord.store.refs(refnames.FETCHED_LEDGER):
        text = f"objects of the ledger are gone, and {coord.remote.name} has no ledger: another clone puts it there"
        step = "git coord sync   (in a clone that has it)"
        raise CoordError(Kind.ERROR, text, next=step, data={"refs": sorted(left)})
    now = coord.store.refs(*_LEDGERS)
    coord.store.swap([RefUpdate(ref, ABSENT, oid) for ref, oid in now.items()], "missing objects")
    coord.head = None
    fetch_and_adopt(coord, ROSTER_FAMILIES)
    return f"the ledger was taken anew from {coord.remote.name}, up to {coord.known.oid[:10]}"
