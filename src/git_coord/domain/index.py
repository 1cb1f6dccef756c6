"""All live items in one immutable structure that answers "what is in the way of this?" without looking at each.

A trie over path components, and one each for tasks and branches. A glob hangs where its literal lead ends. `added` and
`removed` copy the nodes they change and share the rest, so an older index stays valid.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Generic, TypeVar

from .fold import Fold
from .glob import Glob
from .items import Item, ItemKind
from .overlap import Shape, shape_of, shape_of_file, shapes_meet

K = TypeVar("K", bound=Hashable)

SPACES = (ItemKind.PATH, ItemKind.TASK, ItemKind.BRANCH)
Entry = tuple[int, K, Shape]
"""Serial number (the order of insertion), key, item."""
FileAsk = tuple[str, str, int, str, str, bool]
"""How the last component of a matched path begins, ends, how long it is at least; two texts that are in the path;
whether that is all there is to ask of a path below the literal lead."""
PathAsk = tuple[int, str, str]
"""The place of a component, and how it must begin and end so that something at or below the path can be matched."""
GlobEntry = tuple[Entry[K], Glob, FileAsk, PathAsk]
"""An entry, its glob, and what is asked before the glob itself is: a hundred plain tests of text take 5 to 20 µs."""


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

    __slots__ = ("_entries", "_fold", "_next", "_roots")

    def __init__(self, fold: Fold):
        self._fold = fold
        self._next = 0
        self._entries: dict[K, Entry[K]] = {}
        self._roots: dict[ItemKind, _Node[K]] = {space: _Node(None) for space in SPACES}

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
        new._roots = {space: root.owned_by(owner) for space, root in self._roots.items()}
        return new, owner

    def _root(self, shape: Shape) -> _Node[K]:
        return self._roots[shape.space]

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
            if not shape.pinned:  # a glob whose lead is longer than the path cannot match it
                found += [entry for entry, *_ in below.globs]
        return found

    def _near_glob(self, shape: Shape) -> list[Entry[K]]:
        """Collect what meets a glob: only its literal lead narrows the search, each candidate is asked."""
        node = self._roots[ItemKind.PATH]
        on_way, below = [node], []
        for name in shape.names:
            child = node.below.get(name)
            if child is None:
                break
            on_way.append(node := child)
        else:
            below = list(node.all_below())
        asked = [entry for node in on_way for entry in node.items]
        asked += [entry for node in on_way + below for entry, *_ in node.globs]
        found = [entry for entry in asked if shapes_meet(entry[2], shape)]
        return found + _paths_meeting([entry for node in below for entry in node.items], shape)


def _glob_entry(entry: Entry[K]) -> GlobEntry[K]:
    glob = entry[2].glob
    assert glob is not None
    return entry, glob, _file_ask(glob), _path_ask(glob)


def _file_ask(glob: Glob) -> FileAsk:
    is_short = glob.is_deep and not glob.runs and len(glob.lead) == len(glob.anchor)
    ends = glob.tail if glob.is_deep else glob.lead
    if not ends:
        return "", "", 0, *glob.needles, is_short
    last = ends[-1]
    return last.head, last.tail, last.least, *glob.needles, is_short and len(ends) == 1 and last.is_plain


def _path_ask(glob: Glob) -> PathAsk:
    asks = [(place, part.head, part.tail) for place, part in enumerate(glob.lead) if place >= len(glob.anchor)]
    return max(asks, key=lambda ask: len(ask[1]) + len(ask[2]), default=(0, "", ""))


def _globs_meeting(globs: list[GlobEntry[K]], path: Shape) -> list[Entry[K]]:
    """Ask the globs of one node above a path; their literal lead agrees with it, or they would not hang there."""
    if not path.utf8:  # the texts to begin with are folded, and such a name is not
        return [entry for entry, *_ in globs if shapes_meet(entry[2], path)]
    return _matching(globs, path) if path.pinned else _reaching(globs, path)


def _paths_meeting(paths: list[Entry[K]], glob: Shape) -> list[Entry[K]]:
    """Ask a glob about paths below its literal lead; first as `_matching`, since there may be thousands."""
    assert glob.glob is not None
    head, tail, least, one, two, is_all = _file_ask(glob.glob)
    found = []
    for entry in paths:
        path = entry[2]
        if path.pinned and path.utf8:
            last, text = path.names[-1], path.text
            if not (last.endswith(tail) and last.startswith(head) and len(last) >= least):
                continue
            if is_all or (one in text and two in text and glob.glob.matches(path.names)):
                found.append(entry)
        elif shapes_meet(path, glob):
            found.append(entry)
    return found


def _matching(globs: list[GlobEntry[K]], path: Shape) -> list[Entry[K]]:
    names, last, size, text = path.names, path.names[-1], len(path.names[-1]), path.text
    near = [
        (entry, glob, is_all)
        for entry, glob, (head, tail, least, one, two, is_all), _ in globs
        if last.endswith(tail) and last.startswith(head) and size >= least and one in text and two in text
    ]
    return [entry for entry, glob, is_all in near if is_all or glob.matches(names)]


def _reaching(globs: list[GlobEntry[K]], path: Shape) -> list[Entry[K]]:
    names, count = path.names, len(path.names)
    near = [
        (entry, glob)
        for entry, glob, _, (at, head, tail) in globs
        if at >= count or (names[at].startswith(head) and names[at].endswith(tail))
    ]
    return [entry for entry, glob in near if not glob.lead or glob.may_reach(names)]
