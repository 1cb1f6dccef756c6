"""Which refs are this clone's own: those of agents that have written here. Others beside them mean nothing.

`git fetch origin '+refs/coord/*:refs/coord/*'` leaves copies of everybody's refs under the live names. They age, and to
push one would take its author's newer one away; so they are neither pushed nor read, and `doctor` names them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

from git_coord.domain.ids import Agent, Oid
from git_coord.service.context import Coord
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import Ref

FILE = "own"
"""The agents that have written refs in this clone, a line each; it is written before the first of them moves."""


def note_own(coord: Coord, updates: Iterable[RefUpdate]) -> None:
    """Write down whose live refs these are; where that cannot be written, only the acting agent's are known."""
    named = [(refnames.parse(update.ref), update.new) for update in updates]
    agents = {name.agent for name, new in named if name and name.agent and not name.fetched and new is not ABSENT}
    if not agents:
        return
    missing = sorted(agents - _written(coord))
    if missing:
        with contextlib.suppress(OSError):
            coord.files.append(FILE, "".join(f"{agent}\n" for agent in missing).encode("ascii"))


def own_agents(coord: Coord) -> set[Agent]:
    """Return the agents of this clone: those that have written here, and the acting one."""
    return _written(coord) | ({coord.identity.agent} if coord.identity else set())


def own_live(coord: Coord, *prefixes: str) -> dict[Ref, Oid]:
    """Return the live refs below these prefixes that are this clone's own."""
    return _sorted_out(coord, coord.store.refs(*prefixes), is_own=True)


def copies(coord: Coord) -> dict[Ref, Oid]:
    """Return the refs under live names that are copies of others', which something but us has put there."""
    live = coord.store.refs(refnames.LIVE, *(refnames.prefix(family) for family in refnames.Family))
    return _sorted_out(coord, live, is_own=False)


def _sorted_out(coord: Coord, refs: Mapping[Ref, Oid], *, is_own: bool) -> dict[Ref, Oid]:
    if not refs:
        return {}
    agents = own_agents(coord)
    named = ((ref, oid, refnames.parse(ref)) for ref, oid in refs.items())
    return {ref: oid for ref, oid, name in named if name and name.agent and (name.agent in agents) is is_own}


def _written(coord: Coord) -> set[Agent]:
    return {Agent(line) for line in (coord.files.read(FILE) or b"").decode("ascii", "replace").split()}
