"""What the ledger placed lately, read back from its own commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from git_coord.domain.canonical import loads
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.layout import OPERATIONS
from git_coord.domain.merkle import parse_tree
from git_coord.domain.timestamps import parse_stamp
from git_coord.lean import NamedTuple

from .context import Coord
from .lineage import lineage


class Event(NamedTuple):
    """One placed operation: the commit, its own time (seconds since the epoch), its author, its line and its reason.

    The line is that of the commit's message, which has no free text; the reason is its author's own words.
    """

    commit: Oid
    at: int
    agent: Agent
    kind: str
    line: str
    reason: str | None = None


def recent(coord: Coord, count: int) -> list[Event]:
    """Return the newest operations of the verified ledger, the newest first."""
    events: list[Event] = []
    for oid, op, line in placed(coord, lineage(coord.store, coord.known.oid, None)[::-1][:count]):
        why = op.get("reason") or None
        events.append(Event(oid, parse_stamp(op["at"]), Agent(op["agent"]), op["kind"], line, why))
        if len(events) == count:
            break
    return events


def done_since(coord: Coord, since: Oid | None) -> list[dict[str, Any]]:
    """Return the statements placed after a ledger commit (None: ever) that were not refused, the newest first."""
    commits = lineage(coord.store, coord.known.oid, since)[::-1]
    return [op for _, op, line in placed(coord, commits) if not line.startswith(f"{op['agent']} is refused ")]


def placed(coord: Coord, commits: Sequence[Oid]) -> Iterator[tuple[Oid, dict[str, Any], str]]:
    """Yield commit, statement and line of what these commits placed, each one's last first."""
    contents = coord.store.read([spec for oid in commits for spec in (oid, f"{oid}:{OPERATIONS}")])
    for i, oid in enumerate(commits):
        commit, tree = contents[2 * i], contents[2 * i + 1]
        if commit is None or tree is None:
            return
        lines = commit.data.partition(b"\n\n")[2].decode("ascii", "replace").splitlines()
        blobs = coord.store.read([blob for _, _, blob in parse_tree(tree.data, coord.store.algorithm)])
        placed = [loads(blob.data.partition(b"\n")[0]) for blob in blobs if blob]
        yield from ((oid, op, line) for op, line in [*zip(placed, lines, strict=False)][::-1])
