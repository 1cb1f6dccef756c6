"""Git trees as persistent values: change a path, ask for the tree's id, list what is new; nothing is written here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .digest import new as digest_of
from .ids import Oid

FILE_MODE = "100644"
TREE_MODE = "40000"


class GitObject(NamedTuple):
    """A git object: its id, its type ("blob", "tree" or "commit") and its content."""

    oid: Oid
    type: str
    data: bytes


def hash_object(type_: str, data: bytes, algorithm: str) -> GitObject:
    """Return the object with its id under "sha1" or "sha256"."""
    digest = digest_of(algorithm, b"%s %d\0" % (type_.encode("ascii"), len(data)))
    digest.update(data)
    return GitObject(Oid(digest.hexdigest()), type_, data)


class Tree:
    """A directory of files (by blob id) and directories; `oid` is known for what was read, None for what changed."""

    __slots__ = ("entries", "oid")

    def __init__(self, entries: Mapping[str, Oid | Tree], oid: Oid | None = None) -> None:
        """Take the entries as they are; nobody may change the mapping afterwards."""
        self.entries = entries
        self.oid = oid

    def get(self, path: str) -> Oid | Tree | None:
        """Return the blob id or the tree at a path."""
        node: Oid | Tree | None = self
        for part in path.split("/"):
            node = node.entries.get(part) if isinstance(node, Tree) else None
        return node

    def changed(self, path: str, leaf: Oid | Tree | None) -> Tree:
        """Return a tree with the path set, or removed with what became empty; shares everything else."""
        head, _, rest = path.partition("/")
        entries = dict(self.entries)
        if rest:
            below = entries.get(head)
            new: Oid | Tree | None = (below if isinstance(below, Tree) else Tree({})).changed(rest, leaf)
            leaf = new if isinstance(new, Tree) and new.entries else None
        if leaf is None:
            entries.pop(head, None)
        else:
            entries[head] = leaf
        return Tree(entries)

    def fresh_leaves(self) -> Iterator[Oid]:
        """Yield the blob ids that lie in directories without an id yet."""
        for child in self.entries.values():
            if not isinstance(child, Tree):
                yield child
            elif child.oid is None:
                yield from child.fresh_leaves()

    def hashed(self, algorithm: str) -> Iterator[GitObject]:
        """Yield the tree objects that had no id yet, children first, and remember their ids."""
        if self.oid is not None:
            return
        for child in self.entries.values():
            if isinstance(child, Tree):
                yield from child.hashed(algorithm)
        made = hash_object("tree", self._content(), algorithm)
        self.oid = made.oid
        yield made

    def _content(self) -> bytes:
        rows = []
        for name, entry in self.entries.items():
            is_tree = isinstance(entry, Tree)
            oid = entry.oid if isinstance(entry, Tree) else entry
            assert oid is not None, "children are hashed first"
            row = f"{TREE_MODE if is_tree else FILE_MODE} {name}\0".encode("ascii") + bytes.fromhex(oid)
            # Git orders a directory as if its name ended in a slash.
            rows.append((name + "/" if is_tree else name, row))
        return b"".join(row for _, row in sorted(rows))


def tree_of(rows: Iterable[tuple[str, str, Oid]], root: Oid | None = None) -> Tree:
    """Return the tree of `(type, path, oid)` rows as a recursive listing with directories gives them."""
    entries: dict[str, dict[str, Oid | Tree]] = {"": {}}
    for type_, path, oid in rows:
        folder, _, name = path.rpartition("/")
        if type_ == "tree":
            below: dict[str, Oid | Tree] = {}
            entries[path] = below
            entries[folder][name] = Tree(below, oid)
        else:
            entries[folder][name] = oid
    return Tree(entries[""], root)


def oid_bytes_of(algorithm: str) -> int:
    """Return how many bytes an id has under "sha1" or "sha256"."""
    return 20 if algorithm == "sha1" else 32


def parse_tree(data: bytes, algorithm: str) -> list[tuple[str, str, Oid]]:
    """Return `(mode, name, oid)` of the entries of a raw tree object whose ids are of "sha1" or "sha256".

    Raises CoordError(UNTRUSTED) for bytes that are no tree.
    """
    rows, oid_bytes = [], oid_bytes_of(algorithm)
    at = 0
    while at < len(data):
        end = data.find(b"\0", at)
        if end < 0 or end + oid_bytes >= len(data):
            raise CoordError(Kind.UNTRUSTED, "a tree is cut short")
        mode, _, name = data[at:end].decode("utf-8", "surrogateescape").partition(" ")
        rows.append((mode, name, Oid(data[end + 1 : end + 1 + oid_bytes].hex())))
        at = end + 1 + oid_bytes
    return rows
