"""Operations by which a ledger that its remote lost goes on: one frozen dataclass a kind (`docs/format.md`)."""

from __future__ import annotations

from git_coord.lean import NamedTuple, frozen

from . import fields
from .envelope import CLAIM_LIMIT, Operation
from .fields import bounded, many, optional, record, unique
from .ids import Agent, Nonce, Oid
from .terms import MAX_ITEMS

MAX_LOST = 256
"""Lost commits that one replay lists, at most, and operations that one of them can have placed."""


class ReplayedOp(NamedTuple):
    """An operation of the lost part that is to be placed again: whose, and its nonce."""

    agent: Agent
    nonce: Nonce


class LostCommit(NamedTuple):
    """A ledger commit that was lost, and what it placed that the ledger does not have yet."""

    commit: Oid
    ops: tuple[ReplayedOp, ...]


_OPS = unique(many(record(ReplayedOp, {"agent": fields.agent, "nonce": fields.nonce}), 0, MAX_LOST))
_LOST = bounded(
    unique(
        many(record(LostCommit, {"commit": fields.oid, "ops": _OPS}), 1, MAX_LOST),
        lambda lost: lost.commit,
    ),
    lambda lost: sum(len(entry.ops) for entry in lost) <= MAX_ITEMS,
    f"a list with at most {MAX_ITEMS} operations",
)


@frozen
class Restore(Operation):
    """Say that the remote had lost what follows `found` (None: all of it), and that this clone put it forward again."""

    KIND = "restore"
    FIELDS = {"found": optional(fields.oid)}  # noqa: RUF012 - ClassVar is declared in the base
    found: Oid | None


@frozen
class Replay(Operation):
    """Say what the author's clone had in the lost part, and which of it is placed again after this.

    `token` is the last fencing token there: none that is drawn from here on is that or below it.
    """

    KIND = "replay"
    LIMIT = CLAIM_LIMIT
    FIELDS = {"lost": _LOST, "token": fields.integer(0)}  # noqa: RUF012
    lost: tuple[LostCommit, ...]
    token: int
