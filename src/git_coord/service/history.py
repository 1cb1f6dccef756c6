"""What the ledger placed lately, read back from its own commits."""

from __future__ import annotations

from dataclasses import dataclass

from git_coord.domain.canonical import loads
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.layout import OPERATIONS
from git_coord.domain.merkle import parse_tree
from git_coord.domain.timestamps import parse_stamp

from .context import Coord


@dataclass(frozen=True, slots=True)
class Event:
    """One placed operation: the commit, its own time (seconds since the epoch), its author and its line."""

    commit: Oid
    at: int
    agent: Agent
    kind: str
    line: str


def recent(coord: Coord, count: int) -> list[Event]:
    """Return the newest operations of the verified ledger, the newest first."""
    commits = coord.store.history(coord.known.oid, None)[::-1][:count]
    contents = coord.store.read([spec for oid in commits for spec in (oid, f"{oid}:{OPERATIONS}")])
    width = 20 if coord.store.algorithm == "sha1" else 32
    events: list[Event] = []
    for i, oid in enumerate(commits):
        commit, tree = contents[2 * i], contents[2 * i + 1]
        if commit is None or tree is None or len(events) >= count:
            break
        lines = commit.data.partition(b"\n\n")[2].decode("ascii", "replace").splitlines()
        blobs = coord.store.read([blob for _, _, blob in parse_tree(tree.data, width)])
        placed = [loads(blob.data.partition(b"\n")[0]) for blob in blobs if blob]
        rows = zip(placed, lines, strict=False)
        events += [Event(oid, parse_stamp(op["at"]), Agent(op["agent"]), op["kind"], line) for op, line in rows][::-1]
    return events[:count]
