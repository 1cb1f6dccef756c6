"""Every kind of statement as a pydantic model; `accepts` is the whole of the interface."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, ValidationError

from .terms import (
    Base,
    Evidence,
    Items,
    Landed,
    Listed,
    LostCommit,
    Renewal,
    Stamps,
    Target,
    Task,
    TouchedPath,
    at_most_5000_operations,
)
from .values import (
    Agent,
    Base64,
    Bool,
    Count,
    Exact,
    Hash,
    Key,
    Line,
    Nonce,
    Positive,
    PostId,
    Seconds,
    Session,
    Time,
    Uuid,
    no_repetition,
)

V3 = Annotated[StrictInt, Field(ge=3, le=3)]
LeaseClass = Literal["quick", "standard", "long"]


class Statement(Exact):
    """The members of every statement."""

    v: V3
    repo: Uuid
    agent: Agent
    session: Session
    seq: Positive
    at: Time
    nonce: Nonce
    head: Hash | None


class Policy(Statement):
    kind: Literal["policy"]
    admins: Annotated[list[Key], Field(min_length=1, max_length=64), no_repetition()]
    fold: Literal["none", "case+nfc"]
    join: Literal["open", "listed"]
    listed: Annotated[list[Listed], Field(max_length=256)]
    max_lease: Seconds
    restore_hold: Annotated[Count, Field(le=31622400)]
    skew: Annotated[Count, Field(le=3600)]
    takeover: Literal["gated", "never"]
    void: Annotated[list[Hash], Field(max_length=256), no_repetition()]


class Expel(Statement):
    kind: Literal["expel"]
    agents: Annotated[list[Agent], Field(min_length=1, max_length=64), no_repetition()]
    reason: Line


class Move(Statement):
    kind: Literal["move"]
    prefix: Line
    reason: Line
    url: Line | None


class Join(Statement):
    kind: Literal["join"]
    key: Key


class Rejoin(Statement):
    kind: Literal["rejoin"]


class Claim(Statement):
    kind: Literal["claim"]
    base: Base
    items: Items
    lease: LeaseClass
    not_after: Time | None
    purpose: Line
    stamps: Stamps | None
    ttl: Seconds
    wait_until: Time | None


class Renew(Statement):
    kind: Literal["renew"]
    claims: Annotated[list[Renewal], Field(min_length=1, max_length=5000), no_repetition("claim")]
    lease: LeaseClass
    ttl: Seconds


class Release(Statement):
    kind: Literal["release"]
    landed: Landed | None
    reason: Line
    targets: Annotated[list[Target], Field(min_length=1, max_length=5000), no_repetition("claim")]
    to: Agent | None


class Takeover(Statement):
    kind: Literal["takeover"]
    base: Base
    claims: Annotated[list[Evidence], Field(min_length=1, max_length=5000), no_repetition("claim")]
    items: Items
    lease: LeaseClass
    purpose: Line
    reason: Line
    stamps: Stamps | None
    ttl: Seconds


class Block(Statement):
    kind: Literal["block"]
    reason: Line
    tasks: Annotated[list[Task], Field(min_length=1, max_length=256), no_repetition()]


class Unblock(Statement):
    kind: Literal["unblock"]
    blocks: Annotated[list[Nonce], Field(min_length=1, max_length=256), no_repetition()]
    reason: Line


class Settle(Statement):
    kind: Literal["settle"]
    claims: Annotated[list[Nonce], Field(min_length=1, max_length=5000), no_repetition()]
    commit: Hash


class Checkpoint(Statement):
    kind: Literal["checkpoint"]
    number: Positive
    old: Hash
    root: Hash
    tree: Hash


class Restore(Statement):
    kind: Literal["restore"]
    found: Hash | None


class Replay(Statement):
    kind: Literal["replay"]
    lost: Annotated[
        list[LostCommit],
        Field(min_length=1, max_length=256),
        no_repetition("commit"),
        AfterValidator(at_most_5000_operations),
    ]
    token: Count


class Break(Statement):
    kind: Literal["break"]
    claims: Annotated[list[Nonce], Field(min_length=1, max_length=5000), no_repetition()]
    reason: Line


class Cancel(Statement):
    kind: Literal["cancel"]
    op: Nonce


class Rotate(Statement):
    kind: Literal["rotate"]
    key: Key
    proof: Base64


class Announcement(Statement):
    """Outside the ledger: unknown members are ignored, though not in the objects inside."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Presence(Announcement):
    kind: Literal["presence"]
    branch: Line | None
    host: Line | None
    note: Line | None
    place: Line | None
    queue: Count
    since: Time
    state: Literal["online", "busy", "draining", "dormant", "offline"]
    task: Line | None
    ttl: Seconds
    will: Line | None


class Taken(Exact):
    agent: Agent
    id: PostId


class Post(Exact):
    at: Time
    claim: Nonce | None
    id: PostId
    status: Literal["open", "taken", "done", "dropped"]
    takes: Taken | None
    text: Line
    to: Agent | None


class Posts(Announcement):
    kind: Literal["posts"]
    posts: Annotated[list[Post], Field(max_length=64), no_repetition("id")]


class ReceiptEntry(Exact):
    bypass: Bool
    commit: Hash
    head: Hash
    paths: Annotated[list[TouchedPath], Field(max_length=5000)]


class Receipt(Announcement):
    kind: Literal["receipt"]
    commits: Annotated[list[ReceiptEntry], Field(min_length=1, max_length=256), no_repetition("commit")]


KINDS: dict[str, type[Statement]] = {
    "policy": Policy,
    "move": Move,
    "expel": Expel,
    "join": Join,
    "rejoin": Rejoin,
    "claim": Claim,
    "renew": Renew,
    "release": Release,
    "break": Break,
    "cancel": Cancel,
    "rotate": Rotate,
    "takeover": Takeover,
    "block": Block,
    "unblock": Unblock,
    "settle": Settle,
    "checkpoint": Checkpoint,
    "restore": Restore,
    "replay": Replay,
    "presence": Presence,
    "posts": Posts,
    "receipt": Receipt,
}


def accepts(kind: str, value: Any) -> bool:
    """Tell whether a decoded JSON value is a statement of this kind."""
    try:
        KINDS[kind].model_validate(value)
    except ValidationError:
        return False
    return True
