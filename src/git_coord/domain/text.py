"""Text that others wrote: which code points may be in it, and how it is shown."""

from __future__ import annotations

import re
from functools import cache

MAX_LINE = 500

_NONCHARACTERS = tuple((plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(17))

# Fixed here, never asked of the running Python: whether a record is valid must not change with a Unicode version.
FORBIDDEN: tuple[tuple[int, int], ...] = (
    (0x0000, 0x001F),  # C0: escapes, newlines, NUL
    (0x007F, 0x009F),  # DEL and C1
    (0x00AD, 0x00AD),  # soft hyphen
    (0x061C, 0x061C),  # Arabic letter mark
    (0x180E, 0x180E),  # Mongolian vowel separator
    (0x200B, 0x200F),  # zero width, direction marks
    (0x2028, 0x202E),  # line and paragraph separator, bidi embedding
    (0x2060, 0x206F),  # word joiner, bidi isolates
    (0xD800, 0xDFFF),  # surrogates
    (0xFDD0, 0xFDEF),  # noncharacters, as are the last two of each plane
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFF9, 0xFFFB),  # interlinear annotation
    (0xE0000, 0xE007F),  # tags
    *_NONCHARACTERS,
)

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def is_utf8(name: str) -> bool:
    """Tell whether a name read with `surrogateescape` was UTF-8 (and is no lone surrogate of another origin)."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_clean_line(text: str) -> bool:
    """Tell whether the text is one line of at most 500 characters without a forbidden code point."""
    return len(text) <= MAX_LINE and (_is_plain(text) or not _forbidden().search(text))


def escape_for_display(text: str) -> str:
    r"""Show each forbidden code point as `\n`, `\t`, `\r`, `\xNN` (ASCII, or a byte that is not UTF-8), `\uNNNN`."""
    return text if _is_plain(text) else _forbidden().sub(_escape, text)


def _is_plain(text: str) -> bool:
    # For ASCII alone `isprintable` is the same in every Python.
    return text.isascii() and text.isprintable()


@cache
def _forbidden() -> re.Pattern[str]:
    return re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in FORBIDDEN) + "]")


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
