"""Operations on members, the policy and tasks: one frozen dataclass a kind (`docs/format.md`)."""

from __future__ import annotations

from typing import ClassVar

from git_coord.lean import frozen

from . import fields
from .envelope import Operation
from .fields import Field, many, optional, record, unique
from .ids import Agent, KeyText, Nonce, Oid
from .terms import LONGEST, TTL, Listed

RESTORE_HOLD = 600
"""Seconds for which nothing is granted after a ledger was restored, unless the policy says otherwise."""


@frozen
class Policy(Operation):
    """Who may do what; the first one is the root of the ledger and fixes `fold` and `skew` (seconds) for ever."""

    KIND = "policy"
    FIELDS = {  # noqa: RUF012 - ClassVar is declared in the base
        "admins": unique(many(fields.key, 1, 64)),
        "fold": fields.one_of("none", "case+nfc"),
        "join": fields.one_of("open", "listed"),
        "listed": many(record(Listed, {"agent": optional(fields.patterns), "key": fields.key}), 0, 256),
        "max_lease": TTL,
        "restore_hold": fields.integer(0, LONGEST),
        "skew": fields.integer(0, 3600),
        "takeover": fields.one_of("gated", "never"),
        "void": unique(many(fields.oid, 0, 256)),
    }
    admins: tuple[KeyText, ...]
    fold: str
    join: str
    listed: tuple[Listed, ...]
    max_lease: int
    restore_hold: int = RESTORE_HOLD
    skew: int
    takeover: str
    void: tuple[Oid, ...]


@frozen
class Join(Operation):
    """Bind a name to a key and a session."""

    KIND = "join"
    FIELDS = {"key": fields.key}  # noqa: RUF012
    key: KeyText


class Rejoin(Operation):
    """Make the statement's session the agent's current one."""

    __slots__ = ()

    KIND = "rejoin"
    FIELDS: ClassVar[dict[str, Field]] = {}


@frozen
class Rotate(Operation):
    """Replace the agent's key; `proof` is the new key's signature (SSHSIG, base64) over `rotation_challenge`."""

    KIND = "rotate"
    FIELDS = {"key": fields.key, "proof": fields.base64_text}  # noqa: RUF012
    key: KeyText
    proof: str


@frozen
class Expel(Operation):
    """Put members out: their claims, their waiting and what their keys may sign end here; signed by a policy key."""

    KIND = "expel"
    FIELDS = {"agents": unique(many(fields.agent, 1, 64)), "reason": fields.line}  # noqa: RUF012
    agents: tuple[Agent, ...]
    reason: str


@frozen
class Move(Operation):
    """The last operation of the ledger at its place: it goes on under `prefix`, and at `url` when that is not null."""

    KIND = "move"
    FIELDS = {"prefix": fields.line, "reason": fields.line, "url": optional(fields.line)}  # noqa: RUF012
    prefix: str
    reason: str
    url: str | None


@frozen
class BlockTasks(Operation):
    """Say that tasks cannot be worked on; nobody can claim them, or what is below them, until that is lifted."""

    KIND = "block"
    FIELDS = {"reason": fields.line, "tasks": unique(many(fields.task, 1, 256))}  # noqa: RUF012
    reason: str
    tasks: tuple[str, ...]


@frozen
class Unblock(Operation):
    """Lift blocks, one's own or anybody's."""

    KIND = "unblock"
    FIELDS = {"blocks": unique(many(fields.nonce, 1, 256)), "reason": fields.line}  # noqa: RUF012
    blocks: tuple[Nonce, ...]
    reason: str


@frozen
class Checkpoint(Operation):
    """Begin the epoch of this number on the state after the ledger commit `old`; `root` is the first ledger's.

    `tree` is what the state lies in after it, without `op`: signed by a policy key, for whoever has nothing older.
    """

    KIND = "checkpoint"
    FIELDS = {"number": fields.integer(1), "old": fields.oid, "root": fields.oid, "tree": fields.oid}  # noqa: RUF012
    number: int
    old: Oid
    root: Oid
    tree: Oid
