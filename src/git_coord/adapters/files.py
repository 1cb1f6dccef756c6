"""Configuration files of others: read and replaced whole, where their links lead, with the permissions they had."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

BACKUPS = "edit/backup"


def backup_name(path: str) -> str:
    """Return the name, among our files, of what a configuration file held before us."""
    return f"{BACKUPS}/{hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]}"


def read(path: str) -> bytes | None:
    """Return a file's bytes, None when there is none."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None


def write(path: str, data: bytes) -> None:
    """Replace a file whole, where its links lead, with the permissions it had."""
    real = os.path.realpath(path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o666 & ~_umask()
    scratch = f"{real}.{os.getpid()}.tmp"
    with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    os.replace(scratch, real)


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
