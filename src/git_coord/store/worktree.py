"""What the services want to know of a worktree: the blobs of files as they are now, and where HEAD stands."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import hash_object
from git_coord.domain.statements import Base

from . import refnames
from .git import Git
from .interface import Store
from .location import Location
from .tracked import Tracked

MAX_ARGUMENTS = 200
"""Names given to git as arguments at once, at most."""
_UPSTREAM = ("rev-parse", "--quiet", "--verify", "@{upstream}^{commit}")
_HASH = ("hash-object", "--stdin-paths")


class Worktree:
    """The files around one worktree's `top` (None in a bare repository: then nothing has a blob)."""

    def __init__(
        self, git: Git, store: Store, location: Location, *, remote: str | None, asks_again: bool = False
    ) -> None:
        """Take where the worktree is; nothing is run yet. Who lives long asks for the upstream each time."""
        self._asks_again = asks_again
        self._git = git
        self._top = location.top
        self._upstream = location.upstream
        self._store = store
        self._remote = remote

    def warm(self) -> None:
        """Start ahead what `pins` will ask git."""
        if self._top is not None:
            self._git.begin(_HASH)

    def pins(self, paths: Sequence[str]) -> dict[str, Oid]:
        """Return the blob id that `git add` would give each path that is a file or a symbolic link now."""
        found: dict[str, Oid] = {}
        files = []
        for path in paths if self._top is not None else ():
            kind = self._kind(path)
            if kind == "link":
                target = os.fsencode(os.readlink(os.path.join(self._top or "", path)))
                found[path] = hash_object("blob", target, self._store.algorithm).oid
            elif kind == "file":
                files.append(path)
        return found | self._hashed(files)

    def _kind(self, path: str) -> str | None:
        try:
            mode = os.lstat(os.path.join(self._top or "", path)).st_mode
        except OSError:
            return None
        return "link" if stat.S_ISLNK(mode) else "file" if stat.S_ISREG(mode) else None

    def sort(self, path: str) -> str | None:
        """Return what lies at a path: "file", "folder", "other", or None for nothing; a link is a file."""
        try:
            mode = os.lstat(os.path.join(self._top or "", path)).st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISLNK(mode) or stat.S_ISREG(mode):
            return "file"
        return "folder" if stat.S_ISDIR(mode) else "other"

    def way_out(self, path: str, inside: set[str]) -> str | None:
        """Return the folder on the way to a path at which this repository ends: a link, or another repository.

        `inside` are folders that were looked at already; more are added.
        """
        folder, walked = os.path.dirname(path), []
        while folder and folder not in inside:
            full = os.path.join(self._top or "", folder)
            if os.path.islink(full) or os.path.lexists(os.path.join(full, ".git")):
                return folder
            walked.append(folder)
            folder = os.path.dirname(folder)
        inside.update(walked)
        return None

    def tracked(self) -> Tracked:
        """Return what git tracks."""
        return Tracked.of(self._git)

    def _hashed(self, files: Sequence[str]) -> dict[str, Oid]:
        # `--stdin-paths` reads one path a line and unquotes a leading quote; such names go as arguments.
        odd = [path for path in files if "\n" in path or path.startswith('"')]
        plain = [path for path in files if path not in odd] if odd else list(files)
        found = {}
        if plain:
            names = b"".join(os.fsencode(path) + b"\n" for path in plain)
            out = self._git.run(_HASH, names).out
            found = dict(zip(plain, map(Oid, out.decode("ascii").split()), strict=True))
        for path in odd:
            found[path] = Oid(self._git.run(["hash-object", "--", path]).out.decode("ascii").strip())
        return found

    def base(self) -> Base:
        """Return HEAD, its upstream and this clone's copy of the default branch, each None where there is none.

        The upstream is the one that was found with the repository, unless that may be long ago: it costs a process.
        """
        if self._asks_again:
            done = self._git.run(_UPSTREAM, check=False)
            self._upstream = Oid(done.out.decode("ascii").strip()) if done.code == 0 else None
        names = ["HEAD", *([refnames.default_branch(self._remote)] if self._remote else [])]
        commits = self._store.read([f"{name}^{{commit}}" for name in names])
        head, default = [None if commit is None else commit.oid for commit in [*commits, None]][:2]
        return Base(head, self._upstream, default)

    def branch(self) -> str | None:
        """Return the short name of the branch that is checked out, None for a detached HEAD."""
        done = self._git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], check=False)
        return os.fsdecode(done.out).strip() or None if done.code == 0 else None

    def uncommitted(self, names: Sequence[str]) -> list[str]:
        """Return the files at or below these paths whose content differs from HEAD, or that git does not track yet."""
        if self._top is None or not names:
            return []
        # Many names would not fit an argument list; then everything is looked at, and what was asked for is kept.
        some = list(names) if len(names) <= MAX_ARGUMENTS and "." not in names else []
        line = ["--literal-pathspecs", "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty"]
        done = self._git.run([*line, "--untracked-files=all", "--", *some], check=False)
        found = [os.fsdecode(row[3:]) for row in done.out.split(b"\0") if row] if done.code == 0 else []
        wanted = set(names)
        return [path for path in found if some or _is_within(path, wanted)]


def _is_within(path: str, wanted: set[str]) -> bool:
    parts = path.split("/")
    return "." in wanted or any("/".join(parts[:n]) in wanted for n in range(1, len(parts) + 1))
