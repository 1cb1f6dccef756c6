"""Operations on claims: one frozen dataclass a kind (`docs/format.md`)."""

from __future__ import annotations

from git_coord.lean import frozen

from . import fields
from .envelope import CLAIM_LIMIT, Operation
from .fields import many, optional, unique
from .ids import Agent, Nonce, Oid
from .items import Item
from .terms import (
    BASE,
    EVIDENCE,
    ITEMS,
    LANDED,
    LEASE,
    MAX_ITEMS,
    RENEWALS,
    STAMPS,
    TARGETS,
    TTL,
    Base,
    Evidence,
    Landed,
    Renewal,
    Stamp,
    Target,
)


@frozen
class Claim(Operation):
    """Ask for items, all or none; `ttl` in seconds, `stamps` None keeps those of the items replaced.

    With `wait_until` (seconds since the epoch) it joins the queue when somebody is in the way.
    """

    KIND = "claim"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "base": BASE,
        "items": ITEMS,
        "lease": LEASE,
        "not_after": optional(fields.stamp),
        "purpose": fields.line,
        "stamps": optional(STAMPS),
        "ttl": TTL,
        "wait_until": optional(fields.stamp),
    }
    base: Base
    items: tuple[Item, ...]
    lease: str
    not_after: int | None
    purpose: str
    stamps: tuple[Stamp, ...] | None
    ttl: int
    wait_until: int | None = None


@frozen
class Renew(Operation):
    """Renew the lease, pins and stamps of claims; complete in itself, since a second one replaces the first."""

    KIND = "renew"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "claims": RENEWALS,
        "lease": LEASE,
        "ttl": TTL,
    }
    claims: tuple[Renewal, ...]
    lease: str
    ttl: int


@frozen
class Release(Operation):
    """Give claims back, whole or in part; or one of them `to` another agent."""

    KIND = "release"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "landed": optional(LANDED),
        "reason": fields.line,
        "targets": TARGETS,
        "to": optional(fields.agent),
    }
    landed: Landed | None = None
    reason: str
    targets: tuple[Target, ...]
    to: Agent | None = None


@frozen
class Takeover(Operation):
    """Claim items by superseding the claims of holders who are gone; `claims` is what was seen of each."""

    KIND = "takeover"
    LIMIT = CLAIM_LIMIT
    FIELDS = {  # noqa: RUF012
        "base": BASE,
        "claims": unique(many(EVIDENCE, 1, MAX_ITEMS), lambda seen: seen.claim),
        "items": ITEMS,
        "lease": LEASE,
        "purpose": fields.line,
        "reason": fields.line,
        "stamps": optional(STAMPS),
        "ttl": TTL,
    }
    base: Base
    claims: tuple[Evidence, ...]
    items: tuple[Item, ...]
    lease: str
    purpose: str
    reason: str
    stamps: tuple[Stamp, ...] | None
    ttl: int


@frozen
class Break(Operation):
    """Free somebody's claims without taking them; signed by a policy key."""

    KIND = "break"
    LIMIT = CLAIM_LIMIT
    FIELDS = {"claims": unique(many(fields.nonce, 1, MAX_ITEMS)), "reason": fields.line}  # noqa: RUF012
    claims: tuple[Nonce, ...]
    reason: str


@frozen
class Settle(Operation):
    """End claims whose work was seen in the branch they wait for; `commit` is where that branch was."""

    KIND = "settle"
    LIMIT = CLAIM_LIMIT
    FIELDS = {"claims": unique(many(fields.nonce, 1, MAX_ITEMS)), "commit": fields.oid}  # noqa: RUF012
    claims: tuple[Nonce, ...]
    commit: Oid


@frozen
class Cancel(Operation):
    """Undo whatever became of an own operation: free what it was granted; it never restores."""

    KIND = "cancel"
    FIELDS = {"op": fields.nonce}  # noqa: RUF012
    op: Nonce
