"""The names of things: typed so that one cannot stand for another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NewType

Agent = NewType("Agent", str)
"""An agent's name, checked by `is_agent`; the only user-typed text that becomes part of a ref name."""
Oid = NewType("Oid", str)
"""A git object id in hex, 40 or 64 digits."""
Nonce = NewType("Nonce", str)
"""128 random bits in hex: how one statement names another operation or claim."""
Token = NewType("Token", int)
"""A fencing token: drawn from one counter at every grant, so it only grows."""
Session = NewType("Session", str)
"""Identity plus work context; the ledger keeps one current session an agent."""
KeyText = NewType("KeyText", str)
"""A public key as `<algorithm> <base64>`, no comment."""

_AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_NONCE = re.compile(r"[0-9a-f]{32}")
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_agent(text: str) -> bool:
    """Tell whether the text is a valid agent name (section 2 of the design)."""
    return bool(_AGENT.fullmatch(text)) and ".." not in text and not text.endswith((".", ".lock"))


def is_nonce(text: str) -> bool:
    """Tell whether the text is 32 lower-case hex digits."""
    return bool(_NONCE.fullmatch(text))


def is_oid(text: str) -> bool:
    """Tell whether the text is a full object id of either hash."""
    return bool(_OID.fullmatch(text))


def is_session(text: str) -> bool:
    """Tell whether the text can name a session."""
    return bool(_SESSION.fullmatch(text))


def is_uuid(text: str) -> bool:
    """Tell whether the text is a lower-case UUID."""
    return bool(_UUID.fullmatch(text))


_PATTERNS = re.compile(r"[!#-~]{1,500}")


def is_pattern_list(text: str) -> bool:
    """Tell whether the text can say under which names a key may join: OpenSSH patterns joined by commas."""
    return bool(_PATTERNS.fullmatch(text))


def matches(patterns: Sequence[str], text: str) -> bool:
    """Match an OpenSSH pattern list: some pattern fits, and no pattern behind a `!` does."""
    if any(pattern.startswith("!") and _fits(pattern[1:], text) for pattern in patterns):
        return False
    return any(_fits(pattern, text) for pattern in patterns if not pattern.startswith("!"))


def _fits(pattern: str, text: str) -> bool:
    """Match `*` and `?`, going back only to the last star: never slow, whatever the pattern."""
    at = here = 0
    star, mark = -1, 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, mark, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in ("?", text[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            mark += 1
            at, here = star + 1, mark
        else:
            return False
    return not pattern[at:].strip("*")
