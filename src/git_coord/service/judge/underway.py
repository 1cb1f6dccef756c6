"""Claims that were on their way when a commit was made: shown by the ledger alone, whatever a receipt says."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.holding import holds, is_open
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.statements import Claim
from git_coord.service.context import Coord
from git_coord.service.evidence import states_at
from git_coord.service.history import placed

MAX_LATER = 256
"""Ledger commits after a receipt's head that are looked at: a claim is placed soon, or not at all."""


def granted_later(coord: Coord, chain: Sequence[Oid], head: Oid, agent: Agent, path: str) -> bool:
    """Tell whether an agent that saw the ledger at `head` was then granted a claim made with no newer picture.

    And nobody else had the path meanwhile. So a commit between an automatic claim and the answer to it counts as made
    under it; who claims after having seen more than the commit did has no such right.
    """
    places = {oid: place for place, oid in enumerate(chain)}
    if head not in places:
        return False
    later = chain[places[head] + 1 : places[head] + 1 + MAX_LATER]
    begun = {
        oid
        for oid, op, _ in placed(coord, later)
        if op["kind"] == Claim.KIND and op["agent"] == agent and places.get(op["head"], 0) <= places[head]
    }
    if not begun:
        return False
    states = states_at(coord, later, lambda: list(chain))
    for oid in later:
        if oid not in states or not is_open(states[oid], agent, path):
            return False
        if oid in begun and holds(states[oid], agent, path):
            return True
    return False
