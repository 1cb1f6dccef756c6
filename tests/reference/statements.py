"""Every kind of statement as a pydantic model; `accepts` is the whole of the interface."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, ValidationError, model_validator

from .values import (
    Agent,
    Base64,
    Bool,
    Count,
    Encoded,
    Exact,
    Hash,
    Key,
    Line,
    Name,
    Nonce,
    Positive,
    PostId,
    Seconds,
    Session,
    Short,
    Time,
    Uuid,
    no_repetition,
    require,
)

V1 = Annotated[StrictInt, Field(ge=1, le=1)]
LeaseClass = Literal["quick", "standard", "long"]


class Statement(Exact):
    """The members of every statement."""

    v: V1
    repo: Uuid
    agent: Agent
    session: Session
    seq: Positive
    at: Time
    nonce: Nonce
    head: Hash | None


class Listed(Exact):
    agent: Agent | None
    key: Key


class Policy(Statement):
    kind: Literal["policy"]
    admins: Annotated[list[Key], Field(min_length=1, max_length=64), no_repetition()]
    fold: Literal["none", "case+nfc"]
    join: Literal["open", "listed"]
    listed: Annotated[list[Listed], Field(max_length=256)]
    max_lease: Seconds
    skew: Annotated[Count, Field(le=3600)]
    takeover: Literal["gated", "never"]
    void: Annotated[list[Hash], Field(max_length=256), no_repetition()]


class Join(Statement):
    kind: Literal["join"]
    key: Key


class Rejoin(Statement):
    kind: Literal["rejoin"]


class Stamp(Exact):
    name: Short
    value: Line


Stamps = Annotated[list[Stamp], Field(max_length=32), no_repetition("name")]


class Base(Exact):
    default: Hash | None
    head: Hash | None
    upstream: Hash | None


class Item(Exact):
    """One of three kinds; a name has one spelling."""

    path: Name | None = None
    glob: Name | None = None
    task: Name | None = None
    intent: Literal["read", "edit"]
    blob: Hash | None = None

    @property
    def identity(self) -> tuple[str, bytes]:
        """Kind and bytes of the name."""
        kind = next(kind for kind in ("path", "glob", "task") if getattr(self, kind) is not None)
        name = getattr(self, kind)
        return kind, name.data if isinstance(name, Encoded) else name.encode()

    @model_validator(mode="after")
    def _is_spelled_right(self) -> Item:
        require(len(self.model_fields_set & {"path", "glob", "task"}) == 1)
        require(all(getattr(self, name) is not None for name in self.model_fields_set))
        kind, name = self.identity
        require(len(name) <= 4096)
        require(self.blob is None or (kind == "path" and name != b"."))
        parts = name.split(b"/")
        if kind == "task":
            require(len(parts) <= 8)
            require(all(re.fullmatch(rb"[A-Za-z0-9][A-Za-z0-9._#@+-]{0,63}", part) for part in parts))
            return self
        require(name == b"." if b"." in parts else not {b"", b".."} & set(parts))
        if kind == "glob":
            require(name != b".")
            require(all(b"**" not in part or part == b"**" for part in parts))
            require(sum(1 if part == b"**" else part.count(b"*") for part in parts) <= 8)
        return self


def few_globs(items: list[Item]) -> list[Item]:
    """Accept 64 globs, as each is asked for every path that anybody touches."""
    require(sum(item.glob is not None for item in items) <= 64)
    return items


class Claim(Statement):
    kind: Literal["claim"]
    base: Base
    items: Annotated[
        list[Item], Field(min_length=1, max_length=5000), no_repetition("identity"), AfterValidator(few_globs)
    ]
    lease: LeaseClass
    not_after: Time | None
    purpose: Line
    stamps: Stamps | None
    ttl: Seconds


class Renewal(Exact):
    claim: Nonce
    pins: Annotated[list[Hash | None], Field(min_length=1, max_length=5000)]
    stamps: Stamps


class Renew(Statement):
    kind: Literal["renew"]
    claims: Annotated[list[Renewal], Field(min_length=1, max_length=5000), no_repetition("claim")]
    lease: LeaseClass
    ttl: Seconds


Position = Annotated[Count, Field(le=4999)]


class Target(Exact):
    claim: Nonce
    items: Annotated[list[Position], Field(min_length=1, max_length=5000), no_repetition()] | None


class Release(Statement):
    kind: Literal["release"]
    reason: Line
    targets: Annotated[list[Target], Field(min_length=1, max_length=5000), no_repetition("claim")]


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


class TouchedPath(Exact):
    blob: Hash | None
    path: Name


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
    "join": Join,
    "rejoin": Rejoin,
    "claim": Claim,
    "renew": Renew,
    "release": Release,
    "break": Break,
    "cancel": Cancel,
    "rotate": Rotate,
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
