"""Stamps are whole seconds of UTC from 1970 to 9999 in one shape."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.timestamps import MAX_STAMP, format_stamp, parse_stamp


@settings(deadline=None)
@given(st.integers(0, MAX_STAMP))
def test_stamps_agree_with_the_calendar_both_ways(seconds: int) -> None:
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert format_stamp(seconds) == text
    assert parse_stamp(text) == seconds


@settings(deadline=None)
@given(st.tuples(*(st.integers(0, high) for high in (9999, 13, 32, 24, 60, 60))))
def test_a_date_is_read_exactly_when_the_calendar_has_it(parts: tuple[int, ...]) -> None:
    text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*parts)
    year, month, day, hour, minute, second = parts
    try:
        expected = int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
    except ValueError:
        expected = -1
    if expected < 0:
        with pytest.raises(ValueError, match=text):
            parse_stamp(text)
    else:
        assert parse_stamp(text) == expected


def test_the_first_and_the_last_stamp_are_these() -> None:
    assert parse_stamp("1970-01-01T00:00:00Z") == 0
    assert parse_stamp("9999-12-31T23:59:59Z") == MAX_STAMP
    assert format_stamp(MAX_STAMP) == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00z",
        "2026-01-01t00:00:00Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00.0Z",
        "2026-01-01T00:00:00+00:00",
        "2026-1-01T00:00:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T24:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-00-10T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "12026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z\n",
        " 2026-01-01T00:00:00Z",
        "\u0662026-01-01T00:00:00Z",
    ],
)
def test_every_other_shape_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="^" + (text[:4] if text.isascii() else "")):
        parse_stamp(text)
