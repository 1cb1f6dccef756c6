"""The flat files of the guard: what goes in comes out, and nothing else is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_coord.guard.snapshot import (
    NO_FILE,
    decode_claims,
    decode_policy,
    encode_claims,
    encode_policy,
    escape,
    stamp,
    unescape,
)

REFS = b"1" * 40 + b" refs/coord/claims\n" + b"2" * 40 + b" refs/coord/requests/items\n"
PATHS = st.binary(min_size=1).filter(lambda path: b"\0" not in path)


@given(PATHS)
def test_any_path_becomes_one_field_of_one_line_and_back(path: bytes) -> None:
    escaped = escape(path)
    assert not set(escaped) & set(b"\n\t")
    assert unescape(escaped) == path


def test_a_snapshot_is_written_as_documented() -> None:
    items = [(b"b", b"P", b"e", b"alpha", 1042, 9), (b"a\nb", b"G", b"r", b"beta", None, 8)]
    data = encode_claims("none", REFS, items)
    assert data == (
        b"git-coord-snap 1\nfold none\nrefs 2\n" + REFS + b"items 2\na\\nb\tG\tr\tbeta\t-\t8\nb\tP\te\talpha\t1042\t9\n"
    )
    assert decode_claims(data) == (b"none", REFS, [b"a\\nb\tG\tr\tbeta\t-\t8", b"b\tP\te\talpha\t1042\t9"], True)


def test_an_empty_snapshot_is_a_snapshot() -> None:
    assert decode_claims(encode_claims("case+nfc", b"", [])) == (b"case+nfc", b"", [], False)


def test_a_snapshot_cut_off_anywhere_is_none() -> None:
    data = encode_claims("none", REFS, [(b"items 1", b"P", b"e", b"alpha", 1, 9), (b"b", b"P", b"e", b"alpha", 1, 9)])
    assert [length for length in range(len(data)) if decode_claims(data[:length]) is not None] == []
    assert decode_claims(data) is not None


@pytest.mark.parametrize("data", [b"", b"git-coord-snap 2\nfold none\nrefs 0\nitems 0\n", b"\0" * 100])
def test_another_form_is_none(data: bytes) -> None:
    assert decode_claims(data) is None
    assert decode_policy(data, NO_FILE) is None


def test_rules_are_believed_only_for_the_file_they_were_made_from() -> None:
    rules = [(b"R", b"P", b"src"), (b"X", b"G", b"*.m\td")]
    data = encode_policy("none", stamp(1, 2, 3), rules)
    assert data == b"git-coord-policy 1\nfold none\nstamp 1 2 3\nrules 2\nR\tP\tsrc\nX\tG\t*.m\\td\n"
    assert decode_policy(data, stamp(1, 2, 3)) == (b"none", rules)
    assert decode_policy(data, stamp(1, 3, 3)) is None
    assert decode_policy(data, NO_FILE) is None
    assert [n for n in range(len(data)) if decode_policy(data[:n], stamp(1, 2, 3)) is not None] == []
