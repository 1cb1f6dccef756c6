"""The objects inside statements, and the table that reads and writes each of them (`docs/format.md`)."""

from __future__ import annotations

from git_coord.lean import NamedTuple

from . import fields
from .fields import bounded, many, optional, record, unique
from .ids import Agent, KeyText, Nonce, Oid, matches
from .items import ItemKind

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


class LandedPath(NamedTuple):
    """A path and what it has in the commit that was landed, None when it is gone there."""

    path: str
    blob: Oid | None


class Landed(NamedTuple):
    """What a release leaves behind: a commit, the branch it is on, and what it has at the paths released.

    With `until` the claim blocks others until that branch of the remote has the commit.
    """

    branch: str | None
    commit: Oid
    paths: tuple[LandedPath, ...]
    until: str | None


class Evidence(NamedTuple):
    """What the author of a takeover saw of one claim.

    `beat` is `at` of the holder's newest heartbeat, `lease_end` the end of the lease by it, `tip` the newest commit on
    the claim's branch, `unchanged` for how many seconds of its own clock this clone saw the same record, `witness` the
    third agent whose fresh record agreed with its clock.
    """

    claim: Nonce
    beat: int | None
    lease_end: int
    tip: Oid | None
    unchanged: int
    witness: Agent | None


class Listed(NamedTuple):
    """A key that may join under policy `listed`, and under which names: one, or OpenSSH patterns; None is any."""

    agent: str | None
    key: KeyText

    def admits(self, agent: Agent, key: KeyText) -> bool:
        """Tell whether this agent may join with this key."""
        return self.key == key and (self.agent is None or matches(self.agent.split(","), agent))


class Renewal(NamedTuple):
    """One claim of a renew: a pin for each item of the claim's own list, and all its stamps."""

    claim: Nonce
    pins: tuple[Oid | None, ...]
    stamps: tuple[Stamp, ...]


class Target(NamedTuple):
    """One claim of a release: positions in its own item list, or None for the whole."""

    claim: Nonce
    items: tuple[int, ...] | None


STAMPS = unique(many(record(Stamp, {"name": fields.stamp_name, "value": fields.line}), 0, 32), lambda stamp: stamp.name)
LONGEST = 366 * 86400
"""Seconds that anything lasts, at most."""
TTL = fields.integer(1, LONGEST)
LEASE = fields.one_of("quick", "standard", "long")


BASE = record(Base, {"head": optional(fields.oid), "upstream": optional(fields.oid), "default": optional(fields.oid)})
ITEMS = bounded(
    unique(many(fields.item, 1, MAX_ITEMS), lambda item: (item.kind, item.name)),
    lambda items: sum(item.kind is ItemKind.GLOB for item in items) <= MAX_GLOBS,
    f"a list with at most {MAX_GLOBS} globs",
)
LANDED = record(
    Landed,
    {
        "branch": optional(fields.line),
        "commit": fields.oid,
        "paths": many(record(LandedPath, {"path": fields.path, "blob": optional(fields.oid)}), 0, MAX_ITEMS),
        "until": optional(fields.line),
    },
)
EVIDENCE = record(
    Evidence,
    {
        "claim": fields.nonce,
        "beat": optional(fields.stamp),
        "lease_end": fields.stamp,
        "tip": optional(fields.oid),
        "unchanged": fields.integer(0),
        "witness": optional(fields.agent),
    },
)
RENEWALS = unique(
    many(
        record(Renewal, {"claim": fields.nonce, "pins": many(optional(fields.oid), 1, MAX_ITEMS), "stamps": STAMPS}),
        1,
        MAX_ITEMS,
    ),
    lambda renewal: renewal.claim,
)
TARGETS = unique(
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
)
