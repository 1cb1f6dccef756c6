"""Globs: what one component can match, what a pattern matches, which two meet, how long the worst one takes."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.fold import Fold
from git_coord.domain.glob import FEW, Glob
from git_coord.domain.glob_part import ANY, Part, Places, is_wild, pieces_meet

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
    ("glob", "path", "matched"),
    [
        ("*.py", "a.py", True),
        ("*.py", ".py", True),
        ("*.py", "a.py/below/it", False),
        ("*.py", "src/a.py", False),
        ("*.py", "a.pyc", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("**/*.py", "a.py/b.js", False),
        ("src", "src", True),
        ("src", "src/x", False),
        ("src/**", "src", True),
        ("src/**", "src/x/y", True),
        ("src/**", "src2/x", False),
        ("src/*", "src", False),
        ("**", "any/thing", True),
        ("**/**", "any", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a", False),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/x/y/b/z", False),
        ("a/**/a", "a", False),
        ("a/**/b/**/c", "a/b/x/b/c", True),
        ("a/**/b/**/c", "a/c/b", False),
        ("**/x/y", "x/x/y", True),
        ("**/x/y", "x/y/y", False),
        ("**/x/y/**", "x/x/y/z", True),
        ("**/b/**/b/**", "a/b/a", False),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/c/d", False),
        ("a/*/c", "a/c", False),
        ("?", "é", True),
        ("?", "e\u0301", False),
        ("?", "ab", False),
        ("?*.py", ".py", False),
        ("?*.py", "a.py", True),
        ("a?*?b", "a_b", False),
        ("a?*?b", "a__b", True),
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
def test_a_glob_matches_whole_paths_component_by_component(glob, path, matched):
    assert Glob(glob, Fold.NONE).matches(path.split("/")) is matched


@pytest.mark.parametrize(
    ("glob", "path", "reached"),
    [
        ("src/*.py", "src", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a.py/b", False),
        ("src/*.py", "src/b", False),
        ("src", "src/b", False),
        ("src/**", "src/b/c", True),
        ("src/**/x", "src/b/c", True),
        ("src/*.py/**", "src/b/c", False),
        ("**/*.py", "README.md", True),
    ],
)
def test_a_glob_reaches_a_path_when_it_matches_something_at_or_below_it(glob, path, reached):
    assert Glob(glob, Fold.NONE).may_reach(path.split("/")) is reached


SMALL_GLOBS = ["/".join(parts) for size in (1, 2, 3, 4) for parts in product(["a", "b", "?", "**"], repeat=size)]
SMALL_PATHS = ["/" + "/".join(names) for size in range(1, 7) for names in product("ab", repeat=size)]


def small_oracle(glob: str) -> set[str]:
    """All small paths that the glob matches; each is spelled with a `/` before every component."""
    parts = {"**": "(?:/.)*", "?": "/."}
    pattern = re.compile("".join(parts.get(part, "/" + part) for part in glob.split("/")))
    return {path for path in SMALL_PATHS if pattern.fullmatch(path)}


@pytest.mark.parametrize("few", [FEW, -1], ids=["one by one", "by tables"])
def test_two_globs_meet_exactly_when_some_path_matches_both(few, monkeypatch):
    monkeypatch.setattr("git_coord.domain.glob.FEW", few)
    globs = [(glob, Glob(glob, Fold.NONE), small_oracle(glob)) for glob in SMALL_GLOBS]
    wrong = [
        (one, two)
        for (one, mine, my_paths), (two, theirs, their_paths) in product(globs[::3], globs)
        if mine.meets(theirs) == my_paths.isdisjoint(their_paths)
    ]
    assert wrong == []


@pytest.mark.parametrize("few", [FEW, -1], ids=["one by one", "by tables"])
def test_a_glob_matches_a_path_exactly_when_the_long_way_says_so(few, monkeypatch):
    monkeypatch.setattr("git_coord.domain.glob.FEW", few)
    for glob in SMALL_GLOBS:
        compiled = Glob(glob, Fold.NONE)
        assert {path for path in SMALL_PATHS if compiled.matches(path[1:].split("/"))} == small_oracle(glob)


def test_folding_reaches_a_glob_but_not_a_name_that_is_not_utf8():
    glob = Glob("SRC/*.PY", Fold.CASE_NFC)
    assert glob.matches(["src", "a.py"])
    assert not Glob("SRC/*.PY", Fold.NONE).matches(["src", "a.py"])
    assert glob.matches(["src", "\udce9.PY"])
    assert not glob.matches(["src", "\udce9.py"])


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
    mine, theirs = Part.compiled(one, Fold.CASE_NFC), Part.compiled(two, Fold.CASE_NFC)
    assert mine.meets(theirs) is meet
    assert theirs.meets(mine) is meet


COMPONENTS = st.text("aA.?*\udce9é", min_size=1, max_size=3).filter(lambda part: part not in DOTS and "**" not in part)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(COMPONENTS, max_size=8), COMPONENTS, st.sampled_from(Fold))
def test_the_tables_know_the_places_that_asking_one_by_one_finds(row, component, fold):
    part, parts = Part.compiled(component, fold), [Part.compiled(other, fold) for other in row]
    places = Places(parts).of(part)
    assert [bool(places >> place & 1) for place in range(len(row))] == [part.meets(other) for other in parts]


def test_wildcards_are_star_and_question_mark_only():
    assert [is_wild(part) for part in ("a", "[a]", "{a}", "\\", "*", "a?", "**")] == [False] * 4 + [True] * 3


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("/".join(["**", *["a?"] * 1000, "b?", "**"]), "/".join(["aa"] * 1365)),
        ("/".join(["**", *["?a"] * 600, "b?", "**"]), "/".join(["aa"] * 1365)),
        ("*" + "a?" * 1000 + "b*", "a" * 4096),
        ("*a" * 8, "a" * 4095 + "b"),
        ("**/a/" * 8 + "b", "/".join("a" * 2000)),
    ],
)
def test_the_worst_pattern_does_not_search_for_ever(glob, path):
    assert Glob(glob, Fold.NONE).matches(path.split("/")) is False


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (["**", *["?"] * 1000, "b", "**"], ["a"] * 2048),
        (["**", *[f"{chr(code)}?" for code in range(256, 1256)], "xyz", "**"], [f"?{n % 10}" for n in range(1365)]),
        (["**", *["?"] * 700, "ab", "**", "*"], ["?"] * 2048),
        (["**", *["??"] * 500, ".?", "**", "*"], ["?."] * 1365),
        (["**", "a", "a"] * 8 + ["b"], ["?"] * 2000 + ["a"]),
        (["**", "*" + "a?" * 1000 + "b*", "**"], ["?" * 2000, "a" * 2000]),
    ],
)
def test_the_worst_pair_of_patterns_does_not_search_for_ever(one, two):
    mine, theirs = Glob("/".join(one), Fold.NONE), Glob("/".join(two), Fold.NONE)
    assert mine.meets(theirs) is theirs.meets(mine) is False
