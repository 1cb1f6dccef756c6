"""What a team wants judged: paths that need a claim, paths that are exempt, and the ledger it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import CoordError, Kind
from .fold import Fold, fold_name
from .glob import Glob
from .glob_part import is_wild
from .ids import Oid
from .items import EVERYTHING, Intent, Item, ItemKind, parse_argument

Rule = tuple[ItemKind, str]
"""A path, which stands for all below it too, or a glob; in its canonical spelling."""


@dataclass(frozen=True, slots=True)
class Team:
    """The content of `.coord.toml`."""

    required: tuple[Rule, ...] = ()
    exempt: tuple[Rule, ...] = ()
    repo: str | None = None
    root: Oid | None = None
    url: str | None = None
    prefix: str | None = None


NO_RULES = Team()


def parse_rule(text: str) -> Rule:
    """Read one entry, a glob if it has `*` or `?` (`path:` says otherwise); raises CoordError(USAGE)."""
    kind, name = parse_argument(text, glob=is_wild(text))
    if not kind.is_file:
        raise CoordError(Kind.USAGE, f"'{text}' is a task; only paths can be judged")
    return kind, name


class Reach:
    """Which paths some rules or items reach: what they name and all below, or match. What lies above is not theirs."""

    __slots__ = ("_fold", "_globs", "_names")

    def __init__(self, rules: Iterable[Rule], fold: Fold) -> None:
        listed = list(rules)
        self._fold = fold
        self._names = {fold_name(name, fold) for kind, name in listed if kind is ItemKind.PATH}
        self._globs = [Glob(name, fold) for kind, name in listed if kind is ItemKind.GLOB]

    def covers(self, path: str) -> bool:
        """Tell whether the path, as git spells it, is within reach."""
        if not self._names and not self._globs:
            return False
        folded = fold_name(path, self._fold)
        names = folded.split("/")
        if EVERYTHING in self._names or any("/".join(names[:n]) in self._names for n in range(1, len(names) + 1)):
            return True
        return any(glob.matches(names) for glob in self._globs)


def entitled(items: Iterable[Item], fold: Fold) -> Reach:
    """Return the paths that these items let their holder change."""
    return Reach(((item.kind, item.name) for item in items if item.intent is Intent.EDIT), fold)
