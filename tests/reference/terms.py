"""The objects inside statements as pydantic models."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from .values import Agent, Count, Encoded, Exact, Hash, Key, Line, Name, Nonce, Short, Time, no_repetition, require


def _patterns(text: str) -> str:
    require(re.fullmatch(r"[!#-~]{1,500}", text) is not None)
    return text


class Listed(Exact):
    agent: Annotated[str, AfterValidator(_patterns)] | None
    key: Key


class Stamp(Exact):
    name: Short
    value: Line


Stamps = Annotated[list[Stamp], Field(max_length=32), no_repetition("name")]


class Base(Exact):
    default: Hash | None
    head: Hash | None
    upstream: Hash | None


KINDS_OF_ITEM = ("path", "glob", "task", "branch")


def is_task(name: bytes) -> bool:
    """Tell whether this is the id of a task."""
    part = rb"[A-Za-z0-9][A-Za-z0-9._#@+-]{0,63}"
    return bool(re.fullmatch(part + rb"(/" + part + rb"){0,7}", name))


def is_branch(name: str) -> bool:
    """Tell whether git could have a branch of this name; a lone surrogate is in none."""
    odd = r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|(^|/)\.|\.lock(/|$)|\.$|^-|^/|/$|//|[\ud800-\udfff]"
    is_named = bool(name) and name not in ("@", "HEAD") and not re.search(odd, name)
    return is_named and len(name.encode()) <= 250


def task_id(name: str) -> str:
    """Accept the id of a task."""
    require(name.isascii() and is_task(name.encode()))
    return name


class Item(Exact):
    """One of four kinds; a name has one spelling."""

    path: Name | None = None
    glob: Name | None = None
    task: Name | None = None
    branch: str | None = None
    intent: Literal["read", "edit"]
    blob: Hash | None = None
    file: bool | None = None

    @property
    def identity(self) -> tuple[str, bytes]:
        """Kind and bytes of the name."""
        kind = next(kind for kind in KINDS_OF_ITEM if getattr(self, kind) is not None)
        name = getattr(self, kind)
        return kind, name.data if isinstance(name, Encoded) else name.encode()

    @model_validator(mode="after")
    def _is_spelled_right(self) -> Item:
        require(len(self.model_fields_set & set(KINDS_OF_ITEM)) == 1)
        require(all(getattr(self, name) is not None for name in self.model_fields_set))
        if self.branch is not None:
            require(self.blob is None and self.file is None and is_branch(self.branch))
            return self
        kind, name = self.identity
        require(len(name) <= 4096)
        require(self.file is None or (self.file is True and self.blob is None))
        require((self.blob or self.file) is None or (kind == "path" and name != b"."))
        parts = name.split(b"/")
        if kind == "task":
            require(is_task(name))
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


class Renewal(Exact):
    claim: Nonce
    pins: Annotated[list[Hash | None], Field(min_length=1, max_length=5000)]
    stamps: Stamps


Position = Annotated[Count, Field(le=4999)]


class Target(Exact):
    claim: Nonce
    items: Annotated[list[Position], Field(min_length=1, max_length=5000), no_repetition()] | None


class TreeEntry(Exact):
    blob: Hash
    mode: Literal["100644", "100755", "120000", "160000"]


class TouchedPath(Exact):
    after: TreeEntry | None
    before: TreeEntry | None
    path: Name


class LandedPath(Exact):
    blob: Hash | None
    path: Name


class Landed(Exact):
    branch: Line | None
    commit: Hash
    paths: Annotated[list[LandedPath], Field(max_length=5000)]
    until: Line | None


class Evidence(Exact):
    beat: Time | None
    claim: Nonce
    lease_end: Time
    tip: Hash | None
    unchanged: Count
    witness: Agent | None


class OperationId(Exact):
    agent: Agent
    nonce: Nonce

    @property
    def identity(self) -> tuple[str, str]:
        """Return what may not be there twice."""
        return self.agent, self.nonce


class LostCommit(Exact):
    commit: Hash
    ops: Annotated[list[OperationId], Field(max_length=256), no_repetition("identity")]


def at_most_5000_operations(lost: list[LostCommit]) -> list[LostCommit]:
    """Accept what one record can name."""
    require(sum(len(entry.ops) for entry in lost) <= 5000)
    return lost


Items = Annotated[
    list[Item], Field(min_length=1, max_length=5000), no_repetition("identity"), AfterValidator(few_globs)
]
Task = Annotated[str, AfterValidator(task_id)]
