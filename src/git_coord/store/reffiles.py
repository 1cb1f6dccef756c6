"""Our refs read from their files, without starting a process: a command asks for them before it can do anything else.

As git's own reader does it: loose files first, then `packed-refs`, so that a ref which is packed meanwhile is seen in
one of the two. Whatever is not a plain file with an id in it is left to git, which knows what to say of it, and so
is every way of storing refs but files. Only reading: refs are moved by `git update-ref`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from git_coord.domain.ids import Oid, is_oid

from .git import Config
from .refnames import ALL_PREFIXES, Ref

_BEGINNINGS = {"/".join(prefix.split("/")[:2]).partition("-")[0].encode() for prefix in ALL_PREFIXES}
"""What every name of ours begins with: a search for each prefix would read `packed-refs` more often."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._/@{}+=,%-]+")
_LONGEST = 80
"""Bytes of a file looked at: an id of SHA-256 has 64, and a newline."""


class _GitsAffairError(Exception):
    """There is something that git should judge."""


def ref_files(common_dir: str, algorithm: str, config: Config) -> RefFiles | None:
    """Return the reader, None where refs are not stored as files."""
    return RefFiles(common_dir, algorithm) if config.get("extensions.refStorage") in (None, "files") else None


class RefFiles:
    """The refs of ours in one repository's common directory."""

    def __init__(self, common_dir: str, algorithm: str) -> None:
        """Take where they are; nothing is looked at yet."""
        self._common_dir = common_dir
        self._width = 40 if algorithm == "sha1" else 64

    def read(self, prefixes: Sequence[str]) -> dict[Ref, Oid] | None:
        """Return the refs equal to a prefix, or below one that ends in a slash; None when git should be asked."""
        if not all(prefix.startswith(ALL_PREFIXES) for prefix in prefixes):
            return None
        try:
            loose = {name: oid for prefix in prefixes for name, oid in self._loose(prefix)}
            return {Ref(name): oid for name, oid in {**self._packed(prefixes), **loose}.items()}
        except (OSError, ValueError, _GitsAffairError):
            return None

    def _loose(self, prefix: str) -> Iterator[tuple[str, Oid]]:
        if prefix.endswith("/"):
            yield from self._below(prefix)
            return
        path = os.path.join(self._common_dir, prefix)
        if os.path.isfile(path) and not os.path.islink(path):
            yield prefix, self._id_in(path)

    def _below(self, folder: str) -> Iterator[tuple[str, Oid]]:
        try:
            entries = list(os.scandir(os.path.join(self._common_dir, folder)))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            if entry.name.endswith(".lock"):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._below(f"{folder}{entry.name}/")
            elif not entry.is_file(follow_symlinks=False):
                raise _GitsAffairError
            else:
                yield from self._one(f"{folder}{entry.name}", entry.path)

    def _one(self, name: str, path: str) -> Iterator[tuple[str, Oid]]:
        _check_name(name)
        try:
            yield name, self._id_in(path)
        except FileNotFoundError:
            return  # packed or deleted since it was listed

    def _packed(self, prefixes: Sequence[str]) -> dict[str, Oid]:
        try:
            with open(os.path.join(self._common_dir, "packed-refs"), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return {}
        found: dict[str, Oid] = {}
        for word in _BEGINNINGS:
            found |= self._lines_with(data, word)
        below = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
        return {name: oid for name, oid in found.items() if name in prefixes or name.startswith(below)}

    def _lines_with(self, data: bytes, word: bytes) -> dict[str, Oid]:
        """Return names and ids of the lines whose ref begins with the word."""
        found: dict[str, Oid] = {}
        at = data.find(b" " + word)
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            if end < 0:
                raise _GitsAffairError
            name = data[at + 1 : end].decode("ascii")
            _check_name(name)
            found[name] = self._id(data[start:at])
            at = data.find(b" " + word, end)
        return found

    def _id_in(self, path: str) -> Oid:
        with open(path, "rb", buffering=0) as file:
            return self._id(file.read(_LONGEST).rstrip(b"\n"))

    def _id(self, text: bytes) -> Oid:
        oid = text.decode("ascii")
        if not is_oid(oid) or len(oid) != self._width or not oid.strip("0"):
            raise _GitsAffairError
        return Oid(oid)


def _check_name(name: str) -> None:
    """Leave a name to git that it may refuse; names of ours have nothing of the kind."""
    if not _PLAIN_NAME.fullmatch(name) or ".." in name or "/." in name or name.endswith((".", ".lock")):
        raise _GitsAffairError
