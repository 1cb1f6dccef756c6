"""Text that others wrote: what is refused in it, and how it is shown."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.text import FORBIDDEN, escape_for_display, is_clean_line, is_utf8


def test_the_forbidden_code_points_are_ordered_ranges_within_unicode():
    flat = [point for pair in sorted(FORBIDDEN) for point in pair]
    assert all(first <= last for first, last in FORBIDDEN)
    assert flat == sorted(flat)
    assert flat[-1] == 0x10FFFF


@settings(deadline=None)  # the machine may be busy
@given(st.text(st.characters(), max_size=8), st.sampled_from(sorted(FORBIDDEN)), st.booleans())
def test_a_line_is_clean_exactly_when_no_forbidden_code_point_is_in_it(text, span, use_last):
    bad = chr(span[use_last])
    clean = "".join(char for char in text if not any(first <= ord(char) <= last for first, last in FORBIDDEN))
    assert is_clean_line(clean)
    assert escape_for_display(clean) == clean
    assert not is_clean_line(clean + bad)
    assert is_clean_line(escape_for_display(clean + bad))


def test_a_line_has_at_most_500_characters():
    assert is_clean_line("é" * 500)
    assert not is_clean_line("x" * 501)


def test_only_names_without_surrogates_are_utf8():
    assert [is_utf8(name) for name in ("a", "é", "\U0001f600", "\udce9", "\ud800")] == [True, True, True, False, False]
