"""Read small files that matter, without hanging on a pipe or swallowing a device."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]


def read_small_file(path: StrPath, limit: int) -> tuple[bytes, int]:
    """Return content and mode of a regular file; raises OSError, also when it is larger than the limit."""
    # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
    return data, stat.S_IMODE(status.st_mode)


def quoted(path: str) -> str:
    """Return a path as one would type it at a shell; only error messages show any."""
    from shlex import quote  # noqa: PLC0415 - cold start

    return quote(path)
