"""Claims that were on their way when a commit was made: shown by the ledger alone, whatever a receipt says."""

from __future__ import annotations

from collections.abc import Callable

from git_coord.domain.holding import holds, is_open
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.state import State
from git_coord.domain.statements import Claim
from git_coord.lean import NamedTuple
from git_coord.service.context import Coord
from git_coord.service.evidence import states_at
from git_coord.service.history import placed

MAX_LATER = 256
"""Ledger commits after a receipt's head that are looked at: a claim is placed soon, or not at all."""


class Moment(NamedTuple):
    """The ledger at a commit after a receipt's head, and whether that placed a claim which was on its way."""

    state: State
    is_grant: bool


class Underway:
    """What agents had on their way at heads of the ledger; each head is looked at once."""

    def __init__(self, coord: Coord, chain: Callable[[], list[Oid]]) -> None:
        """Take where to look; nothing is read yet."""
        self._coord = coord
        self._chain = chain
        self._moments: dict[tuple[Oid, Agent], list[Moment]] = {}

    def granted(self, head: Oid, agent: Agent, path: str) -> bool:
        """Tell whether an agent that saw the ledger at `head` was then granted a claim made with no newer picture.

        And nobody else had the path meanwhile. So a commit between an automatic claim and the answer to it counts as
        made under it; who claims after having seen more than the commit did has no such right.
        """
        key = head, agent
        if key not in self._moments:
            self._moments[key] = self._after(head, agent)
        for state, is_grant in self._moments[key]:
            if not is_open(state, agent, path):
                return False
            if is_grant and holds(state, agent, path):
                return True
        return False

    def _after(self, head: Oid, agent: Agent) -> list[Moment]:
        """Return what came after a head, up to the last of the agent's claims that had seen nothing newer."""
        chain = self._chain()
        places = {oid: place for place, oid in enumerate(chain)}
        if head not in places:
            return []
        later = chain[places[head] + 1 : places[head] + 1 + MAX_LATER]
        begun = {
            oid
            for oid, op, _ in placed(self._coord, later)
            if op["kind"] == Claim.KIND and op["agent"] == agent and places.get(op["head"], 0) <= places[head]
        }
        last = max((later.index(oid) for oid in begun), default=-1)
        states = states_at(self._coord, later[: last + 1], lambda: chain) if begun else {}
        return [Moment(states[oid], oid in begun) for oid in later[: last + 1]]
