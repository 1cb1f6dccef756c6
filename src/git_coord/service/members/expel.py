"""Putting members out: agents by name, or whoever has or had a key; their past stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from git_coord.domain.ids import Agent, KeyText
from git_coord.domain.outcome import Done
from git_coord.domain.statements import Expel
from git_coord.errors import CoordError, Kind
from git_coord.service.claiming import refused
from git_coord.service.claims import Changed
from git_coord.service.context import Coord
from git_coord.service.operations import operation, policy_signer
from git_coord.service.place import submit


def expel(coord: Coord, agents: Sequence[Agent], reason: str) -> Changed:
    """End what these members hold, wait for and may sign, by one operation of a policy key.

    Raises CoordError: USAGE for who is no member, ERROR for who has a policy key, LOST without one here.
    """
    signer = policy_signer(coord)
    for agent in agents:
        _check(coord, agent)
    wanted = tuple(dict.fromkeys(agents))
    outcome = submit(coord, lambda seq: operation(coord, Expel, seq, agents=wanted, reason=reason), signer).outcome
    if not isinstance(outcome, Done):
        raise refused(outcome)
    return Changed(outcome.changes, is_confirmed=True, served=outcome.queueing.served)


def owners(coord: Coord, is_meant: Callable[[KeyText], bool]) -> list[Agent]:
    """Return the members that have or had the key that is meant: who stole it may have rotated it away since.

    Raises CoordError(USAGE) when it is nobody's.
    """
    state = coord.known.state
    found = [agent for agent in sorted(state.agents) if any(map(is_meant, state.keys_of(agent)))]
    if found:
        return found
    gone = next((agent for agent in state.expelled if any(map(is_meant, state.keys_of(agent)))), None)
    words = f"{gone}, which had this key, was put out already" if gone else "no member has or had this key"
    raise CoordError(Kind.USAGE, words, next="git coord policy")


def _check(coord: Coord, agent: Agent) -> None:
    state = coord.known.state
    if agent in state.expelled:
        raise CoordError(Kind.USAGE, f"{agent} was put out already", next="git coord status")
    if agent not in state.agents:
        raise CoordError(Kind.USAGE, f"{agent} has not joined", next="git coord status")
    if not state.keys_of(agent).isdisjoint(state.policy.admins):
        text = f"{agent}'s key is a policy key: that would go on to sign policies; take that from it first"
        raise CoordError(Kind.ERROR, text, next=f"git coord policy --remove-admin {agent}")
