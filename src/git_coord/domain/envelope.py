"""What every statement has, and how any of them is read and written; the kinds are in the modules beside this one."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from git_coord.errors import CoordError, Kind
from git_coord.lean import Frozen, frozen

from . import canonical, fields
from .fields import Field, optional
from .ids import Agent, Nonce, Oid, Session

VERSION = 3
RECORD_LIMIT = 64 * 1024
CLAIM_LIMIT = 1024 * 1024

S = TypeVar("S", bound="Statement")


COMMON: dict[str, Field] = {
    "repo": fields.uuid,
    "agent": fields.agent,
    "session": fields.session,
    "seq": fields.integer(1),
    "at": fields.stamp,
    "nonce": fields.nonce,
    "head": optional(fields.oid),
}


@frozen
class Statement(Frozen):
    """What every statement has; `at` is in seconds since the epoch, `head` the newest ledger commit its author knew."""

    KIND: ClassVar[str]
    FIELDS: ClassVar[dict[str, Field]]
    LIMIT: ClassVar[int] = RECORD_LIMIT

    repo: str
    agent: Agent
    session: Session
    seq: int
    at: int
    nonce: Nonce
    head: Oid | None

    def __hash__(self) -> int:
        return hash((self.agent, self.nonce))


class Operation(Statement):
    """A statement that is placed in the ledger; an unknown field makes it unplaceable."""

    __slots__ = ()  # no field of its own, so there is nothing to generate


def to_bytes(statement: Statement) -> bytes:
    """Return the canonical JSON of a statement, without a newline."""
    table = COMMON | statement.FIELDS
    obj = {name: field.write(getattr(statement, name)) for name, field in table.items()}
    return canonical.dumps(obj | {"kind": statement.KIND, "v": VERSION})


def load_object(data: bytes) -> dict[str, Any]:
    """Return the decoded object of a statement whose version is known and whose kind is a word."""
    obj = canonical.loads(data)
    if not isinstance(obj, dict) or type(obj.get("v")) is not int or not isinstance(obj.get("kind"), str):
        raise CoordError(Kind.UNTRUSTED, "not a statement: no version or kind")
    if obj["v"] != VERSION:
        raise CoordError(
            Kind.UNTRUSTED, f"statement version {obj['v']} needs a newer git coord (this one reads {VERSION})"
        )
    return obj


def build(cls: type[S], obj: dict[str, Any]) -> S:
    """Return the statement with every field read and checked; raises CoordError(UNTRUSTED) naming the field."""
    values = {}
    for name, field in (COMMON | cls.FIELDS).items():
        if name not in obj:
            raise CoordError(Kind.UNTRUSTED, f"{cls.KIND} has no field {name!r}")
        try:
            values[name] = field.read(obj[name])
        except ValueError as trouble:
            raise CoordError(Kind.UNTRUSTED, f"field {name!r} of {cls.KIND} is not {trouble}") from None
    return cls(**values)
