"""Where a watch has come to, as one word that a person can copy: ledger position, and what was reported of the rest."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from git_coord.errors import CoordError, Kind

LIMIT = 1 << 20
"""Bytes of a cursor unpacked, at most: it comes from a command line or a file."""


@dataclass(slots=True)
class Cursor:
    """What was reported; `is_new` when only the position is known, so that the rest begins with what is now.

    `presence` maps an agent to the state reported, the state seen since and when that began (seconds since the epoch);
    `posts` maps `agent/id` to a mark of its content and how often that changed.
    """

    ops: int
    is_new: bool = True
    stale: set[int] = field(default_factory=set)
    presence: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    posts: dict[str, tuple[str, int]] = field(default_factory=dict)
    rejected: str = ""


def encode(cursor: Cursor) -> str:
    """Return the cursor as a word: the position, a dot, and the rest packed."""
    if cursor.is_new:
        return str(cursor.ops)
    rest = [sorted(cursor.stale), cursor.presence, cursor.posts, cursor.rejected]
    packed = zlib.compress(json.dumps(rest, separators=(",", ":")).encode("ascii"), 9)
    return f"{cursor.ops}.{base64.urlsafe_b64encode(packed).decode('ascii').rstrip('=')}"


def decode(word: str) -> Cursor:
    """Return the cursor of a word, or of a bare ledger position; raises CoordError(USAGE) for anything else."""
    ops, dot, packed = word.strip().partition(".")
    if not (ops.isascii() and ops.isdigit() and len(ops) < 16):
        raise _wrong(word)
    if not dot:
        return Cursor(int(ops))
    try:
        return _unpacked(int(ops), packed)
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error, binascii.Error, RecursionError):
        raise _wrong(word) from None


def _unpacked(ops: int, packed: str) -> Cursor:
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), LIMIT)
    if not unpacker.eof:
        raise ValueError(packed)
    stale, presence, posts, rejected = json.loads(text)
    states = {str(agent): (str(a), str(b), int(since)) for agent, (a, b, since) in _object(presence).items()}
    marks = {str(name): (str(mark), int(n)) for name, (mark, n) in _object(posts).items()}
    return Cursor(ops, False, {int(token) for token in stale}, states, marks, str(rejected))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(value)
    return value


def _wrong(word: str) -> CoordError:
    return CoordError(Kind.USAGE, f"{word[:60]!r} is no cursor: a ledger position, or what watch printed")
