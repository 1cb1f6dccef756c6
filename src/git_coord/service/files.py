"""Our small files in the repository's directories: caches and stamps, never the truth; written whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CoordFiles:
    """`common` is shared by all worktrees of the clone, `local` belongs to one; both are folders of ours."""

    common: Path
    local: Path

    def read(self, name: str, *, local: bool = False) -> bytes | None:
        """Return a file's bytes, None when there is none or it cannot be read."""
        try:
            return ((self.local if local else self.common) / name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, data: bytes, *, local: bool = False) -> None:
        """Replace a file whole; a reader sees the old bytes or the new ones. Raises OSError when the disk refuses."""
        path = (self.local if local else self.common) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            scratch.write_bytes(data)
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)

    def remove(self, name: str, *, local: bool = False) -> None:
        """Remove a file if it is there."""
        ((self.local if local else self.common) / name).unlink(missing_ok=True)
