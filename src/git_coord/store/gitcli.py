"""The store on the git program alone: every repository format, nothing heavy imported.

Objects are written as one pack into `git unpack-objects`: 3.0 ms for ten, against 5.6 ms by `git fast-import` and 20
by the plumbing one at a time (git 2.39, two cores). It makes loose objects as `git hash-object -w` does, so
`core.fsync` is git's own affair. That git stores what was named need not be checked: it hashes the same bytes itself,
the pack's trailing hash tells it when a byte is missing, and `swap` refuses an object that does not exist.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import TREE_MODE, GitObject, parse_tree
from git_coord.errors import CoordError, Kind

from .codec import pack
from .git import Git, first_words
from .interface import ABSENT, RefUpdate, Swap, TreeRow
from .loose import LooseObjects
from .reffiles import RefFiles
from .refnames import Ref
from .slots import Slots
from .talk import CatFile, UpdateRef

_PATIENCE = 1.0
"""Seconds of trying for a lock; git itself gives up after 0.1."""

_UNPACK = ("unpack-objects", "-q")
_TYPES = {TREE_MODE: "tree", "160000": "commit"}
_REFS_QUESTION = ("for-each-ref", "--format=%(objectname) %(refname)")


class GitStore:
    """A repository through git processes; the ones that read and move refs stay, so a second use costs no start.

    Not for two threads at once. May be used after a fork: each process then has its own.
    """

    def __init__(
        self,
        git: Git,
        algorithm: str,
        *,
        loose: LooseObjects | None = None,
        ref_files: RefFiles | None = None,
        sleep: Callable[[float], None] = time.sleep,
        common_dir: str | None = None,
    ) -> None:
        """Start nothing yet; without `loose`, git writes the objects, without `ref_files` it reads the refs.

        In `common_dir` a process notes what it moves: its locks are known when it dies.
        """
        self.git = git
        self._algorithm = algorithm
        self._folder = None if common_dir is None else os.path.join(common_dir, "objects")
        self._loose = loose
        self._ref_files = ref_files
        self._sleep = sleep
        self._objects = CatFile(git)
        self._refs = UpdateRef(
            git, "0" * (40 if algorithm == "sha1" else 64), None if common_dir is None else Slots(common_dir)
        )

    @property
    def algorithm(self) -> str:
        """The repository's object format."""
        return self._algorithm

    @property
    def trouble(self) -> str:
        """Git's words about the last swap that was not MOVED (they name the lock file): for people only."""
        return self._refs.words

    def refs(self, *prefixes: str) -> dict[Ref, Oid]:
        """Return the refs equal to a prefix, or below one that ends in a slash."""
        if not prefixes:
            return {}
        found = None if self._ref_files is None else self._ref_files.read(prefixes)
        return self._refs_by_git(prefixes) if found is None else found

    def _refs_by_git(self, prefixes: Sequence[str]) -> dict[Ref, Oid]:
        lines = self.git.run([*_REFS_QUESTION, *prefixes]).out
        rows = (line.partition(" ") for line in os.fsdecode(lines).splitlines())
        # Git also lists what is below a pattern that does not end in a slash.
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        return {Ref(name): Oid(oid) for oid, _, name in rows if name in prefixes or name.startswith(below)}

    def read(self, specs: Sequence[str], limit: int | None = None) -> list[GitObject | None]:
        """Return the objects at the specs, in order; an emptied one counts as none."""
        try:
            return self._read(specs, limit)
        except CoordError:
            if self._folder is None or not LooseObjects(self._folder).remove_empty():
                raise
            return self._read(specs, limit)

    def _read(self, specs: Sequence[str], limit: int | None) -> list[GitObject | None]:
        if limit is None:
            return self._objects.contents(specs)
        infos = self._objects.info(specs)
        wanted = iter(self._objects.contents([info.oid for info in infos if info is not None and info.size <= limit]))
        return [
            None if info is None else GitObject(info.oid, "oversized", b"") if info.size > limit else next(wanted)
            for info in infos
        ]

    def listing(self, tree: Oid) -> list[TreeRow]:
        """Return all rows of a tree, recursively."""
        root = self._objects.contents([f"{tree}^{{tree}}"])[0]
        if root is None:
            raise CoordError(Kind.ERROR, f"{tree} has no tree")
        return list(self._rows(root.oid, self._subtrees(root)))

    def _subtrees(self, root: GitObject) -> dict[Oid, list[tuple[str, str, Oid]]]:
        """Return the entries of a tree and all below, a level at a time from the process that is there anyway."""
        found: dict[Oid, list[tuple[str, str, Oid]]] = {}
        level: list[GitObject | None] = [root]
        while level:
            for entry in level:
                if entry is None:
                    raise CoordError(Kind.ERROR, "a tree has gone missing")
                found[entry.oid] = parse_tree(entry.data, self._algorithm)
            below = {oid for tree in level if tree for mode, _, oid in found[tree.oid] if mode == TREE_MODE}
            level = self._objects.contents(sorted(below - found.keys()))
        return found

    def _rows(self, tree: Oid, trees: dict[Oid, list[tuple[str, str, Oid]]], prefix: str = "") -> Iterator[TreeRow]:
        for mode, name, oid in trees[tree]:
            yield TreeRow(_TYPES.get(mode, "blob"), prefix + name, oid)
            if mode == TREE_MODE:
                yield from self._rows(oid, trees, f"{prefix}{name}/")

    def history(self, tip: Oid, since: Oid | None) -> list[Oid]:
        """Return the first-parent chain from after `since` (or from its root) to `tip`."""
        if tip == since:
            return []
        if since is not None:
            done = self._rev_list("--parents", tip, f"^{since}", check=False)
            # The oldest new commit must be a child of `since`, else that is beside the chain, or beyond it, or gone.
            if done and done[0][1:2] == [since] and done[-1][0] == tip:
                return [Oid(row[0]) for row in done]
        chain = [Oid(row[0]) for row in self._rev_list(tip)]
        if chain[-1] != tip:
            raise CoordError(Kind.UNTRUSTED, f"the history behind {tip} cannot be read: a tag, not a commit")
        return chain

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects, without moving a ref."""
        if self._loose is not None:
            self._loose.write(objects)
        elif objects:
            self.git.run(_UNPACK, pack(objects, self._algorithm))

    def warm(self) -> None:
        """Start ahead what a command that writes will need: git starts on the other core meanwhile."""
        self._objects.warm()
        self._refs.warm()
        if self._loose is None:
            self.git.begin(_UNPACK)

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:  # noqa: ARG002  # our refs have no reflog
        """Move all refs or none; raises CoordError(ERROR, data={"missing": [ids]}) for what was pruned: write again."""
        if not updates:
            return Swap.MOVED
        deadline = time.monotonic() + _PATIENCE
        while not self._refs.move(updates):
            verdict = self._verdict(updates)
            if verdict is Swap.LOCKED and self._refs.heal():
                continue
            if verdict is Swap.STALE or time.monotonic() >= deadline:
                return verdict
            self._sleep(0.02 + os.urandom(1)[0] / 5000)  # jitter, so that two who collided do not again
        return Swap.MOVED

    def close(self) -> None:
        """End the processes that stay; they also end with this one."""
        self._objects.close()
        self._refs.close()

    def _verdict(self, updates: Sequence[RefUpdate]) -> Swap:
        """Say why a transaction failed, from what is there now and never from git's words."""
        now = self.refs(*(update.ref for update in updates))
        if any(now.get(update.ref, ABSENT) != update.old for update in updates):
            return Swap.STALE
        named = [update.new for update in updates if update.new is not ABSENT]
        missing = [oid for oid, info in zip(named, self._objects.info(named), strict=True) if info is None]
        if missing:
            raise CoordError(Kind.ERROR, f"object {missing[0]} is gone, pruned perhaps", data={"missing": missing})
        return Swap.LOCKED

    def _rev_list(self, *args: str, check: bool = True) -> list[list[str]]:
        done = self.git.run(["rev-list", "--first-parent", "--reverse", *args], check=False)
        rows = [line.split(" ") for line in done.out.decode("ascii").splitlines()]
        # Of something that is no commit git lists nothing and succeeds.
        if check and (done.code or not rows):
            words = first_words(done.err) or "not a commit"
            raise CoordError(Kind.UNTRUSTED, f"the history behind {args[0]} cannot be read: {words}")
        return rows if done.code == 0 else []
