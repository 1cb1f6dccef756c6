"""What a pattern names here: whether anything matches it, and typing errors that no pattern can be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_coord.domain.fold import Fold, fold_name
from git_coord.domain.glob import Glob
from git_coord.service.ledger import open_ledger

from .named import Wrong, is_gits

if TYPE_CHECKING:
    from git_coord.domain.items import Item

    from .named import Named

MOST_WALKED = 2000
"""Names that are looked at for one that matches; where there are more, one is taken to be among them."""


def look_at_pattern(named: Named, item: Item, typed: str) -> Item | Wrong:
    """Return the pattern, noted as new if nothing matches it, or why no file of this repository can match it."""
    if is_gits(item.name):
        return Wrong("is git's own: nothing of that name is ever committed", None)
    anchor = "/".join(Glob(item.name, Fold.NONE).anchor)
    if anchor and (folder := named.app.worktree.way_out(f"{anchor}/x", named.inside)):
        return named.elsewhere(item.name, folder, is_glob=True)
    if named.is_claimed(item):
        return item
    if typed.startswith(":") and (wrong := named.misspelt(typed)):
        return wrong
    return item if _matches(named, item, anchor) else _matching_nothing(named, item, anchor)


def _matches(named: Named, item: Item, anchor: str) -> bool:
    """Tell whether a file matches: one that is here, or that git tracks."""
    head = named.app.coord.head or open_ledger(named.app.coord)
    fold = head.state.fold if head else Fold.NONE
    glob, top = Glob(item.name, fold), named.app.location.top or ""
    walked = 0
    for folder, inner, files in os.walk(os.path.join(top, anchor)):
        below = os.path.relpath(folder, top)
        names = () if below == "." else tuple(fold_name(below, fold).split("/"))
        if any(glob.matches((*names, fold_name(name, fold))) for name in files):
            return True
        inner[:] = [n for n in inner if not is_gits(n) and glob.may_reach((*names, fold_name(n, fold)))]
        walked += len(files) + len(inner)
        if walked > MOST_WALKED:
            return True
    return any(glob.matches(fold_name(name, fold).split("/")) for name in named.tracked.files)


def _matching_nothing(named: Named, item: Item, anchor: str) -> Item | Wrong:
    for module in named.tracked.submodules:
        if f"{anchor}/".startswith(f"{module}/"):
            return named.elsewhere(item.name, module, is_glob=True)
    rest = item.name[len(anchor) :]
    is_there = not anchor or anchor in named.tracked.folders or named.app.worktree.sort(anchor) is not None
    near = None if is_there else named.near(anchor, folders=True)
    named.new[item] = near and f"{near}{rest}"
    return item
