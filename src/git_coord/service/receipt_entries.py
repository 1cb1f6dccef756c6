"""What a receipt says of each commit: from the lines that the hooks leave to entries, before anything is signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from git_coord.domain.announcements import ReceiptEntry, TouchedPath
from git_coord.domain.commits import UserCommit
from git_coord.domain.holding import holds, is_open
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.receipts import Noted, made
from git_coord.domain.state import State
from git_coord.lean import NamedTuple

from .commits import UserHistory
from .context import Coord
from .evidence import states_at
from .lineage import lineage

MAX_FREE = 256
"""Free paths that one commit's entry lists; what is held is listed as far as a receipt can."""


class Made(NamedTuple):
    """An entry with the ledger as it stood at its head."""

    entry: ReceiptEntry
    state: State


def entries_of(coord: Coord, history: UserHistory, lines: Sequence[Noted], agent: Agent) -> list[Made]:
    """Return what is to be said of the commits that an agent's lines name and that are here.

    One that was made anew gives way to what replaced it, unless its agent held then what it did not hold any more.
    """
    gone = history.unreachable({line.old for line in lines if line.old})
    found = {one.entry.commit: one for one in _all(coord, history, lines, agent)}
    successors = {line.old: line.commit for line in lines if line.old is not None and line.old in gone}
    return [one for oid, one in found.items() if oid not in gone or _says_more(one, agent, successors, found)]


def _all(coord: Coord, history: UserHistory, lines: Sequence[Noted], agent: Agent) -> list[Made]:
    wanted, known = made(lines), coord.known
    states = states_at(coord, {head for head, _ in wanted.values()}, lambda: lineage(coord.store, known.oid, None))
    done = []
    for commit in history.named(list(wanted)):
        head, bypass = wanted[commit.oid]
        state = states.get(head)
        if state is not None:  # else a head that the ledger has lost: such a receipt would count as none
            done.append(Made(ReceiptEntry(commit.oid, head, bypass, touched(state, agent, commit)), state))
    return done


def touched(state: State, agent: Agent, commit: UserCommit) -> tuple[TouchedPath, ...]:
    """Return what a receipt lists of a commit: what its agent held, then what nobody did.

    A free path is listed because its author may claim it later, and a host then squashes both commits into one. Of a
    merge it lists the way from each parent.
    """
    held = [delta for delta in commit.changes if holds(state, agent, delta.path)]
    names = {delta.path for delta in held}
    free = [one for one in commit.changes if one.path not in names and is_open(state, agent, one.path)][:MAX_FREE]
    return tuple(TouchedPath(one.path, old, one.new) for one in (*held, *free) for old in dict.fromkeys(one.olds))


def _says_more(old: Made, agent: Agent, successors: Mapping[Oid, Oid], found: Mapping[Oid, Made]) -> bool:
    """Tell whether a commit that is gone was made while its agent held more than when it was made anew."""
    held = {one.path for one in old.entry.paths if holds(old.state, agent, one.path)}
    commit, seen = old.entry.commit, {old.entry.commit}
    while commit in successors and successors[commit] not in seen:
        commit = successors[commit]
        seen.add(commit)
    new = found.get(commit)
    return any(new is None or not holds(new.state, agent, path) for path in held)
