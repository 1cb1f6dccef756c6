"""Canonical JSON: one spelling for each value, so that signed bytes and parsed values cannot disagree.

The form is Python's `json.dumps(sort_keys=True, ensure_ascii=True, separators=(",", ":"))`, with integers below 2^53
in magnitude, no floats, no lone surrogates and no duplicate keys. A reader re-serialises and compares the bytes.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from git_coord.errors import CoordError, Kind

MAX_INTEGER = 2**53 - 1


def dumps(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value, without a newline."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def loads(data: bytes) -> Any:
    """Return the value of canonical JSON bytes.

    Raises CoordError(UNTRUSTED) when the bytes are not JSON or are another spelling of it.
    """
    try:
        value = json.loads(data, parse_float=_refuse, parse_constant=_refuse, parse_int=_integer)
        if dumps(value) != data:
            _refuse("not in canonical form")
        if b"\\ud" in data:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as trouble:
        raise CoordError(Kind.UNTRUSTED, f"not canonical JSON: {_reason(trouble)}") from None
    return value


def _integer(text: str) -> int:
    if len(text) > len(str(MAX_INTEGER)) + 1:
        _refuse("integer too large")
    number = int(text)
    if abs(number) > MAX_INTEGER:
        _refuse("integer too large")
    return number


def _refuse(what: str) -> NoReturn:
    raise ValueError(what if what.startswith(("not", "integer")) else "number is not an integer")


def _reason(trouble: Exception) -> str:
    if isinstance(trouble, RecursionError):
        return "nested too deeply"
    if isinstance(trouble, UnicodeEncodeError):
        return "lone surrogate"
    if isinstance(trouble, json.JSONDecodeError | UnicodeDecodeError):
        return "malformed"
    return str(trouble)
