"""The state of the second implementation, on plain JSON, and what one item does to another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from .oracle import Space, Thing, folded, thing_of

Statement = dict[str, Any]
Items = list[tuple[Thing, str]]


def seconds(stamp: str) -> int:
    """Return the moment of a time stamp."""
    return int(datetime.fromisoformat(stamp).timestamp())


def items_of(op: Statement) -> Items:
    """Return things and intents of what a claim or takeover asks for."""
    return [(thing_of(item), item["intent"]) for item in op["items"]]


class RefusedError(Exception):
    """An operation is refused, for this reason."""


@dataclass
class Held:
    """A live claim: what is left of it, by position; `at` is when it was granted or renewed last."""

    token: int
    holder: str
    ttl: int
    live: dict[int, tuple[Thing, str]]
    size: int
    at: int
    stamps: list[Statement]
    unattended: bool = False
    settling: bool = False

    @property
    def certain_end(self) -> int:
        """When the lease is over by the ledger alone."""
        return self.at + (min(self.ttl, 120) if self.unattended else self.ttl)


@dataclass
class Waiter:
    """A claim in the queue."""

    queue: int
    op: Statement

    @property
    def agent(self) -> str:
        return str(self.op["agent"])

    @property
    def items(self) -> Items:
        return items_of(self.op)

    @property
    def at(self) -> int:
        return seconds(self.op["at"])


@dataclass
class State:
    """Everything that operations change; claims are in the order of tokens, waiters in that of their numbers."""

    space: Space
    policy: Statement = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    expelled: dict[str, list[str]] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    claims: dict[str, Held] = field(default_factory=dict)
    waiting: dict[str, Waiter] = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=dict)
    ops: int = 0
    token: int = 0
    queue: int = 0
    at: int = 0
    epoch: int = 0
    restored: int | None = None
    """When the ledger was restored last."""
    listed: frozenset[tuple[str, str]] = frozenset()
    """What replays say was in the lost part."""
    now: int = 0
    """What a hold is compared with: the later date of this operation and the one before it."""
    why: str = ""
    """The reason of the last operation, if that was refused."""

    def copy(self) -> Self:
        """Return a state that can be moved without moving this one."""
        claims = {nonce: replace(held, live=dict(held.live)) for nonce, held in self.claims.items()}
        keys = {agent: list(keys) for agent, keys in self.keys.items()}
        seqs, sessions, waiting, blocks = map(dict, (self.seqs, self.sessions, self.waiting, self.blocks))
        more = {
            "expelled": dict(self.expelled),
            "seqs": seqs,
            "sessions": sessions,
            "waiting": waiting,
            "blocks": blocks,
        }
        return replace(self, keys=keys, claims=claims, **more)  # type: ignore[arg-type]

    @property
    def is_on_hold(self) -> bool:
        """Whether nothing is granted but what is listed."""
        return self.restored is not None and self.now < self.restored + self.policy["restore_hold"]

    def is_listed(self, op: Statement) -> bool:
        """Tell whether an operation is said to have been in the lost part."""
        return (op["agent"], op["nonce"]) in self.listed

    def meets(self, one: tuple[Thing, str], two: tuple[Thing, str]) -> bool:
        """Tell whether two agents may not have both."""
        return "edit" in (one[1], two[1]) and self.space.overlap(one[0], two[0])

    def meet(self, some: Items, others: Items) -> bool:
        """Tell whether two agents may not have both of these lists."""
        return any(self.meets(one, two) for one in some for two in others)

    def name(self, thing: Thing) -> str:
        """Return the name that compares."""
        return thing.name if thing.kind in ("task", "branch") else folded(thing.name, self.space.fold)

    def holds(self, agent: str) -> Items:
        """Return what an agent holds."""
        return [item for held in self.claims.values() if held.holder == agent for item in held.live.values()]

    def is_blocked(self, items: Items) -> bool:
        """Tell whether one of these is a blocked task, or below one."""
        blocked = [task.split("/") for tasks in self.blocks.values() for task in tasks]
        asked = [thing.name.split("/") for thing, _ in items if thing.kind == "task"]
        return any(task[: len(above)] == above for task in asked for above in blocked)
