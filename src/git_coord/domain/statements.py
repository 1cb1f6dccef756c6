"""What agents sign: one frozen dataclass a kind, with the table that reads and writes it (`docs/format.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from git_coord.errors import CoordError, Kind

from . import fields
from .envelope import CLAIM_LIMIT, COMMON, RECORD_LIMIT, Statement, build, load_object, to_bytes
from .fields import Field, bounded, many, optional, record, unique
from .ids import Agent, KeyText, Nonce, Oid
from .items import Item, ItemKind

MAX_ITEMS = 5000
MAX_GLOBS = 64
"""Items of a claim, and entries of whatever else lists items or claims."""


class Stamp(NamedTuple):
    """A caller's own name and value, stored with a claim and shown to whoever conflicts."""

    name: str
    value: str


class Base(NamedTuple):
    """Where the claimer stood: its HEAD, the upstream's tip and its copy of the default branch."""

    head: Oid | None
    upstream: Oid | None
    default: Oid | None


class Listed(NamedTuple):
    """A key that may join under policy `listed`, under one name or any."""

    agent: Agent | None
    key: KeyText


class Renewal(NamedTuple):
    """One claim of a renew: a pin for each item of the claim's own list, and all its stamps."""

    claim: Nonce
    pins: tuple[Oid | None, ...]
    stamps: tuple[Stamp, ...]


class Target(NamedTuple):
    """One claim of a release: positions in its own item list, or None for the whole."""

    claim: Nonce
    items: tuple[int, ...] | None


_STAMPS = unique(
    many(record(Stamp, {"name": fields.stamp_name, "value": fields.line}), 0, 32), lambda stamp: stamp.name
)
_TTL = fields.integer(1, 366 * 86400)
_LEASE = fields.one_of("quick", "standard", "long")


class Operation(Statement):
    """A statement that is placed in the ledger; an unknown field makes it unplaceable."""

    __slots__ = ()  # no field of its own, so there is nothing to generate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Policy(Operation):
    """Who may do what; the first one is the root of the ledger and fixes `fold` and `skew` (seconds) for ever."""

    KIND = "policy"
    FIELDS = {  # noqa: RUF012 - ClassVar is declared in the base
        "admins": unique(many(fields.key, 1, 64)),
        "fold": fields.one_of("none", "case+nfc"),
        "join": fields.one_of("open", "listed"),
        "listed": many(record(Listed, {"agent": optional(fields.agent), "key": fields.key}), 0, 256),
        "max_lease": _TTL,
        "skew": fields.integer(0, 3600),
        "takeover": fields.one_of("gated", "never"),
        "void": unique(many(fields.oid, 0, 256)),
    }
    admins: tuple[KeyText, ...]
    fold: str
    join: str
    listed: tuple[Listed, ...]
    max_lease: int
    skew: int
    takeover: str
    void: tuple[Oid, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Claim(Operation):
    """Ask for items, all or none; `ttl` in seconds, `stamps` None keeps those of the items replaced."""

    KIND = "claim"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "base": record(
            Base, {"head": optional(fields.oid), "upstream": optional(fields.oid), "default": optional(fields.oid)}
        ),
        "items": bounded(
            unique(many(fields.item, 1, MAX_ITEMS), lambda item: (item.kind, item.name)),
            lambda items: sum(item.kind is ItemKind.GLOB for item in items) <= MAX_GLOBS,
            f"a list with at most {MAX_GLOBS} globs",
        ),
        "lease": _LEASE,
        "not_after": optional(fields.stamp),
        "purpose": fields.line,
        "stamps": optional(_STAMPS),
        "ttl": _TTL,
    }
    base: Base
    items: tuple[Item, ...]
    lease: str
    not_after: int | None
    purpose: str
    stamps: tuple[Stamp, ...] | None
    ttl: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Renew(Operation):
    """Renew the lease, pins and stamps of claims; complete in itself, since a second one replaces the first."""

    KIND = "renew"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "claims": unique(
            many(
                record(
                    Renewal,
                    {"claim": fields.nonce, "pins": many(optional(fields.oid), 1, MAX_ITEMS), "stamps": _STAMPS},
                ),
                1,
                MAX_ITEMS,
            ),
            lambda renewal: renewal.claim,
        ),
        "lease": _LEASE,
        "ttl": _TTL,
    }
    claims: tuple[Renewal, ...]
    lease: str
    ttl: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(Operation):
    """Give claims back, whole or in part."""

    KIND = "release"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "reason": fields.line,
        "targets": unique(
            many(
                record(
                    Target,
                    {
                        "claim": fields.nonce,
                        "items": optional(unique(many(fields.integer(0, MAX_ITEMS - 1), 1, MAX_ITEMS))),
                    },
                ),
                1,
                MAX_ITEMS,
            ),
            lambda target: target.claim,
        ),
    }
    reason: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Break(Operation):
    """Free somebody's claims without taking them; signed by a policy key."""

    KIND = "break"
    LIMIT = CLAIM_LIMIT
    FIELDS = {"claims": unique(many(fields.nonce, 1, MAX_ITEMS)), "reason": fields.line}  # noqa: RUF012
    claims: tuple[Nonce, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Cancel(Operation):
    """Undo whatever became of an own operation: free what it was granted; it never restores."""

    KIND = "cancel"
    FIELDS = {"op": fields.nonce}  # noqa: RUF012
    op: Nonce


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rotate(Operation):
    """Replace the agent's key; `proof` is the new key's signature (SSHSIG, base64) over `rotation_challenge`."""

    KIND = "rotate"
    FIELDS = {"key": fields.key, "proof": fields.base64_text}  # noqa: RUF012
    key: KeyText
    proof: str


OPERATIONS: dict[str, type[Operation]] = {
    cls.KIND: cls for cls in (Policy, Join, Rejoin, Claim, Renew, Release, Break, Cancel, Rotate)
}


def rotation_challenge(repo: str, agent: Agent, nonce: Nonce) -> bytes:
    """Return what the new key of a rotation signs, so that nobody rotates to a key that is not theirs."""
    return f"git-coord rotate {repo} {agent} {nonce}\n".encode("ascii")


def parse_operation(data: bytes) -> Operation:
    """Return the ledger operation in these canonical bytes.

    Raises CoordError(UNTRUSTED) for anything malformed, of an unknown version, kind or field.
    """
    obj = load_object(data)
    cls = OPERATIONS.get(obj["kind"])
    if cls is None:
        raise CoordError(Kind.UNTRUSTED, f"operation kind {obj['kind'][:40]!r} needs a newer git coord")
    unknown = obj.keys() - COMMON.keys() - cls.FIELDS.keys() - {"v", "kind"}
    if unknown:
        raise CoordError(Kind.UNTRUSTED, f"field {min(unknown)[:40]!r} of {cls.KIND} needs a newer git coord")
    return build(cls, obj)


__all__ = [
    "CLAIM_LIMIT",
    "MAX_ITEMS",
    "OPERATIONS",
    "RECORD_LIMIT",
    "Base",
    "Break",
    "Cancel",
    "Claim",
    "Join",
    "Listed",
    "Operation",
    "Policy",
    "Rejoin",
    "Release",
    "Renew",
    "Renewal",
    "Rotate",
    "Stamp",
    "Statement",
    "Target",
    "build",
    "load_object",
    "parse_operation",
    "rotation_challenge",
    "to_bytes",
]
