"""What the user's commits are judged by, and what comes of that: receipts, rules, what git can answer, violations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from .announcements import ReceiptEntry
from .carried import Past, ThreeWay, TreeEntry
from .commits import Delta, UserCommit
from .ids import Agent, Oid
from .state import LiveClaim, State


class Breach(Enum):
    """How a commit goes against a claim; the value is the `kind` of `--json`."""

    NO_RECEIPT = "no-receipt"
    """Somebody holds the path now, and no receipt that counts says who made the commit, and when."""
    HELD_NOW = "held-now"
    """It was free when the commit was made; somebody else holds it now, whose claim did not know of the commit."""
    HELD_THEN = "held-then"
    """Somebody else held it when the commit was made, even if not any more."""
    BYPASS = "bypass"
    """The hook was told to let it pass, and its author did not hold the path."""
    UNCLAIMED = "unclaimed"
    """The team's rules ask for a claim of this path, and its author had none."""


@dataclass(frozen=True, slots=True, eq=False)
class Attested:
    """An entry of a believed receipt whose head is in the ledger: its author, and the ledger as it stood there.

    `order` tells receipts of one agent apart in the order in which they were made.
    """

    agent: Agent
    entry: ReceiptEntry
    state: State
    order: tuple[int, int]

    @property
    def position(self) -> int:
        """The ledger position it names."""
        return self.state.counters.ops


def _never(_path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Rules:
    """What a team wants judged: paths that are never judged, and paths that nobody may change without a claim."""

    is_exempt: Callable[[str], bool] = _never
    needs_claim: Callable[[str], bool] = _never


class Means(Protocol):
    """What only the user's history can answer; asked for nothing but what would else be a violation."""

    def merge(self, asked: Sequence[ThreeWay]) -> Sequence[Oid | None]:
        """Return what git's own clean merge makes of blobs, None for a conflict."""

    def merged(self, commit: UserCommit, delta: Delta) -> tuple[TreeEntry | None, ...]:
        """Return what git's own clean merge of a merge's parents has at a path; in a conflict what each parent has."""

    def past(self, commit: UserCommit, path: str) -> Past:
        """Return the history of a path before a commit, as far as it is here."""

    def given_up(self, commit: UserCommit, delta: Delta) -> frozenset[Oid]:
        """Return the commits whose work at a path a merge dropped, to have it as another parent has it."""

    def granted_later(self, receipt: Attested, path: str) -> bool:
        """Tell whether a claim of the path by the receipt's author was on its way then, and granted to it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What commits are judged by: the newest verified state, receipts by commit, and receipts by the paths they list.

    Without `means` nothing is carried: what such a judgement lets pass, passes.
    """

    newest: State
    receipts: Mapping[Oid, Sequence[Attested]]
    listed: Mapping[str, Sequence[Attested]] = field(default_factory=dict)
    rules: Rules = Rules()
    means: Means | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """One path of one commit, how it goes against a claim, and against whose (None: nobody's).

    `agents` are those whose receipts of the commit count; `is_live` tells whether the claim is still there.
    """

    commit: Oid
    delta: Delta
    kind: Breach
    claim: LiveClaim | None
    agents: tuple[Agent, ...] = field(default=(), compare=False)
    is_live: bool = field(default=True, compare=False)

    @property
    def path(self) -> str:
        """The path."""
        return self.delta.path
