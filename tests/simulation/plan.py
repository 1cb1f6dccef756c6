"""Who takes part, how short leases are, and what happens to whom."""

from __future__ import annotations

from typing import NamedTuple

NAMES = ("ada", "bob", "cyd", "dot", "eve", "fay", "gus", "hal")
LEAST_AGENTS = 5
SKEW = 2
"""Seconds by which the ledger's members may disagree on the time; 60 in a real one."""


class Mishap(NamedTuple):
    """What happens to an agent: "killed", "stopped" or "offline", in the middle of which step, after how many seconds.

    `away` is for how many seconds it is stopped or offline.
    """

    agent: str
    kind: str
    step: str
    after: float
    away: float = 0


class Plan(NamedTuple):
    """A run: how many seconds agents begin edits for, their names, and the lease of every claim in seconds."""

    seconds: int
    agents: tuple[str, ...]
    ttl: int

    @property
    def mishaps(self) -> tuple[Mishap, ...]:
        """Four of the agents have trouble, one after the other."""
        away = 2.5 * self.ttl + SKEW
        one, two, three, four = self.agents[1:LEAST_AGENTS]
        return (
            Mishap(one, "killed", "uncommitted", self.seconds * 0.05),
            Mishap(two, "stopped", "committed", self.seconds * 0.10, away),
            Mishap(three, "offline", "committed", self.seconds * 0.15, away),
            Mishap(four, "killed", "committed", self.seconds * 0.20),
        )


def plan(seconds: int, agents: int) -> Plan:
    """Return the plan of a run; leases are a sixth of it, and not below what a busy machine keeps alive."""
    if not LEAST_AGENTS <= agents <= len(NAMES):
        raise ValueError(f"{LEAST_AGENTS} to {len(NAMES)} agents")
    return Plan(seconds, NAMES[:agents], max(8, seconds // 6))
