"""The user's branches, read only: what a range changed, what a tip has, and whether it ever had it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_coord.domain.ids import Oid

from . import refnames
from .git import Git

if TYPE_CHECKING:
    from .merging import GitMerges

MAX_ARGUMENTS = 200
"""Paths given to git as arguments at once; with more, everything is listed and what was asked for is kept."""
_DIFF = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")


class GitBranches:
    """The branches of one repository; `remote` is the remote whose branches count, None for those of this clone."""

    def __init__(self, git: Git, remote: str | None) -> None:
        """Prepare; nothing is run yet."""
        self._git = git
        self._remote = remote

    def commit(self, name: str) -> Oid | None:
        """Return the commit that a name stands for here, None for none."""
        if name.startswith("-") or "\n" in name or "\0" in name:
            return None
        done = self._git.run(["rev-parse", "--quiet", "--verify", f"{name}^{{commit}}"], check=False)
        return Oid(done.out.decode("ascii").strip()) if done.code == 0 else None

    def tip(self, branch: str) -> Oid | None:
        """Return where a branch of the remote was when it was last fetched, None for one that never was."""
        return self.commit(refnames.branch(branch, self._remote))

    def changed(self, base: Oid | None, tip: Oid) -> Mapping[str, Oid | None]:
        """Return what `tip` has at each path that differs from `base`; None is gone, no base is nothing at all.

        Empty when `base` is not here.
        """
        if base is None:
            return self._listing(tip, ())
        done = self._git.run([*_DIFF, base, tip], check=False)
        return dict(_changes(done.out)) if done.code == 0 else {}

    def missing(self, commits: Collection[Oid], tip: Oid) -> set[Oid]:
        """Return the commits that are not in the history of `tip`; those that are not here at all count as missing."""
        asked = "".join(f"{oid}^{{commit}}\n" for oid in sorted(commits)).encode("ascii")
        rows = self._git.run(["cat-file", "--batch-check=%(objectname)"], asked).out.decode("ascii").split("\n")
        here = set(map(Oid, rows)) & set(commits)
        lines = "".join(f"{oid}\n" for oid in (*sorted(here), f"^{tip}")).encode("ascii")
        beyond = set(map(Oid, self._git.run(["rev-list", "--stdin"], lines).out.decode("ascii").split()))
        return {oid for oid in commits if oid not in here or oid in beyond}

    def blobs(self, tip: Oid, paths: Sequence[str]) -> Mapping[str, Oid | None]:
        """Return what a commit has at these paths; those it does not have are left out."""
        return {path: oid for path, oid in self._listing(tip, paths).items() if path in set(paths)}

    def had(self, tip: Oid, path: str, blob: Oid, since: Oid | None) -> bool:
        """Tell whether a path had this content somewhere in the history of `tip` (after `since`, if that is here)."""
        line = ["--literal-pathspecs", "log", "-1", "--format=%H", "--no-renames", f"--find-object={blob}", tip]
        after = [f"^{since}"] if since is not None and self.commit(since) else []
        return bool(self._git.run([*line, *after, "--", path], check=False).out.strip())

    def fork(self, commit: Oid, tip: Oid) -> Oid | None:
        """Return where two commits parted, None where that, or one of them, is not here."""
        done = self._git.run(["merge-base", commit, tip], check=False)
        return Oid(done.out.decode("ascii").split("\n")[0]) if done.code == 0 else None

    def merges(self) -> GitMerges:
        """Return git's own merges of what is here."""
        from .merging import GitMerges  # noqa: PLC0415 - only where a branch has neither the commit nor its content

        return GitMerges(self._git)

    def _listing(self, tip: Oid, paths: Sequence[str]) -> dict[str, Oid | None]:
        few = paths if len(paths) <= MAX_ARGUMENTS else ()
        out = self._git.run(["ls-tree", "-r", "-z", "--full-tree", tip, "--", *few]).out
        rows = (row.partition(b"\t") for row in out.split(b"\0") if row)
        return {os.fsdecode(name): Oid(head.split(b" ")[2].decode("ascii")) for head, _, name in rows}


def _changes(out: bytes) -> Iterator[tuple[str, Oid | None]]:
    """Yield path and new blob of `:mode mode id id status` NUL path NUL."""
    fields = iter(out.split(b"\0")[:-1])
    for description in fields:
        oid = description.split(b" ")[3].decode("ascii")
        yield os.fsdecode(next(fields)), Oid(oid) if oid.strip("0") else None
