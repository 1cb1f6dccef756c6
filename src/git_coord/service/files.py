"""Our small files in the repository's directories: caches and stamps, never the truth; written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat

from git_coord.lean import NamedTuple


class CoordFiles(NamedTuple):
    """`common` is shared by all worktrees of the clone, `local` belongs to one; both are paths of folders of ours."""

    common: str
    local: str

    def path(self, name: str, *, local: bool = False) -> str:
        """Return where a file of ours lies."""
        return os.path.join(self.local if local else self.common, name)

    def read(self, name: str, *, local: bool = False) -> bytes | None:
        """Return a file's bytes, None when there is none or it cannot be read."""
        try:
            # O_NONBLOCK: a pipe in its place would wait for ever, and a device would never end.
            descriptor = os.open(self.path(name, local=local), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        except OSError:
            return None

    def write(self, name: str, data: bytes, *, local: bool = False) -> None:
        """Replace a file whole; a reader sees the old bytes or the new ones. Raises OSError when the disk refuses."""
        path = self.path(name, local=local)
        scratch = f"{path}.{os.getpid()}.tmp"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            with open(scratch, "wb") as file:
                file.write(data)
            os.replace(scratch, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
            raise

    def note(self, name: str, data: bytes, *, local: bool = False) -> bool:
        """Replace a file whose loss costs time and nothing else; tell whether the disk took it."""
        try:
            self.write(name, data, local=local)
        except OSError:
            return False
        return True

    def extend(self, name: str, data: bytes) -> int | None:
        """Add bytes at the end of a file that is there, in one write; return its size then, None when there is none.

        Raises OSError when the disk refuses.
        """
        try:
            descriptor = os.open(self.path(name), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            os.write(descriptor, data)
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def remove(self, name: str, *, local: bool = False) -> None:
        """Remove a file if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path(name, local=local))

    def append(self, name: str, data: bytes) -> None:
        """Add lines to a file in one go, which others may do at the same time. Raises OSError when the disk refuses."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab", buffering=0) as file:
            file.write(data)

    def take(self, name: str) -> bytes:
        """Return a file's bytes and remove it; what others append meanwhile is not lost."""
        taken = f"{name}.{os.getpid()}.taken"
        try:
            os.rename(self.path(name), self.path(taken))
        except OSError:
            return b""
        data = self.read(taken) or b""
        self.remove(taken)
        return data
