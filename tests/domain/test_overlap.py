"""Overlap is exact: the cases of the design, and every pair of kinds against all paths of a small world."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from git_coord.domain.fold import Fold
from git_coord.domain.ids import Oid
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.overlap import covers, overlaps, same_item

BLOB = Oid("a" * 40)


def path(name: str) -> Item:
    return Item(ItemKind.PATH, name, Intent.EDIT)


def file(name: str) -> Item:
    return Item(ItemKind.PATH, name, Intent.EDIT, BLOB)


def to_be(name: str) -> Item:
    return Item(ItemKind.PATH, name, Intent.EDIT, file=True)


def glob(name: str) -> Item:
    return Item(ItemKind.GLOB, name, Intent.EDIT)


def task(name: str) -> Item:
    return Item(ItemKind.TASK, name, Intent.EDIT)


@pytest.mark.parametrize(
    ("one", "two", "fold", "expected"),
    [
        (path("src"), path("src/x.py"), Fold.NONE, True),
        (file("src"), file("src/x.py"), Fold.NONE, True),
        (path("src"), path("src2/a"), Fold.NONE, False),
        (path("src/a"), path("src/a.txt"), Fold.NONE, False),
        (path("."), path("a"), Fold.NONE, True),
        (path("."), glob("x/*.py"), Fold.NONE, True),
        (file("."), glob("x/*.py"), Fold.NONE, True),
        (path("app/[id].tsx"), path("app/i.tsx"), Fold.NONE, False),
        (glob("app/[id].tsx"), path("app/i.tsx"), Fold.NONE, False),
        (path("*"), path("a"), Fold.NONE, False),
        (path("A"), path("a"), Fold.NONE, False),
        (path("A"), path("a/b"), Fold.CASE_NFC, True),
        (path("cafe\u0301"), path("CAFÉ"), Fold.CASE_NFC, True),
        (path("cafe\u0301"), path("café"), Fold.NONE, False),
        (path("SRC"), path("src/\udce9"), Fold.CASE_NFC, True),
        (path("\udce9a"), path("\udce9A"), Fold.CASE_NFC, False),
        (file("README.md"), glob("**/*.py"), Fold.NONE, False),
        (to_be("d/new.py"), glob("d/**/*.sql"), Fold.NONE, False),
        (to_be("d/new.sql"), glob("d/**/*.sql"), Fold.NONE, True),
        (to_be("d"), path("d/a"), Fold.NONE, True),
        (to_be("."), glob("x/*.py"), Fold.NONE, True),
        (path("README.md"), glob("**/*.py"), Fold.NONE, True),
        (file("a/b.py"), glob("**/*.py"), Fold.NONE, True),
        (file("a/b.py/c"), glob("**/*.py"), Fold.NONE, False),
        (file("src"), glob("src/*.py"), Fold.NONE, False),
        (path("src"), glob("src/*.py"), Fold.NONE, True),
        (path("src/x"), glob("src/*.py"), Fold.NONE, False),
        (path("src/x.py"), glob("src/*.py"), Fold.NONE, True),
        (path("src/x.py/y"), glob("src/*.py"), Fold.NONE, False),
        (path("src/x"), glob("src/**"), Fold.NONE, True),
        (file("src"), glob("src/**"), Fold.NONE, True),
        (file("src"), glob("**/*.py"), Fold.NONE, False),
        (path("src"), glob("**/*.py"), Fold.NONE, True),
        (path("src/x/y"), glob("*/*"), Fold.NONE, False),
        (path("lib"), glob("src/*.py"), Fold.NONE, False),
        (file("SRC/a.PY"), glob("src/*.py"), Fold.CASE_NFC, True),
        (file("\udce9.PY"), glob("*.PY"), Fold.CASE_NFC, True),
        (glob("src/*.py"), glob("src/*.js"), Fold.NONE, False),
        (glob("src/*.py"), glob("src/a*"), Fold.NONE, True),
        (glob("src/*.py"), glob("src/?/x"), Fold.NONE, False),
        (glob("src/*"), glob("src/?/x"), Fold.NONE, False),
        (glob("src/**"), glob("src/?/x"), Fold.NONE, True),
        (glob("a*b"), glob("*ab"), Fold.NONE, True),
        (glob("a*b"), glob("a*c"), Fold.NONE, False),
        (glob("a*b"), glob("b*b"), Fold.NONE, False),
        (glob("a*b"), glob("?"), Fold.NONE, False),
        (glob("a*b"), glob("??"), Fold.NONE, True),
        (glob("**/a*b"), glob("*/a?"), Fold.NONE, True),
        (glob("**/a*b"), glob("*/a"), Fold.NONE, False),
        (glob("a/**/x"), glob("b/**/x"), Fold.NONE, False),
        (glob("**/*.py"), glob("**/*.js"), Fold.NONE, False),
        (glob("**/*.py"), glob("src/**"), Fold.NONE, True),
        (glob("**/*.py"), glob("src/**/*.js"), Fold.NONE, False),
        (glob("**/test/**"), glob("src/**"), Fold.NONE, True),
        (glob("**/test/**"), glob("src/*.py"), Fold.NONE, False),
        (glob("**/test/*"), glob("src/*/*.py"), Fold.NONE, True),
        (glob("src"), glob("src/**"), Fold.NONE, True),
        (glob("src"), glob("src/*"), Fold.NONE, False),
        (glob("?"), glob(".*"), Fold.NONE, False),
        (glob(".?"), glob("?."), Fold.NONE, False),
        (task("E"), task("E/1"), Fold.NONE, True),
        (task("E"), task("E1"), Fold.NONE, False),
        (task("E"), task("e"), Fold.CASE_NFC, False),
        (task("E"), path("E"), Fold.NONE, False),
        (task("E"), path("."), Fold.NONE, False),
        (task("E"), glob("**"), Fold.NONE, False),
    ],
)
def test_two_items_overlap_when_a_path_or_task_exists_that_both_cover(one, two, fold, expected):
    assert overlaps(one, two, fold) is expected
    assert overlaps(two, one, fold) is expected


@pytest.mark.parametrize(
    ("item", "name", "fold", "expected"),
    [
        (path("src"), "src/a", Fold.NONE, True),
        (path("src"), "src", Fold.NONE, True),
        (path("src"), "src2/a", Fold.NONE, False),
        (path("a.txt/f"), "a.txt", Fold.NONE, True),
        (file("a.txt"), "a.txt/f", Fold.NONE, True),
        (path("."), "x", Fold.NONE, True),
        (path("app/[id].tsx"), "app/i.tsx", Fold.NONE, False),
        (path("app/[id].tsx"), "app/[id].tsx", Fold.NONE, True),
        (glob("src/*.py"), "src", Fold.NONE, False),
        (glob("src/*.py"), "src/a.py", Fold.NONE, True),
        (glob("src/*.py"), "src/a.py/b", Fold.NONE, False),
        (glob("src"), "src", Fold.NONE, True),
        (glob("src"), "src/a", Fold.NONE, False),
        (glob("src/**"), "src/a/b", Fold.NONE, True),
        (glob("**/*.py"), "README.md", Fold.NONE, False),
        (glob("SRC/**"), "src/é", Fold.CASE_NFC, True),
        (task("a"), "a", Fold.NONE, False),
    ],
)
def test_an_item_covers_the_files_that_are_its_business(item, name, fold, expected):
    assert covers(item, name, fold) is expected


@pytest.mark.parametrize(
    ("one", "two", "fold", "expected"),
    [
        (path("a"), file("a"), Fold.NONE, True),
        (path("a"), path("A"), Fold.NONE, False),
        (path("a"), path("A"), Fold.CASE_NFC, True),
        (path("a"), glob("a"), Fold.NONE, False),
        (path("a"), task("a"), Fold.NONE, False),
        (task("a"), task("A"), Fold.CASE_NFC, False),
        (glob("*.PY"), glob("*.py"), Fold.CASE_NFC, True),
        (glob("**"), glob("**/**"), Fold.NONE, False),
    ],
)
def test_items_are_the_same_when_kind_and_folded_name_are(one, two, fold, expected):
    assert same_item(one, two, fold) is expected


# A small world: every path of up to three components over `a` and `.`, each of up to three characters.
NAMES = [name for size in (1, 2, 3) for name in map("".join, product("a.", repeat=size)) if name not in (".", "..")]
WORLD = [names for depth in (1, 2, 3) for names in product(NAMES, repeat=depth)]


def matches_part(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return any(matches_part(part[1:], name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and part[0] in ("?", name[0]) and matches_part(part[1:], name[1:])


MATCHES = {
    (part, name): matches_part(part, name)
    for size in (1, 2)
    for part in map("".join, product("a.*?", repeat=size))
    for name in NAMES
}


def matches(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(matches(parts[1:], names[skip:]) for skip in range(len(names) + 1))
    return bool(names) and MATCHES[parts[0], names[0]] and matches(parts[1:], names[1:])


def in_cover(item: Item, names: tuple[str, ...], against_glob: bool) -> bool:
    parts = () if item.name == "." else tuple(item.name.split("/"))
    if item.kind is ItemKind.GLOB:
        return matches(parts, names)
    if item.is_one_file and against_glob:
        return names == parts
    return names[: len(parts)] == parts


def fixed_parts(item: Item) -> int:
    return sum(part not in ("**", ".") for part in item.name.split("/"))


def is_shallow(item: Item, against_glob: bool) -> bool:
    """Tell whether the item covers nothing beyond three components."""
    if item.kind is ItemKind.GLOB:
        return "**" not in item.name.split("/")
    return item.is_one_file and against_glob


PARTS = st.just("**") | st.sampled_from(
    [part for size in (1, 2) for part in map("".join, product("a.*?", repeat=size))]
).filter(lambda part: part not in (".", ".."))
LITERALS = st.lists(st.sampled_from(["a", "aa", ".a", "a.", "..."]), min_size=1, max_size=3).map("/".join)
PATHS = st.builds(Item, st.just(ItemKind.PATH), LITERALS, st.just(Intent.EDIT), st.sampled_from([None, BLOB]))
GLOBS = st.lists(PARTS, min_size=1, max_size=3).map("/".join).map(glob)
ITEMS = PATHS | GLOBS | st.just(path("."))


@settings(max_examples=400, deadline=None)
@given(ITEMS, ITEMS)
@example(glob("**/.?"), glob("?./**"))
@example(glob("**/a/.?"), glob("?."))
def test_overlap_is_what_trying_every_path_says(one, two):
    one_is_glob, two_is_glob = one.kind is ItemKind.GLOB, two.kind is ItemKind.GLOB
    # Of two deep ones that fix more than three components together, the proof may lie outside the small world.
    shallow = is_shallow(one, two_is_glob) or is_shallow(two, one_is_glob)
    assume(shallow or fixed_parts(one) + fixed_parts(two) <= 3 or not (one_is_glob or two_is_glob))
    proof = any(in_cover(one, names, two_is_glob) and in_cover(two, names, one_is_glob) for names in WORLD)
    assert overlaps(one, two, Fold.NONE) is proof
    assert overlaps(two, one, Fold.NONE) is proof


@settings(deadline=None)
@given(ITEMS, st.sampled_from(WORLD))
def test_cover_is_what_matching_the_long_way_says(item, names):
    parts = () if item.name == "." else tuple(item.name.split("/"))
    expected = in_cover(item, names, False)
    if item.kind is ItemKind.PATH:
        expected = expected or parts[: len(names)] == names
    assert covers(item, "/".join(names), Fold.NONE) is expected
