"""Records whose signature was verified before, so that no record is checked twice in a clone.

Kept by SHA-256 of the whole record, which holds statement, key and signature: another byte is another record. Only
that the signature is good is remembered; whose key it is, and whether that key counts, is asked every time. The file
is a cache in our own folder: who can write it can also write the refs, hooks and configuration beside it.
"""

from __future__ import annotations

import os

from git_coord.crypto.record import OpenedRecord, open_record, reopen_record
from git_coord.domain.digest import new

from .files import CoordFiles

NAME = "verified"
KEPT = 4096
"""Lines after which the file is begun anew: presence, posts and requests of hundreds of agents fit many times."""


class Remembered:
    """Opens records, asking the signature only of those never seen."""

    def __init__(self, files: CoordFiles) -> None:
        """Read nothing yet."""
        self._files = files
        self._known: set[str] | None = None

    def open(self, record: bytes, limit: int) -> OpenedRecord:
        """Return the parts of a record whose signature verifies; raises CoordError(UNTRUSTED)."""
        if len(record) > limit:
            return open_record(record, limit)
        digest = new("sha256", record).hexdigest()
        if digest in self._all():
            return reopen_record(record, limit)
        opened = open_record(record, limit)
        self._add(digest)
        return opened

    def _all(self) -> set[str]:
        if self._known is None:
            text = self._files.read(NAME) or b""
            self._known = set(text.decode("ascii", "replace").split())
        return self._known

    def _add(self, digest: str) -> None:
        known = self._all()
        if len(known) >= KEPT:
            self._files.remove(NAME)
            known.clear()
        known.add(digest)
        path = self._files.path(NAME)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # One short append: processes side by side lose nothing, and a torn line is a digest nobody has.
            # Never through a link, and never waiting for a reader of a pipe.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(path, flags, 0o600)
            try:
                os.write(descriptor, f"{digest}\n".encode("ascii"))
            finally:
                os.close(descriptor)
        except OSError:
            return  # a cache that cannot be written costs time, nothing else
