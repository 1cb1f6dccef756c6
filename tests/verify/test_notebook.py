"""What the hooks note, how entries are cut into receipts, and where records lie in notes."""

from __future__ import annotations

import pytest

from git_coord.domain.announcements import ReceiptEntry, TouchedPath
from git_coord.domain.carried import TreeEntry
from git_coord.domain.ids import Oid
from git_coord.domain.receipts import (
    END,
    FLAT,
    MAX_COMMITS,
    MAX_PATHS,
    ROOM,
    Noted,
    batches,
    made,
    note_paths,
    noted_commit,
    parse_line,
    records_in,
)

A, B, H, I = (Oid(digit * 40) for digit in "ab12")  # noqa: E741


def test_lines_say_commit_head_bypass_and_agent() -> None:
    assert parse_line(f"commit {A} {H} 0 alpha".encode()) == Noted(A, None, H, False, "alpha")
    assert parse_line(f"rewrite {A} {B} {H} 1 -".encode()) == Noted(B, A, H, True, None)
    assert parse_line(f"commit {'c' * 64} - 0 alpha".encode()) == Noted(Oid("c" * 64), None, None, False, "alpha")


@pytest.mark.parametrize(
    "line",
    [b"", b"commit", f"commit {A} {H} 0".encode(), f"commit {A[:9]} {H} 0 alpha".encode(), b"\xff\xfe",
     f"commit {A} {H} 2 alpha".encode(), f"commit {A} {H} 0 Alpha".encode(), f"rewrite x {A} {H} 0 alpha".encode(),
     f"commit {A} HEAD 0 alpha".encode(), f"forget {A} {H} 0 alpha".encode()],
)  # fmt: skip
def test_a_torn_line_says_nothing(line: bytes) -> None:
    assert parse_line(line) is None


def test_of_several_lines_the_last_head_counts_and_any_bypass() -> None:
    lines = [Noted(A, None, H, True, None), Noted(A, B, I, False, None), Noted(B, None, None, False, None)]
    assert made(lines) == {A: (I, True)}


def test_a_receipt_takes_256_commits() -> None:
    entries = [ReceiptEntry(Oid(f"{n:040x}"), H, False, ()) for n in range(MAX_COMMITS + 1)]
    assert [len(part) for part in batches(entries)] == [MAX_COMMITS, 1]
    assert list(batches([])) == []


def test_a_receipt_stays_below_a_mebibyte_whatever_the_names() -> None:
    long = "\u00e9" * 2000  # six bytes each in a statement
    paths = (TouchedPath(f"{long}{n}", None, TreeEntry("100644", A)) for n in range(5))
    entries = [ReceiptEntry(Oid(f"{n:040x}"), H, False, (path,) * 40) for n, path in enumerate(paths)]
    parts = list(batches(entries))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert all(len(str(part)) < ROOM for part in parts)


def test_paths_beyond_what_a_receipt_may_list_are_left_out() -> None:
    many = ReceiptEntry(A, H, False, tuple(TouchedPath(f"f{n}", None, None) for n in range(MAX_PATHS + 9)))
    [[kept]] = batches([many])
    assert kept.paths == many.paths[:MAX_PATHS]
    long = ReceiptEntry(A, H, False, tuple(TouchedPath("x" * 4000 + str(n), None, None) for n in range(1000)))
    [[cut]] = batches([long])
    assert 200 < len(cut.paths) < 300


def test_a_notes_tree_fans_out_like_gits() -> None:
    few = [Oid(f"{n:040x}") for n in range(FLAT)]
    assert note_paths(few) == {oid: oid for oid in few}
    assert note_paths([*few, A])[A] == f"aa/{A[2:]}"
    assert noted_commit(f"aa/{A[2:]}") == noted_commit(f"aa/aa/{A[4:]}") == noted_commit(A) == A
    assert noted_commit("README") is None


def test_records_are_found_among_words_that_people_appended() -> None:
    one, two = b'{"a":1}\n-----BEGIN SSH SIGNATURE-----\nAA\n' + END, b'{"b":2}\n-----BEGIN\n' + END
    assert records_in(one) == [one]
    assert records_in(b"some words\n\n" + one + b"\nmore {words}\n\n" + two + b"\nend\n") == [one, two]
    assert records_in(b"nothing here\n") == records_in(b"") == records_in(b"words\n" + END) == []
