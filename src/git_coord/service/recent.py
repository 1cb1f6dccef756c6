"""Copies of what was stored in the last minute: a prune that began before a swap takes what the swap needs.

`git gc --prune=now` looks at the refs first and removes objects seconds later; what became reachable in between goes
too. Git leaves that to its users; here a ledger would end. So each swap leaves a copy of its objects in files of ours,
ten seconds a file, and whoever then finds objects missing writes them again. Never the truth: ids are made anew.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from git_coord.domain.merkle import GitObject, hash_object
from git_coord.errors import CoordError, Kind

from .context import Coord

FOLDER = "recent"
SECONDS = 10
KEPT = 6
TRIES = 4
_LIMIT = 64 << 20
T = TypeVar("T")


def remember(coord: Coord, objects: Sequence[GitObject]) -> None:
    """Keep a copy of these objects for a minute; where that cannot be written nothing is kept."""
    folder, now = coord.files.path(FOLDER), coord.clock.now() // SECONDS
    path = os.path.join(folder, str(now))
    # One write each: what other processes append at the same time comes before it or after it.
    data = b"".join(b"%s %d\n%s\n" % (each.type.encode("ascii"), len(each.data), each.data) for each in objects)
    with contextlib.suppress(OSError):
        try:
            _append(path, data)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            _append(path, data, os.O_CREAT)
            _forget(folder, now)


def _append(path: str, data: bytes, flags: int = 0) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o666)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _forget(folder: str, now: int) -> None:
    for name in os.listdir(folder):
        if not name.isdigit() or not now - KEPT <= int(name) <= now:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def restore(coord: Coord) -> bool:
    """Write again what is remembered and has gone missing; tell whether there was any."""
    known = {made.oid: made for kind, data in _remembered(coord) for made in [_made(coord, kind, data)]}
    found = coord.store.read(list(known), 0)
    missing = [made for made, there in zip(known.values(), found, strict=True) if there is None]
    coord.store.write(missing)
    if missing:
        coord.notice("a prune had taken what was stored a moment before; written again")
    return bool(missing)


def mend(coord: Coord) -> bool:
    """Have the remote give again what is missing and not remembered; tell whether anything was, and it did."""
    try:
        return _mended(coord)
    except CoordError:
        return False  # what went wrong before is what there is to say


def _mended(coord: Coord) -> bool:
    is_mended = coord.remote is not None and coord.remote.mend()
    if is_mended:
        coord.opened.clear()
        coord.stored.clear()
        coord.notice("objects of git coord were missing or damaged; fetched again")
    return is_mended


def persistently(coord: Coord, work: Callable[[], T], *, remembers: bool = False) -> T:
    """Do some work, once more each time that what was missing for it has been given again.

    Raises what the work raises where nothing is missing, CoordError(UNKNOWN) when things vanish as fast as they come,
    and instead of UNTRUSTED when what is missing could not be given again: so much is no forgery.
    """
    if remembers:
        try:
            return work()
        except CoordError:
            restore(coord)
    for _ in range(TRIES):
        try:
            return work()
        except CoordError as trouble:
            if not _is_mended_after(coord, trouble):
                raise
    text = "objects of git coord vanish as fast as they are fetched: a git gc --prune=now is at work"
    raise CoordError(Kind.UNKNOWN, text, next="git coord sync   (once it is over)")


def _is_mended_after(coord: Coord, trouble: CoordError) -> bool:
    try:
        return _mended(coord)
    except CoordError as still:
        if trouble.kind is not Kind.UNTRUSTED:
            return False
        text = f"{trouble.message}; what may be missing here is not to be had: {still.message}"
        raise CoordError(Kind.UNKNOWN, text, next="git coord doctor --fix") from None


def _made(coord: Coord, kind: str, data: bytes) -> GitObject:
    return hash_object(kind, data, coord.store.algorithm)


def _remembered(coord: Coord) -> Iterator[tuple[str, bytes]]:
    folder = coord.files.path(FOLDER)
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            yield from _parsed(_content(os.path.join(folder, name)))


def _content(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(fd, "rb") as file:
        return file.read(_LIMIT) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _parsed(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield type and content; at what is no entry (a disk was full) the rest is passed over."""
    at = 0
    while (end := data.find(b"\n", at, at + 32)) > 0:
        kind, _, size = data[at:end].partition(b" ")
        if kind not in (b"blob", b"tree", b"commit") or not size.isdigit():
            return
        start, at = end + 1, end + 2 + int(size)
        if at > len(data):
            return
        yield kind.decode("ascii"), data[start : at - 1]
