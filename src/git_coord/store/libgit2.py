"""The store for long-lived programs: packed objects by libgit2, loose ones by ourselves, ref moves by the git program.

libgit2 is given the packs and nothing else: on a loose object that was cut short (by a full disk and a power cut) its
version 1.9 loops for ever. What is found in neither place git is asked for, so that all stores give one answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import TREE_MODE, GitObject, parse_tree
from git_coord.errors import CoordError, Kind

from .git import Git
from .gitcli import GitStore
from .interface import RefUpdate, Swap, TreeRow
from .loose import LooseObjects
from .refnames import Ref

if TYPE_CHECKING:
    import pygit2

_TYPES = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_PARENT = re.compile(rb"tree [0-9a-f]+\n(?:parent ([0-9a-f]+)\n)?")
_SUBMODULE = "160000"


def open_libgit2(git: Git, below: GitStore, common_dir: str, loose: LooseObjects | None) -> LibGit2Store | None:
    """Return the store, `below` doing what it leaves to git; None where libgit2 cannot or should not read.

    It cannot open SHA-256 and reftable repositories; objects borrowed from other repositories are git's to find.
    """
    if loose is None or os.path.exists(os.path.join(common_dir, "objects", "info", "alternates")):
        return None
    try:
        import pygit2  # noqa: PLC0415  # 125 ms
    except ImportError:  # a platform without a wheel of it
        return None
    # Git has accepted the repository before we got here, by rules libgit2 does not know all of.
    pygit2.settings.owner_validation = False
    assert git.git_dir is not None
    packs = pygit2.Odb()
    try:
        pygit2.Repository(git.git_dir)
        packs.add_backend(pygit2.OdbBackendPack(os.path.join(common_dir, "objects")), 1)
    except (pygit2.GitError, KeyError, ValueError):
        return None
    return LibGit2Store(packs, loose, below)


class LibGit2Store:
    """A SHA-1 repository read in process. Not for two threads at once."""

    def __init__(self, packs: pygit2.Odb, loose: LooseObjects, below: GitStore) -> None:
        """Take where objects are; no process is started yet."""
        self._packs = packs
        self._loose = loose
        self._git = below

    @property
    def algorithm(self) -> str:
        """SHA-1: libgit2 opens nothing else."""
        return "sha1"

    @property
    def trouble(self) -> str:
        """Git's words about the last swap that was not MOVED: for people only."""
        return self._git.trouble

    def refs(self, *prefixes: str) -> dict[Ref, Oid]:
        """Return the refs equal to a prefix, or below one that ends in a slash."""
        return self._git.refs(*prefixes)

    def read(self, specs: Sequence[str], limit: int | None = None) -> list[GitObject | None]:
        """Return the objects at the specs, in order."""
        found = [self._at(spec, limit) for spec in specs]
        unseen = [spec for spec, made in zip(specs, found, strict=True) if made is None]
        if not unseen:
            return found
        asked = iter(self._git.read(unseen, limit))
        return [next(asked) if made is None else made for made in found]

    def listing(self, tree: Oid) -> list[TreeRow]:
        """Return all rows of a tree, recursively."""
        root = self._object(tree)
        if root is not None and root.type == "commit":
            root = self._object(Oid(root.data[5:45].decode("ascii")))
        if root is None or root.type != "tree":
            return self._git.listing(tree)
        rows: list[TreeRow] = []
        return rows if self._walk(root, "", rows) else self._git.listing(tree)

    def history(self, tip: Oid, since: Oid | None) -> list[Oid]:
        """Return the first-parent chain from after `since` (or from its root) to `tip`."""
        chain: list[Oid] = []
        at: Oid | None = tip
        while at is not None and at != since:
            chain.append(at)
            commit = self._object(at) or self._git.read([at])[0]
            found = None if commit is None or commit.type != "commit" else _PARENT.match(commit.data)
            if found is None:
                raise CoordError(Kind.UNTRUSTED, f"the history behind {tip} cannot be read: no commit {at}")
            at = None if found[1] is None else Oid(found[1].decode("ascii"))
        return chain[::-1]

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects, without moving a ref."""
        self._git.write(objects)

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:
        """Move all refs or none; libgit2's own ref writes are not atomic, so git does it."""
        return self._git.swap(updates, reason)

    def close(self) -> None:
        """End the processes that stay."""
        self._git.close()

    def _object(self, oid: str, limit: int | None = None) -> GitObject | None:
        found = self._loose.read(oid, self.algorithm, limit)
        if found is not None:
            return found
        import pygit2  # noqa: PLC0415

        try:
            if limit is not None and self._packs.read_header(oid)[1] > limit:
                return GitObject(Oid(oid), "oversized", b"")
            number, data = self._packs.read(oid)
        except (KeyError, ValueError):
            return None
        except pygit2.GitError as error:
            raise CoordError(Kind.ERROR, f"git cannot read an object: {error}") from error
        return GitObject(Oid(oid), _TYPES[number], data)

    def _at(self, spec: str, limit: int | None) -> GitObject | None:
        oid, colon, path = spec.partition(":")
        # A short or symbolic name is for git to resolve.
        if len(oid) != 40:
            return None
        target = self._below(oid, path) if colon else oid
        return None if target is None else self._object(target, limit)

    def _below(self, oid: str, path: str) -> str | None:
        """Return what lies at a path of a commit or tree; None where git shall look (odd spellings included)."""
        made = self._object(oid)
        if made is not None and made.type == "commit":
            made = self._object(made.data[5:45].decode("ascii"))
        for name in path.split("/") if path else ():
            if made is None or made.type != "tree":
                return None
            entry = next((row for row in parse_tree(made.data, self.algorithm) if row[1] == name), None)
            if entry is None or entry[0] == _SUBMODULE:
                return None
            made, oid = self._object(entry[2]), entry[2]
        return None if made is None else made.oid

    def _walk(self, tree: GitObject, lead: str, rows: list[TreeRow]) -> bool:
        """Append what lies below a tree; False when some of it is not there."""
        for mode, name, oid in parse_tree(tree.data, self.algorithm):
            is_tree = mode == TREE_MODE
            rows.append(TreeRow("tree" if is_tree else "commit" if mode == _SUBMODULE else "blob", lead + name, oid))
            if is_tree:
                below = self._object(oid)
                if below is None or not self._walk(below, f"{lead}{name}/", rows):
                    return False
        return True
