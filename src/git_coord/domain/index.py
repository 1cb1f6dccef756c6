"""All live items in one immutable structure that answers "what is in the way of this?" without looking at each.

A trie over path components (a second one for tasks). A glob hangs where its literal lead ends. `added` and `removed`
copy the nodes they change and share the rest, so an older index stays valid.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Generic, TypeVar

from .fold import Fold
from .glob import Glob
from .items import Item
from .overlap import Shape, shape_of, shape_of_file, shapes_meet

K = TypeVar("K", bound=Hashable)

Entry = tuple[int, K, Shape]
"""Serial number (the order of insertion), key, item."""
GlobEntry = tuple[Entry[K], Glob, str, str, int, str, str]
"""An entry, its glob, its two needles; a component's place, and how a path must begin and end that component."""


class _Node(Generic[K]):
    __slots__ = ("below", "globs", "items", "owner")

    def __init__(self, owner: object):
        self.owner = owner
        """The one `added` or `removed` call that may change this node: the call that made it."""
        self.items: list[Entry[K]] = []
        self.globs: list[GlobEntry[K]] = []
        self.below: dict[str, _Node[K]] = {}

    def owned_by(self, owner: object) -> _Node[K]:
        """Return the node itself if it is the owner's, else a copy that is."""
        if self.owner is owner:
            return self
        copy: _Node[K] = _Node(owner)
        copy.items, copy.globs, copy.below = self.items[:], self.globs[:], self.below.copy()
        return copy

    def is_empty(self) -> bool:
        return not (self.items or self.globs or self.below)

    def all_below(self) -> Iterator[_Node[K]]:
        """Yield every node under this one; a loop, since a path may have more components than Python has frames."""
        todo = list(self.below.values())
        while todo:
            node = todo.pop()
            todo.extend(node.below.values())
            yield node


class ItemIndex(Generic[K]):
    """An immutable map from keys to items. Answers list keys in the order in which they were added."""

    __slots__ = ("_entries", "_fold", "_next", "_paths", "_tasks")

    def __init__(self, fold: Fold):
        self._fold = fold
        self._next = 0
        self._entries: dict[K, Entry[K]] = {}
        self._paths: _Node[K] = _Node(None)
        self._tasks: _Node[K] = _Node(None)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def added(self, pairs: Iterable[tuple[K, Item]]) -> ItemIndex[K]:
        """Return an index that also has these; a key that is there already gets the new item and goes last."""
        new, owner = self._copy()
        for key, item in pairs:
            if key in new._entries:
                new._remove(key, owner)
            entry = (new._next, key, shape_of(item, self._fold))
            new._next += 1
            new._entries[key] = entry
            new._insert(entry, owner)
        return new

    def removed(self, keys: Iterable[K]) -> ItemIndex[K]:
        """Return an index without these keys; one that is not there raises KeyError."""
        new, owner = self._copy()
        for key in keys:
            new._remove(key, owner)
        return new

    def overlapping(self, item: Item) -> list[K]:
        """Return the keys of all items that overlap this one."""
        return self._meeting(shape_of(item, self._fold))

    def covering(self, path: str) -> list[K]:
        """Return the keys of all items that cover the file at this path."""
        return self._meeting(shape_of_file(path, self._fold))

    def same(self, item: Item) -> list[K]:
        """Return the keys of all items that are the same thing."""
        shape = shape_of(item, self._fold)
        node: _Node[K] | None = self._root(shape)
        for name in shape.names:
            node = node.below.get(name) if node else None
        if node is None:
            return []
        here = node.items if shape.glob is None else [found[0] for found in node.globs]
        return [key for _, key, other in here if other.text == shape.text]

    def _copy(self) -> tuple[ItemIndex[K], object]:
        owner = object()
        new: ItemIndex[K] = ItemIndex(self._fold)
        new._next, new._entries = self._next, self._entries.copy()
        new._paths, new._tasks = self._paths.owned_by(owner), self._tasks.owned_by(owner)
        return new, owner

    def _root(self, shape: Shape) -> _Node[K]:
        return self._tasks if shape.is_task else self._paths

    def _insert(self, entry: Entry[K], owner: object) -> None:
        node = self._root(entry[2])
        for name in entry[2].names:
            child = node.below.get(name)
            node.below[name] = node = _Node(owner) if child is None else child.owned_by(owner)
        if entry[2].glob is None:
            node.items.append(entry)
        else:
            node.globs.append(_glob_entry(entry))

    def _remove(self, key: K, owner: object) -> None:
        entry = self._entries.pop(key)
        node = self._root(entry[2])
        trail = []
        for name in entry[2].names:
            trail.append((node, name))
            node.below[name] = node = node.below[name].owned_by(owner)
        node.items = [other for other in node.items if other is not entry]
        node.globs = [other for other in node.globs if other[0] is not entry]
        for parent, name in reversed(trail):
            if not parent.below[name].is_empty():
                break
            del parent.below[name]

    def _meeting(self, shape: Shape) -> list[K]:
        found = self._near(shape) if shape.glob is None else self._near_glob(shape)
        found.sort(key=itemgetter(0))
        return [key for _, key, _ in found]

    def _near(self, shape: Shape) -> list[Entry[K]]:
        """Collect what meets a path or task: all literal items on the way to it and below it, and some globs."""
        node = self._root(shape)
        found: list[Entry[K]] = []
        for name in shape.names:
            found += node.items
            if node.globs:
                found += _globs_meeting(node.globs, shape)
            child = node.below.get(name)
            if child is None:
                return found
            node = child
        found += node.items
        found += [entry for entry, *_ in node.globs if shapes_meet(entry[2], shape)]
        for below in node.all_below():
            found += below.items
            if not shape.pinned:  # a glob whose lead is longer than the path cannot cover it
                found += [entry for entry, *_ in below.globs]
        return found

    def _near_glob(self, shape: Shape) -> list[Entry[K]]:
        """Collect what meets a glob: only its literal lead narrows the search, each candidate is asked."""
        node = self._paths
        nodes = [node]
        for name in shape.names:
            child = node.below.get(name)
            if child is None:
                break
            nodes.append(node := child)
        else:
            nodes.extend(node.all_below())
        found: list[Entry[K]] = []
        for node in nodes:
            found += [entry for entry in node.items if shapes_meet(entry[2], shape)]
            found += [entry for entry, *_ in node.globs if shapes_meet(entry[2], shape)]
        return found


def _glob_entry(entry: Entry[K]) -> GlobEntry[K]:
    glob = entry[2].glob
    assert glob is not None
    asks = [(place, *part.ends()) for place, part in enumerate(glob.lead) if place >= len(glob.anchor)]
    most = max(asks, key=lambda ask: len(ask[1]) + len(ask[2]), default=(0, "", ""))
    return entry, glob, *glob.needles, *most


def _globs_meeting(globs: list[GlobEntry[K]], path: Shape) -> list[Entry[K]]:
    """Ask the globs of one node on the way to a path.

    The plain text tests come first: a hundred of them take 5 to 10 µs, and asking a hundred globs takes up to 400.
    """
    names, count, text = path.names, len(path.names), path.text
    if not path.utf8:
        return [entry for entry, *_ in globs if shapes_meet(entry[2], path)]
    if path.pinned:
        near = [(entry, glob) for entry, glob, one, two, _, _, _ in globs if one in text and two in text]
        return [entry for entry, glob in near if glob.covers(names)]
    near = [
        (entry, glob)
        for entry, glob, _, _, at, head, tail in globs
        if at >= count or (names[at].startswith(head) and names[at].endswith(tail))
    ]
    return [entry for entry, glob in near if not glob.lead or glob.may_reach(names)]
