"""One spelling for each JSON value, and nothing else is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.canonical import MAX_INTEGER, dumps, loads
from git_coord.errors import CoordError, Kind

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=12)


def why(data: bytes) -> str:
    """Return the words with which bytes are refused."""
    with pytest.raises(CoordError) as caught:
        loads(data)
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message.removeprefix("not canonical JSON: ")


@settings(deadline=None)
@given(values)
def test_every_value_is_read_back_from_its_one_spelling(value: object) -> None:
    data = dumps(value)
    assert data.isascii()
    assert loads(data) == value
    for other in (json.dumps(value, indent=1), json.dumps(value, sort_keys=True), json.dumps(value) + "\n"):
        if other.encode() != data:
            assert why(other.encode()) == "not in canonical form"


@settings(deadline=None)
@given(values, st.integers(0), st.integers(0, 255))
def test_changed_bytes_are_read_only_if_they_spell_what_is_read(value: object, at: int, byte: int) -> None:
    data = bytearray(dumps(value))
    data[at % len(data)] = byte
    try:
        read = loads(bytes(data))
    except CoordError as trouble:
        assert trouble.kind is Kind.UNTRUSTED  # noqa: PT017 - both ends are right
    else:
        assert dumps(read) == bytes(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "malformed"),
        (b"{", "malformed"),
        (b"\xff", "malformed"),
        (b'{"a":1}x', "malformed"),
        (b"{'a':1}", "malformed"),
        (b'"\n"', "malformed"),
        (b'{"a":1,"a":1}', "not in canonical form"),
        (b'{"a":1,"a":2}', "not in canonical form"),
        (b'{"b":1,"a":1}', "not in canonical form"),
        (b'{"a": 1}', "not in canonical form"),
        (b'{"a":1}\n', "not in canonical form"),
        (b"\xef\xbb\xbf1", "not in canonical form"),
        (b"1\x00", "not in canonical form"),
        (b"-0", "not in canonical form"),
        (b'"\\/"', "not in canonical form"),
        (b'"\\u0041"', "not in canonical form"),
        (b'"\\u00E9"', "not in canonical form"),
        (b'"\\x41"', "malformed"),
        ('"é"'.encode(), "not in canonical form"),
        (b'"\\ud800"', "lone surrogate"),
        (b'"\\udc00"', "lone surrogate"),
        (b'"\\ude00\\ud83d"', "lone surrogate"),
        (b'{"\\ud800":1}', "lone surrogate"),
        (b"1.0", "number is not an integer"),
        (b"1e3", "number is not an integer"),
        (b"NaN", "number is not an integer"),
        (b"-Infinity", "number is not an integer"),
        (b"9007199254740992", "integer too large"),
        (b"-9007199254740992", "integer too large"),
        (b"1" * 5000, "integer too large"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_any_other_bytes_are_untrusted(data: bytes, reason: str) -> None:
    assert why(data) == reason


def test_the_spelling_is_ascii_sorted_and_without_blanks() -> None:
    value = {"b": [None, True, -1, 'é\U0001f600\x7f\n"\\/'], "a": {}, "é": "", "Z": MAX_INTEGER}
    spelled = '{"Z":9007199254740991,"a":{},"b":[null,true,-1,"\\u00e9\\ud83d\\ude00\\u007f\\n\\"\\\\/"],"\\u00e9":""}'
    assert dumps(value) == spelled.encode()
    assert loads(spelled.encode()) == value
