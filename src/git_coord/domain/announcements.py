"""Signed statements outside the ledger: presence, posts, receipts. Unknown fields are ignored, their bytes kept."""

from __future__ import annotations

from typing import ClassVar

from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple, frozen

from . import fields
from .carried import MODES, TreeEntry
from .envelope import CLAIM_LIMIT, Statement, build, load_object
from .fields import Field, many, optional, record, unique
from .ids import Agent, Nonce, Oid

STATES = ("online", "busy", "draining", "dormant", "offline")
POST_STATES = ("open", "taken", "done", "dropped")
MAX_POSTS = 64


class Taken(NamedTuple):
    """The post of another agent that an entry answers."""

    agent: Agent
    id: str


class Post(NamedTuple):
    """One entry of an agent's list: `to` an agent or None for everybody, `claim` the nonce of a claim it is about.

    With `takes` it is no post of its own, but says that its author took on somebody else's (and with `done` or
    `dropped`, how that ended).
    """

    id: str
    at: int
    status: str
    text: str
    to: Agent | None
    claim: Nonce | None
    takes: Taken | None = None


class TouchedPath(NamedTuple):
    """A path that a commit changed and nobody else held, with what was there before and after (None: nothing)."""

    path: str
    before: TreeEntry | None
    after: TreeEntry | None


class ReceiptEntry(NamedTuple):
    """One commit with the ledger head it was made at; `bypass` when the hook was told to let it pass."""

    commit: Oid
    head: Oid
    bypass: bool
    paths: tuple[TouchedPath, ...]


class Announcement(Statement):
    """A statement whose newest version counts and whose unknown fields are ignored."""

    __slots__ = ()


@frozen
class Presence(Announcement):
    """A heartbeat: sent at `at`, good for `ttl` seconds; `since` is when the state began.

    `will` is what others are to be told when the agent falls silent without having said "offline". `host` and `place`
    (an absolute path) are null unless the agent shares them.
    """

    KIND = "presence"
    FIELDS: ClassVar[dict[str, Field]] = {
        "branch": optional(fields.line),
        "host": optional(fields.line),
        "note": optional(fields.line),
        "place": optional(fields.line),
        "queue": fields.integer(0),
        "since": fields.stamp,
        "state": fields.one_of(*STATES),
        "task": optional(fields.line),
        "ttl": fields.integer(1, 366 * 86400),
        "will": optional(fields.line),
    }
    branch: str | None
    host: str | None
    note: str | None
    place: str | None
    queue: int
    since: int
    state: str
    task: str | None
    ttl: int
    will: str | None


_ID = fields.text(lambda word: len(word) == 8 and word.isascii() and word.isalnum(), "8 letters or digits")
_POST = record(
    Post,
    {
        "at": fields.stamp,
        "claim": optional(fields.nonce),
        "id": _ID,
        "status": fields.one_of(*POST_STATES),
        "takes": optional(record(Taken, {"agent": fields.agent, "id": _ID})),
        "text": fields.line,
        "to": optional(fields.agent),
    },
)


@frozen
class Posts(Announcement):
    """All posts of an agent; only the author's key signs it, so only the author edits."""

    KIND = "posts"
    FIELDS: ClassVar[dict[str, Field]] = {"posts": unique(many(_POST, 0, MAX_POSTS), lambda post: post.id)}
    posts: tuple[Post, ...]


_THERE = optional(record(TreeEntry, {"blob": fields.oid, "mode": fields.one_of(*MODES)}))
_RECEIPT = record(
    ReceiptEntry,
    {
        "bypass": fields.boolean(),
        "commit": fields.oid,
        "head": fields.oid,
        "paths": many(record(TouchedPath, {"after": _THERE, "before": _THERE, "path": fields.path}), 0, 5000),
    },
)


@frozen
class Receipt(Announcement):
    """What an agent committed while the ledger stood at each entry's `head`."""

    KIND = "receipt"
    LIMIT = CLAIM_LIMIT
    FIELDS: ClassVar[dict[str, Field]] = {"commits": unique(many(_RECEIPT, 1, 256), lambda entry: entry.commit)}
    commits: tuple[ReceiptEntry, ...]


def parse_announcement(data: bytes, cls: type[Presence] | type[Posts] | type[Receipt]) -> Announcement:
    """Return the statement of this kind in these canonical bytes; raises CoordError(UNTRUSTED) for anything else."""
    obj = load_object(data)
    if obj["kind"] != cls.KIND:
        raise CoordError(Kind.UNTRUSTED, f"a {obj['kind'][:40]!r} where a {cls.KIND} belongs")
    return build(cls, obj)
