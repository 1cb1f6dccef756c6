"""The small table-driven validator: how each field of a statement is read from JSON and written back.

It exists because importing pydantic costs more than a whole claim; a differential test holds it to a pydantic model.
Every reader takes a decoded JSON value and returns the Python value, or raises ValueError with what was expected.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any

from git_coord.lean import NamedTuple

from . import ids
from .canonical import MAX_INTEGER
from .items import ItemKind, is_canonical, item_from_json, item_to_json
from .text import is_clean_line
from .timestamps import format_stamp, parse_stamp

Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]
_ALGORITHM = re.compile(r"[a-z0-9.@-]{1,64}")


class Field(NamedTuple):
    """How one field is read from JSON and written to it."""

    read: Reader
    write: Writer = lambda value: value


def text(check: Callable[[str], bool], expected: str) -> Field:
    """Return a field for a string that passes the check."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not check(value):
            raise ValueError(expected)
        return value

    return Field(read)


def integer(low: int, high: int = MAX_INTEGER) -> Field:
    """Return a field for an integer in a closed range."""

    def read(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"an integer from {low} to {high}")
        return value

    return Field(read)


def boolean() -> Field:
    """Return a field for true or false."""

    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value

    return Field(read)


def one_of(*words: str) -> Field:
    """Return a field for one of a fixed list of words."""
    return text(lambda value: value in words, "one of " + ", ".join(words))


def optional(field: Field) -> Field:
    """Return a field that may also be null."""
    return Field(
        lambda value: None if value is None else field.read(value),
        lambda value: None if value is None else field.write(value),
    )


def many(field: Field, low: int, high: int) -> Field:
    """Return a field for a list with bounded length, held as a tuple."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not low <= len(value) <= high:
            raise ValueError(f"a list of {low} to {high}")
        return tuple(field.read(entry) for entry in value)

    return Field(read, lambda values: [field.write(entry) for entry in values])


def record(cls: Callable[..., Any], table: dict[str, Field]) -> Field:
    """Return a field for an object with exactly these keys, held as a named tuple or dataclass."""

    def read(value: Any) -> Any:
        if not isinstance(value, dict) or value.keys() != table.keys():
            raise ValueError("an object with exactly " + ", ".join(table))
        return cls(**{name: field.read(value[name]) for name, field in table.items()})

    def write(value: Any) -> dict[str, Any]:
        return {name: field.write(getattr(value, name)) for name, field in table.items()}

    return Field(read, write)


def unique(field: Field, key: Callable[[Any], Any] = lambda entry: entry) -> Field:
    """Return the list field with the extra rule that no two entries have the same key."""

    def read(value: Any) -> Sequence[Any]:
        entries: Sequence[Any] = field.read(value)
        if len({key(entry) for entry in entries}) != len(entries):
            raise ValueError("a list without repetitions")
        return entries

    return Field(read, field.write)


def bounded(field: Field, check: Callable[[Any], bool], expected: str) -> Field:
    """Return the field with an extra rule over its whole value."""

    def read(value: Any) -> Any:
        found = field.read(value)
        if not check(found):
            raise ValueError(expected)
        return found

    return Field(read, field.write)


def _is_key(value: str) -> bool:
    algorithm, space, body = value.partition(" ")
    if not space or len(value) > 4096 or not _ALGORITHM.fullmatch(algorithm):
        return False
    try:
        blob = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return False
    name = algorithm.encode("ascii")
    return blob.startswith(len(name).to_bytes(4, "big") + name) and base64.b64encode(blob).decode() == body


def _is_base64(value: str) -> bool:
    try:
        return len(value) <= 8192 and base64.b64encode(base64.b64decode(value, validate=True)).decode() == value
    except (binascii.Error, ValueError):
        return False


def _encode_path(name: str) -> Any:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return {"b64": base64.b64encode(name.encode("utf-8", "surrogateescape")).decode()}
    return name


def _decode_path(value: Any) -> str:
    """Read any repository-relative name, as receipts list them; unlike an item's it need not be claimable."""
    if isinstance(value, str) and value and "\0" not in value:
        return value
    if (
        isinstance(value, dict)
        and value.keys() == {"b64"}
        and isinstance(value["b64"], str)
        and _is_base64(value["b64"])
    ):
        name = base64.b64decode(value["b64"]).decode("utf-8", "surrogateescape")
        if isinstance(_encode_path(name), dict) and "\0" not in name:
            return name
    raise ValueError('a path, or {"b64": ...} for one that is not UTF-8')


agent = text(ids.is_agent, "an agent name")
patterns = text(ids.is_pattern_list, "names or patterns joined by commas")
nonce = text(ids.is_nonce, "32 hex digits")
oid = text(ids.is_oid, "an object id")
session = text(ids.is_session, "a session name")
uuid = text(ids.is_uuid, "a UUID")
key = text(_is_key, "a public key")
base64_text = text(_is_base64, "base64")
line = text(is_clean_line, "one line of at most 500 characters without control characters")
stamp_name = text(lambda value: bool(value) and len(value) <= 64 and is_clean_line(value), "a stamp name")
task = text(lambda value: is_canonical(ItemKind.TASK, value), "a task id")
path = Field(_decode_path, _encode_path)
item = Field(item_from_json, item_to_json)


def _read_stamp(value: Any) -> int:
    if not isinstance(value, str):
        raise ValueError("a time like 2026-01-31T12:00:00Z")
    try:
        return parse_stamp(value)
    except ValueError:
        raise ValueError("a time like 2026-01-31T12:00:00Z") from None


stamp = Field(_read_stamp, format_stamp)
