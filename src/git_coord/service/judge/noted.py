"""What the hooks of this clone noted of commits and nobody has signed yet, as evidence for this clone alone."""

from __future__ import annotations

from git_coord.domain.evidence import Attested
from git_coord.domain.ids import Agent
from git_coord.domain.receipts import Noted, parse_line
from git_coord.service.commits import UserHistory
from git_coord.service.context import Coord
from git_coord.service.receipt_entries import entries_of
from git_coord.service.receipts import waiting

LAST = 2**53
"""After every receipt: what is not signed yet is the newest."""


def noted(coord: Coord, history: UserHistory) -> list[Attested]:
    """Return the entries that receipts will have; CI sees them once their agents have signed and pushed them."""
    by_agent: dict[Agent, list[Noted]] = {}
    for name in waiting(coord):
        for line in (coord.files.read(name) or b"").split(b"\n"):
            parsed = parse_line(line)
            if parsed is not None and parsed.agent is not None:
                by_agent.setdefault(parsed.agent, []).append(parsed)
    return [
        Attested(agent, made.entry, made.state, (LAST, index))
        for agent, lines in by_agent.items()
        for index, made in enumerate(entries_of(coord, history, lines, agent))
    ]
