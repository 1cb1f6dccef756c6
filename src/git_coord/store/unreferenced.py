"""Loose objects that nothing refers to any more, as git itself finds out, removed one by one."""

from __future__ import annotations

import os
import time
from collections.abc import Collection

from git_coord.domain.ids import Oid
from git_coord.errors import CoordError

from .git import Git

LONGEST = 120.0
"""Seconds that looking through the whole repository may take."""


class LooseObjects:
    """The loose objects of a repository; `common_dir` is its common git directory."""

    def __init__(self, git: Git, common_dir: str) -> None:
        """Look at nothing yet."""
        self._git = git
        self._folder = os.path.join(common_dir, "objects")

    def discard(self, objects: Collection[Oid], seconds: int) -> set[Oid]:
        """Remove those that no ref, index or reflog reaches and that are older than that; return which.

        Others may refer to an object of ours by its content, so only git's own walk tells. Where git will not say,
        nothing is removed. An object that git writes again meanwhile gets a new date, and stays.
        """
        try:
            done = self._git.run(["prune", "-n", f"--expire={seconds}.seconds.ago"], timeout=LONGEST, check=False)
        except CoordError:
            return set()
        unreachable = {line.partition(b" ")[0].decode("ascii", "replace") for line in done.out.splitlines()}
        if done.code != 0:
            return set()
        return {oid for oid in objects if oid in unreachable and self._remove(oid, time.time() - seconds)}

    def _remove(self, oid: Oid, before: float) -> bool:
        path = os.path.join(self._folder, oid[:2], oid[2:])
        try:
            if os.stat(path).st_mtime >= before:
                return False
            os.unlink(path)
        except OSError:
            return False
        return True
