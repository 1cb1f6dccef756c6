"""Overlap by brute force: every path of a small world is tried; shares no code with `git_coord.domain`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import NamedTuple

Names = tuple[str, ...]


class Thing(NamedTuple):
    """An item as a statement spells it; `kind` is "path", "glob", "task" or "branch"."""

    kind: str
    name: str
    pinned: bool = False

    @property
    def family(self) -> str:
        """What it can have something in common with: tasks, branches, or what files are named by."""
        return self.kind if self.kind in ("task", "branch") else "file"


def thing_of(item: dict[str, str]) -> Thing:
    """Return the item of a statement's JSON."""
    kind = next(kind for kind in ("path", "glob", "task", "branch") if kind in item)
    return Thing(kind, item[kind], "blob" in item or "file" in item)


def folded(name: str, fold: str) -> str:
    """Return what compares: simple case folding by the running Python, which knows all letters used here."""
    if fold == "none":
        return name
    composed = unicodedata.normalize("NFC", name)
    return unicodedata.normalize("NFC", "".join(_folded_char(char) for char in composed))


def _folded_char(char: str) -> str:
    return next((form for form in (char.casefold(), char.lower()) if len(form) == 1), char)


class Space:
    """All rows of up to `depth` names; whoever covers none of them in common is taken not to overlap."""

    def __init__(self, names: Iterable[str], depth: int, fold: str) -> None:
        self.fold = fold
        # As they are too: tasks are never folded, and what no folded path can be is matched by nothing else.
        alphabet = sorted({form for name in names for form in (name, folded(name, fold))})
        self.rows = [row for size in range(1, depth + 1) for row in product(alphabet, repeat=size)]
        self.cover = cache(self._cover)
        self.overlap = cache(self._overlap)

    def _overlap(self, one: Thing, two: Thing) -> bool:
        if one.family != two.family:
            return False
        against = [other.kind == "glob" for other in (two, one)]
        return not self.cover(one, against[0]).isdisjoint(self.cover(two, against[1]))

    def _cover(self, thing: Thing, against_glob: bool) -> frozenset[Names]:
        """Return the rows that are the item's; one file, there or to be, is one row against a glob."""
        name = folded(thing.name, self.fold) if thing.family == "file" else thing.name
        parts = () if name == "." and thing.kind == "path" else tuple(name.split("/"))
        if thing.kind == "glob":
            return frozenset(row for row in self.rows if _matches(parts, row))
        if thing.pinned and against_glob and parts:
            return frozenset(row for row in self.rows if row == parts)
        return frozenset(row for row in self.rows if row[: len(parts)] == parts)

    def touches(self, thing: Thing, path: str) -> bool:
        """Tell whether a file at this path is the item's business: it, what is below, and for a path what is above."""
        if thing.family != "file":
            return False
        row = tuple(folded(path, self.fold).split("/"))
        if thing.kind == "glob":
            return _matches(tuple(folded(thing.name, self.fold).split("/")), row)
        parts = () if thing.name == "." else tuple(folded(thing.name, self.fold).split("/"))
        return row[: len(parts)] == parts[: len(row)]


def _matches(parts: Names, row: Names) -> bool:
    if not parts:
        return not row
    if parts[0] == "**":
        return any(_matches(parts[1:], row[skip:]) for skip in range(len(row) + 1))
    return bool(row) and _fits(parts[0], row[0]) and _matches(parts[1:], row[1:])


def _fits(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return any(_fits(part[1:], name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and part[0] in ("?", name[0]) and _fits(part[1:], name[1:])
