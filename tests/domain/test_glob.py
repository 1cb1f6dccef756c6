"""Globs: what one component can match, what a pattern covers, how long the worst one takes."""

from __future__ import annotations

import re
from itertools import product

import pytest

from git_coord.domain.fold import Fold
from git_coord.domain.glob import ANY, Glob, Part, is_wild, pieces_meet

DOTS = ("", ".", "..")


def words(alphabet: str, longest: int) -> list[str]:
    return ["".join(word) for size in range(1, longest + 1) for word in product(alphabet, repeat=size)]


def oracle(component: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in component), re.DOTALL)


def pieces(component: str) -> tuple[str, ...]:
    return tuple(component.replace("?", ANY).split("*"))


def test_two_components_meet_exactly_when_some_name_matches_both():
    names = [name for name in words("ab.", 5) if name not in DOTS]
    parts = [part for part in words("ab.*?", 3) if part not in DOTS and "**" not in part]
    matched = {part: {name for name in names if oracle(part).fullmatch(name)} for part in parts}
    wrong = [
        (one, two)
        for one, two in product(parts, repeat=2)
        if pieces_meet(pieces(one), pieces(two)) != bool(matched[one] & matched[two])
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("one", "two", "meet"),
    [
        ("?", ".*", False),
        (".?", "?.", False),
        ("??", ".*.", False),
        (".?", "*", True),
        (".*", "*.", True),
        ("*ab*cd*", "?ac??", False),
        ("*ab*cd*", "?a?c??", True),
        ("*ab*cd*", "?a??c?", True),
        ("a*b", "b*a", False),
        ("*?*", "?", True),
        ("*a?b*", "xxayyb", False),
        ("*a?b*", "xxa?yb", True),
        ("*a?b*", "xxa??a?b", True),
        ("a*aa", "a?", False),
    ],
)
def test_components_meet_when_a_name_other_than_dots_is_in_both(one, two, meet):
    assert pieces_meet(pieces(one), pieces(two)) is meet
    assert pieces_meet(pieces(two), pieces(one)) is meet


@pytest.mark.parametrize(
    ("glob", "path", "covered"),
    [
        ("*.py", "a.py", True),
        ("*.py", ".py", True),
        ("*.py", "a.py/below/it", True),
        ("*.py", "src/a.py", False),
        ("*.py", "a.pyc", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("src/**", "src", True),
        ("src/**", "src/x/y", True),
        ("src/**", "src2/x", False),
        ("**", "any/thing", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b/z", True),
        ("a/**/b/**/c", "a/b/x/b/c", True),
        ("a/**/b/**/c", "a/c/b", False),
        ("**/x/y", "x/x/y", True),
        ("a/*/c", "a/b/c/d", True),
        ("a/*/c", "a/c", False),
        ("?", "é", True),
        ("?", "e\u0301", False),
        ("?", "ab", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("{a,b}*", "{a,b}.c", True),
        ("a\\*", "a*", False),
        ("a\\*", "a\\x", True),
        ("*", "nl\nname", True),
        ("*", "what?", True),
        ("what?", "what?", True),
        ("a?b*", "a?b*", True),
    ],
)
def test_a_glob_covers_what_it_matches_and_all_below(glob, path, covered):
    assert Glob(glob, Fold.NONE).covers(path.split("/")) is covered


def test_folding_reaches_a_glob_but_not_a_name_that_is_not_utf8():
    glob = Glob("SRC/*.PY", Fold.CASE_NFC)
    assert glob.covers(["src", "a.py"])
    assert not Glob("SRC/*.PY", Fold.NONE).covers(["src", "a.py"])
    assert glob.covers(["src", "\udce9.PY"])
    assert not glob.covers(["src", "\udce9.py"])


@pytest.mark.parametrize(
    ("one", "two", "meet"),
    [
        ("A*", "a*", True),
        ("A*", "A*\udce9", True),
        ("a*", "A*\udce9", False),
        ("A*", "a\udce9*", False),
        ("*.PY", "\udce9*.PY", True),
        ("É*", "e\u0301?", True),
    ],
)
def test_a_part_for_names_that_are_not_utf8_meets_the_other_as_written(one, two, meet):
    assert Part(one, Fold.CASE_NFC).meets(Part(two, Fold.CASE_NFC)) is meet
    assert Part(two, Fold.CASE_NFC).meets(Part(one, Fold.CASE_NFC)) is meet


def test_wildcards_are_star_and_question_mark_only():
    assert [is_wild(part) for part in ("a", "[a]", "{a}", "\\", "*", "a?", "**")] == [False] * 4 + [True] * 3


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("/".join(["**", *["a?"] * 1000, "b?"]), "/".join(["aa"] * 1365)),
        ("/".join(["**", *["?a"] * 600, "b?"]), "/".join(["aa"] * 1365)),
        ("*" + "a?" * 1000 + "b*", "a" * 4096),
        ("*a" * 8, "a" * 4095 + "b"),
        ("**/a/" * 8 + "b", "/".join("a" * 2000)),
    ],
)
def test_the_worst_pattern_does_not_search_for_ever(glob, path):
    assert Glob(glob, Fold.NONE).covers(path.split("/")) is False
