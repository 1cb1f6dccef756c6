"""The store for long-lived programs: objects and history in process by libgit2, ref moves by the git program.

libgit2 writes objects as git does by default, without fsync; where the user asks for more (`core.fsync`), git writes.
What libgit2 does not find (a partial clone's promised objects) git is asked for, so both give one answer.

Not guaranteed: that a loose object cut short (by a full disk and a power cut) is an error. libgit2 1.9 loops for ever
in its inflating of one, where git reports it; an empty file or wrong bytes it reports too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import TREE_MODE, GitObject, parse_tree
from git_coord.errors import CoordError, Kind

from .git import Git
from .gitcli import GitStore
from .interface import RefUpdate, Swap, TreeRow
from .refnames import Ref

if TYPE_CHECKING:
    import pygit2

_TYPES = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_PARENT = re.compile(rb"tree [0-9a-f]+\n(?:parent ([0-9a-f]+)\n)?")
_SUBMODULE = "160000"


def open_libgit2(git: Git) -> LibGit2Store | None:
    """Return the store, or None where libgit2 cannot open the repository (SHA-256, reftable, what is newer)."""
    import pygit2  # noqa: PLC0415  # 125 ms

    # Git has accepted the repository before we got here, by rules libgit2 does not know all of.
    pygit2.settings.owner_validation = False
    assert git.git_dir is not None
    try:
        repository = pygit2.Repository(git.git_dir)
    except (pygit2.GitError, KeyError, ValueError):
        return None
    return LibGit2Store(repository, git)


class LibGit2Store:
    """A SHA-1 repository opened by libgit2. Not for two threads at once."""

    def __init__(self, repository: pygit2.Repository, git: Git) -> None:
        """Keep both ways open; no process is started yet."""
        self._repository = repository
        self._odb = repository.odb
        self._git = GitStore(git, self.algorithm)
        config = git.config()
        self._git_writes = config.get("core.fsync") is not None or config.get("core.fsyncObjectFiles") is not None

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
        # Exact names in process (22,000 reads against a looping `git pack-refs` missed none). Not what is below a
        # prefix: libgit2 would walk all of the user's refs.
        if any(prefix.endswith("/") for prefix in prefixes):
            return self._git.refs(*prefixes)
        found = ((name, self._ref(name)) for name in prefixes)
        return {Ref(name): oid for name, oid in found if oid is not None}

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
            commit = self._object(at)
            found = None if commit is None or commit.type != "commit" else _PARENT.match(commit.data)
            if found is None:
                raise CoordError(Kind.UNTRUSTED, f"the history behind {tip} cannot be read: no commit {at}")
            at = None if found[1] is None else Oid(found[1].decode("ascii"))
        return chain[::-1]

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects, without moving a ref."""
        if self._git_writes:
            self._git.write(objects)
            return
        import pygit2  # noqa: PLC0415

        numbers = {name: number for number, name in _TYPES.items()}
        try:
            for made in objects:
                self._odb.write(numbers[made.type], made.data)
        except (pygit2.GitError, OSError) as error:
            raise CoordError(Kind.ERROR, f"an object cannot be written: {error}") from error

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:
        """Move all refs or none; libgit2's own ref writes are not atomic, so git does it."""
        return self._git.swap(updates, reason)

    def close(self) -> None:
        """End the processes that stay."""
        self._git.close()

    def _ref(self, name: str) -> Oid | None:
        import pygit2  # noqa: PLC0415

        try:
            return Oid(str(self._repository.lookup_reference(name).resolve().target))
        except (KeyError, ValueError):
            return None
        except pygit2.GitError as error:
            raise CoordError(Kind.ERROR, f"git cannot read a ref: {error}") from error

    def _object(self, oid: str) -> GitObject | None:
        import pygit2  # noqa: PLC0415

        try:
            number, data = self._odb.read(oid)
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
        if target is None or limit is None:
            return None if target is None else self._object(target)
        try:
            _, size = self._odb.read_header(target)
        except (KeyError, ValueError):
            return None
        return self._object(target) if size <= limit else GitObject(Oid(target), "oversized", b"")

    def _below(self, oid: str, path: str) -> str | None:
        """Return what lies at a path of a commit or tree; None where git shall look (odd spellings included)."""
        made = self._object(oid)
        if made is not None and made.type == "commit":
            made = self._object(made.data[5:45].decode("ascii"))
        for name in path.split("/") if path else ():
            if made is None or made.type != "tree":
                return None
            entry = next((row for row in parse_tree(made.data, 20) if row[1] == name), None)
            if entry is None or entry[0] == _SUBMODULE:
                return None
            made, oid = self._object(entry[2]), entry[2]
        return None if made is None else made.oid

    def _walk(self, tree: GitObject, lead: str, rows: list[TreeRow]) -> bool:
        """Append what lies below a tree; False when some of it is not there."""
        for mode, name, oid in parse_tree(tree.data, 20):
            is_tree = mode == TREE_MODE
            rows.append(TreeRow("tree" if is_tree else "commit" if mode == _SUBMODULE else "blob", lead + name, oid))
            if is_tree:
                below = self._object(oid)
                if below is None or not self._walk(below, f"{lead}{name}/", rows):
                    return False
        return True
