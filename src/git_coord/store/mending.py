"""Objects of ours that have gone missing, or are damaged: which refs need them, and where git would look for them.

`git gc --prune=now` beside a fetch, and a machine that loses power, leave refs of which git says "bad object"; then
not even the user's own `git fetch` succeeds. What is only a copy goes, and is fetched again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import TREE_MODE, GitObject, parse_tree
from git_coord.errors import CoordError

from .git import Git
from .interface import ABSENT, RefUpdate, Store
from .loose import LooseObjects
from .refnames import ALL_PREFIXES, Family, Ref, is_fetched, parse

_WHOLE = ("rev-list", "--objects", "--quiet", "--stdin")
_LINK = "160000"
_TAGS = ("tree ", "parent ", "object ")


def are_whole(git: Git, store: Store, common_dir: str, timeout: float | None = None) -> bool:
    """Tell whether every object that refs of ours need is there, as git sees it; emptied ones are removed."""
    LooseObjects(os.path.join(common_dir, "objects")).remove_empty()  # git looks into no blob
    oids = sorted(set(store.refs(*ALL_PREFIXES).values()))
    asked = "".join(f"{oid}\n" for oid in oids).encode("ascii")
    return not oids or git.run(_WHOLE, asked, timeout, check=False).code == 0


def broken(store: Store, common_dir: str) -> dict[Ref, Oid]:
    """Return the refs of ours that need an object which is not there; a damaged one in its place is removed first."""
    look = _Look(store, os.path.join(common_dir, "objects"))
    return {ref: oid for ref, oid in sorted(store.refs(*ALL_PREFIXES).items()) if not look.is_whole(oid)}


def drop_broken_copies(store: Store, common_dir: str) -> None:
    """Delete what is broken and made anew anyway: copies of what the remote has, and heartbeats."""
    for ref, oid in broken(store, common_dir).items():
        if is_made_anew(ref):
            store.swap([RefUpdate(ref, ABSENT, oid)], "missing objects")


def asking_for_all(line: Sequence[str]) -> list[str]:
    """Return a fetch with the option that has everything sent, here or not; git before 2.36 does not know it."""
    at = line.index("fetch") + 1
    return [*line[:at], "--refetch", *line[at:]]


def is_made_anew(ref: Ref) -> bool:
    """Tell whether a ref may go: a copy of what the remote has, or a heartbeat."""
    name = parse(ref)
    return is_fetched(ref) or (name is not None and name.family is Family.PRESENCE)


class _Look:
    """A walk over everything that refs need, each object once as long as it is whole."""

    def __init__(self, store: Store, objects: str) -> None:
        self._store = store
        self._objects = objects
        self._loose = LooseObjects(objects)
        self._whole: set[Oid] = set()

    def is_whole(self, tip: Oid) -> bool:
        level, seen, is_whole = {tip: False}, set[Oid](), True
        while level:
            seen |= level.keys()
            below: dict[Oid, bool] = {}
            for found in self._read(level):
                is_whole &= found is not None
                below |= dict(self._needs(found)) if found is not None else {}
            level = {oid: is_blob for oid, is_blob in below.items() if oid not in seen and oid not in self._whole}
        if is_whole:
            self._whole |= seen
        return is_whole

    def _read(self, level: Mapping[Oid, bool]) -> list[GitObject | None]:
        """Return the objects; of a blob only that it is there."""
        for oid in level:
            self._remove_damaged(oid)
        blobs = [oid for oid, is_blob in level.items() if is_blob]
        others = [oid for oid, is_blob in level.items() if not is_blob]
        return [*self._store.read(blobs, 0), *self._store.read(others)]

    def _remove_damaged(self, oid: Oid) -> None:
        """Remove a file that is no object: git would keep it, and put nothing in its place."""
        try:
            self._loose.read(oid, self._store.algorithm)
        except CoordError:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._objects, oid[:2], oid[2:]))

    def _needs(self, found: GitObject) -> Iterator[tuple[Oid, bool]]:
        """Yield what an object names, and whether that is a blob."""
        if found.type == "tree":
            rows = parse_tree(found.data, self._store.algorithm)
            yield from ((oid, mode != TREE_MODE) for mode, _, oid in rows if mode != _LINK)
        elif found.type in ("commit", "tag"):
            head = found.data.partition(b"\n\n")[0].decode("utf-8", "replace")
            yield from ((Oid(line.split(" ")[1]), False) for line in head.splitlines() if line.startswith(_TAGS))
