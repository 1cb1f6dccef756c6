"""Objects as a git pack, the form in which one process takes many of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from git_coord.domain.digest import new
from git_coord.domain.merkle import GitObject

_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}


def pack(objects: Sequence[GitObject], algorithm: str) -> bytes:
    """Return a pack of whole objects (no deltas); the trailing hash lets git notice when a part is missing."""
    parts = [b"PACK", (2).to_bytes(4, "big"), len(objects).to_bytes(4, "big")]
    for made in objects:
        parts += [_entry_header(_TYPES[made.type], len(made.data)), zlib.compress(made.data, 1)]
    content = b"".join(parts)
    return content + new(algorithm, content).digest()


def _entry_header(type_: int, size: int) -> bytes:
    """Four bits of the size beside the type, then seven a byte; the top bit says that more follow."""
    header = bytearray()
    byte, size = type_ << 4 | size & 15, size >> 4
    while size:
        header.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    header.append(byte)
    return bytes(header)
