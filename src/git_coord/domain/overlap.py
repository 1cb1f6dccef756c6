"""Whether two items overlap, decided exactly: whether there is a path (or task, or branch) that both cover."""

from __future__ import annotations

from .fold import Fold, fold_name
from .glob import Glob
from .items import EVERYTHING, Item, ItemKind
from .text import is_utf8


class Shape:
    """An item made ready for comparing: folded, split, its glob compiled."""

    __slots__ = ("glob", "names", "pinned", "space", "text", "utf8")

    def __init__(self, kind: ItemKind, name: str, pinned: bool, fold: Fold):
        self.space = ItemKind.PATH if kind is ItemKind.GLOB else kind
        """What it can have something in common with: paths and globs with each other, all else with its own kind."""
        folded = fold_name(name, fold) if self.space is ItemKind.PATH else name
        self.glob = Glob(name, fold) if kind is ItemKind.GLOB else None
        self.names = _names(folded) if self.glob is None else self.glob.anchor
        """The components of a path, task or branch; of a glob those before its first wildcard."""
        self.pinned = pinned and name != EVERYTHING
        self.text = f"/{folded}/"
        self.utf8 = is_utf8(folded)


def shape_of(item: Item, fold: Fold) -> Shape:
    """Compile an item."""
    return Shape(item.kind, item.name, item.is_one_file, fold)


def shape_of_file(path: str, fold: Fold) -> Shape:
    """Compile the path of a file: what it meets are the items that cover it."""
    return Shape(ItemKind.PATH, path, True, fold)


def shapes_meet(one: Shape, two: Shape) -> bool:
    """Tell whether the items of two shapes overlap.

    1. Tasks meet tasks, branches branches, paths and globs meet each other.
    2. Two of one kind that is not glob meet if one is the other or above it.
    3. Two globs meet if a path exists that both match.
    4. A pinned path, or a file, meets a glob that matches it.
    5. Any other path also meets a glob that matches something below it.
    """
    if one.space is not two.space:  # 1
        return False
    if one.glob is None and two.glob is None:  # 2
        return all(mine == theirs for mine, theirs in zip(one.names, two.names, strict=False))
    if one.glob is not None and two.glob is not None:  # 3
        return one.glob.meets(two.glob)
    path, glob = (two, one.glob) if one.glob is not None else (one, two.glob)
    assert glob is not None
    if path.pinned:  # 4
        return matches_file(glob, path)
    return glob.may_reach(path.names)  # 5


def matches_file(glob: Glob, path: Shape) -> bool:
    """Tell whether the glob matches the path itself."""
    longest, second = glob.needles
    # Needles are folded, and a name that is not UTF-8 is not.
    if path.utf8 and not (longest in path.text and second in path.text):
        return False
    return glob.matches(path.names)


def overlaps(a: Item, b: Item, fold: Fold) -> bool:
    """Tell whether a path, task or branch exists that both items cover, whatever their intents."""
    return shapes_meet(shape_of(a, fold), shape_of(b, fold))


def covers(item: Item, path: str, fold: Fold) -> bool:
    """Tell whether a file written at this path is the item's business.

    A literal item covers what is at or below it, and also what is above it: a file there would destroy it.
    """
    return shapes_meet(shape_of(item, fold), shape_of_file(path, fold))


def same_item(a: Item, b: Item, fold: Fold) -> bool:
    """Tell whether two items are the same thing, so that a claim of one replaces a claim of the other."""
    return a.kind is b.kind and shape_of(a, fold).text == shape_of(b, fold).text


def contains(item: Item, asked: Item, fold: Fold) -> bool:
    """Tell whether an item is all of what is asked about: holding a file of a folder is not holding the folder."""
    if item.kind is ItemKind.GLOB or asked.kind is ItemKind.GLOB:
        return same_item(item, asked, fold) or (asked.kind is not ItemKind.GLOB and covers(item, asked.name, fold))
    own, whole = fold_name(item.name, fold), fold_name(asked.name, fold)
    return own in (EVERYTHING, whole) or whole.startswith(f"{own}/")


def _names(folded: str) -> tuple[str, ...]:
    return () if folded == EVERYTHING else tuple(folded.split("/"))
