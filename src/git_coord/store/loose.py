"""Loose objects in process, without starting one: written as `git hash-object -w` writes them, and read.

A dozen objects take 1 ms, where `git unpack-objects` takes 3 and another to start. Only where git would do nothing
else with them: `loose_objects` says no where the user wants them synced or shared, or where the repository has an
extension that we do not know. What a kill leaves behind has the name that `git prune` looks for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import zlib
from collections.abc import Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject, hash_object
from git_coord.errors import CoordError, Kind

from .git import Config

_HEADER = re.compile(rb"(commit|tree|blob|tag) (\d{1,18})")
_HEADER_SIZE = 32
_LEVEL = 1
"""Git's own default for loose objects."""
_FAN = 2
"""Letters of the id that name the folder."""
_FOLDER_TRIES = 20
"""A prune removes folders that it has emptied, also the one just made."""
_SMALL = 4096
_SMALL_WINDOW = (zlib.DEFLATED, 12, 5)
"""For what fits a window of 4 KiB: zlib's usual tables, 268 KB made anew for each object, cost ten times as much."""
_AS_WE_WRITE = {"core.fsync": "none", "core.fsyncObjectFiles": "false", "core.sharedRepository": "false"}
"""Settings about objects, with the value that asks for nothing more."""
_KNOWN_EXTENSIONS = frozenset(
    (
        "noop",
        "noop-v1",
        "objectformat",
        "partialclone",
        "preciousobjects",
        "refstorage",
        "relativeworktrees",
        "worktreeconfig",
    )
)


class LooseObjects:
    """The loose objects below one `objects` directory."""

    def __init__(self, folder: str) -> None:
        """Take where they are; nothing is looked at yet."""
        self._folder = folder

    def read(self, oid: str, algorithm: str, limit: int | None = None) -> GitObject | None:
        """Return a loose object, None where there is none; one of more than `limit` bytes as "oversized", unread.

        Never waits and never takes more memory than the size that its header names. Raises CoordError(ERROR) for one
        that is damaged.
        """
        try:
            with open(os.path.join(self._folder, oid[:2], oid[2:]), "rb") as file:
                packed = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _damaged(oid, error.strerror or "unreadable") from error
        return _opened(oid, packed, algorithm, limit)

    def remove_empty(self) -> bool:
        """Remove files of no bytes, which a machine that lost power leaves, and git neither reads nor replaces.

        Tell whether there were any. What is written appears whole under its name, so that none is on its way.
        """
        found = False
        with contextlib.suppress(OSError):
            for folder in os.scandir(self._folder):
                if len(folder.name) == _FAN and folder.is_dir(follow_symlinks=False):
                    for entry in os.scandir(folder.path):
                        if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size == 0:
                            os.unlink(entry.path)
                            found = True
        return found

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects, what they name before them; raises CoordError(ERROR) when the disk refuses.

        Each appears whole under its name or not at all. One that is there is kept, and made young again: a prune
        that is under way must not take it.
        """
        mark = os.urandom(6).hex()
        try:
            for made in objects:
                path = os.path.join(self._folder, made.oid[:2], made.oid[2:])
                if not _freshened(path):
                    self._store(path, f"tmp_obj_{mark}", b"%s %d\0" % (made.type.encode("ascii"), len(made.data)), made)
        except OSError as error:
            raise CoordError(Kind.ERROR, f"an object cannot be written: {error.strerror}") from error

    def _store(self, path: str, scratch: str, header: bytes, made: GitObject) -> None:
        folder = os.path.dirname(path)
        scratch = os.path.join(folder, scratch)
        window = _SMALL_WINDOW if len(made.data) < _SMALL else ()
        squeezer = zlib.compressobj(_LEVEL, *window)
        content = squeezer.compress(header) + squeezer.compress(made.data) + squeezer.flush()
        for _ in range(_FOLDER_TRIES):
            try:
                _write_new(scratch, content)
                os.rename(scratch, path)
                return
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)


def _opened(oid: str, packed: bytes, algorithm: str, limit: int | None) -> GitObject:
    stretcher = zlib.decompressobj()
    try:
        start = stretcher.decompress(packed, _HEADER_SIZE)
        header, nul, data = start.partition(b"\0")
        found = _HEADER.fullmatch(header) if nul else None
        if found is None:
            raise _damaged(oid, "no header")
        type_, size = found[1].decode("ascii"), int(found[2])
        if limit is not None and size > limit:
            return GitObject(Oid(oid), "oversized", b"")
        # One byte more than it should have, so that too long is told from whole.
        data += stretcher.decompress(stretcher.unconsumed_tail, size + 1)
    except zlib.error as error:
        raise _damaged(oid, str(error)) from error
    made = hash_object(type_, data, algorithm)
    if not stretcher.eof:
        raise _damaged(oid, "cut short or too long")
    if len(data) != size or made.oid != oid:
        raise _damaged(oid, "other bytes than its name says")
    return made


def _damaged(oid: str, why: str) -> CoordError:
    return CoordError(Kind.ERROR, f"object {oid} is damaged: {why}", next="git fsck")


def _freshened(path: str) -> bool:
    """Set the time of an object that is there; False when it is not, or was emptied by a machine that lost power."""
    try:
        os.utime(path)
        return os.stat(path).st_size > 0
    except OSError:
        return False


def _write_new(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        try:
            with memoryview(content) as view:
                written = 0
                while written < len(view):
                    written += os.write(descriptor, view[written:])
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def loose_objects(common_dir: str, config: Config) -> LooseObjects | None:
    """Return the repository's loose objects, None where git has to write them itself."""
    extensions = {key.partition(".")[2] for key in config.under("extensions")}
    if extensions - _KNOWN_EXTENSIONS or any(
        config.get(key) not in (None, plain) for key, plain in _AS_WE_WRITE.items()
    ):
        return None
    return LooseObjects(os.path.join(common_dir, "objects"))
