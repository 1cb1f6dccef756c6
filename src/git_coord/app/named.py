"""What an argument names here: a file, a folder, or something new; and typing errors that are none of these."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from git_coord.domain.items import EVERYTHING, Item, ItemKind, parse_argument
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError
from git_coord.lean import NamedTuple

if TYPE_CHECKING:
    from git_coord.domain.spelling import Meant
    from git_coord.store.tracked import Tracked

    from .root import App

MOST_NEAR = 5
"""New names of one command for which a near one is looked for, each some 50 milliseconds where 100,000 are tracked."""


class Wrong(NamedTuple):
    """A typed name that is refused: why, and the arguments to type instead; None where there is nothing to type."""

    trouble: str
    instead: tuple[str, ...] | None
    is_elsewhere: bool = False
    """Whether it lies in a repository of its own: then `instead` is its name there, or what is to be fetched first."""
    folder: str | None = None
    """That repository, None when it is not checked out."""


class Named:
    """A look at the worktree for the names of one command; git is asked only for those that are not there."""

    def __init__(self, app: App) -> None:
        """Look at nothing yet."""
        self.app = app
        self.inside: set[str] = set()
        self._index: Tracked | None = None
        self.new: dict[Item, str | None] = {}
        """Items that nothing has yet, with the existing name that may be meant."""

    def look(self, item: Item, typed: str) -> Item | Wrong:
        """Return the item with whether it is one file, or why no path of this repository can have the name.

        A path is one file unless a folder is there, or it is said to be one (`new/`).
        """
        if not item.kind.is_file or item.name == EVERYTHING or self.app.location.top is None:
            return item
        if item.kind is ItemKind.GLOB:
            from .patterns import look_at_pattern

            return look_at_pattern(self, item, typed)
        if is_gits(item.name):
            return Wrong("is git's own: nothing of that name is ever committed", None)
        worktree = self.app.worktree
        if folder := worktree.way_out(item.name, self.inside):
            return self.elsewhere(item.name, folder)
        sort = worktree.sort(item.name)
        return self._absent(item, typed) if sort is None else item._replace(file=sort != "folder")

    def _absent(self, item: Item, typed: str) -> Item | Wrong:
        if item.name in self.tracked.folders:
            return item
        item = item._replace(file=not typed.endswith(("/", "/.")))
        if item.name in self.tracked.files or self.is_claimed(item):
            return item
        for module in self.tracked.submodules:
            if item.name.startswith(f"{module}/"):
                return self.elsewhere(item.name, module)
        if not typed.startswith("path:") and (wrong := self._below_file(item.name) or self.misspelt(typed)):
            return wrong
        self.new[item] = self.near(item.name) if len(self.new) < MOST_NEAR else None
        return item

    def misspelt(self, typed: str) -> Wrong | None:
        """Return what is wrong with an argument that names nothing there is; `./` says that a name is meant."""
        if typed.startswith("./") and not set("*?") & set(typed):
            return None
        from git_coord.domain.spelling import misspelt

        meant = misspelt(typed, self._exists)
        return self._wrong(meant, typed) if meant else None

    def _below_file(self, name: str) -> Wrong | None:
        """Return what there is to say of a name below one that is a file."""
        above = os.path.dirname(name)
        while above:
            sort = self.app.worktree.sort(above)
            if sort == "file" or (sort is None and above in self.tracked.files):
                return Wrong(f"is below {_shown(above)}, which is a file", (self._from_here(above),))
            if sort is not None:
                return None
            above = os.path.dirname(above)
        return None

    @property
    def tracked(self) -> Tracked:
        """What git tracks, asked once."""
        if self._index is None:
            self._index = self.app.worktree.tracked()
        return self._index

    def near(self, name: str, *, folders: bool = False) -> str | None:
        """Return the existing name, or with `folders` the folder, that may be meant by one that is not there."""
        from git_coord.domain.spelling import nearest

        return nearest(name, self.tracked.folders, *(() if folders else (self.tracked.files,)))

    def is_claimed(self, item: Item) -> bool:
        """Tell whether somebody has, or waits for, just this: then it was meant when it was claimed."""
        from git_coord.service.ledger import open_ledger, view

        if self.app.coord.head is None and open_ledger(self.app.coord) is None:
            return False
        state, _ = view(self.app.coord)
        return bool(state.index.same(item) or state.asked.same(item))

    def _exists(self, typed: str) -> bool:
        try:
            _, name = parse_argument(f"path:{typed}", self.app.location.prefix.rstrip("/"))
        except CoordError:
            return False
        return self.app.worktree.sort(name) is not None or name in self.tracked.files

    def _wrong(self, meant: Meant, typed: str) -> Wrong:
        instead = meant.arguments
        if instead is not None and instead[-1].startswith(":/"):
            instead = (*instead[:-1], self._from_here(instead[-1][2:]))
        if instead is None or not self._fits(instead):
            return Wrong(meant.trouble, (f"path:{typed}",) if meant.may_be_new else None)
        more = f" (a new file of this name: {_shown(f'path:{typed}')})" if meant.may_be_new else ""
        return Wrong(f"{meant.trouble}{more}", instead)

    def _fits(self, arguments: Sequence[str]) -> bool:
        try:
            is_glob = arguments[0] == "--glob"
            parse_argument(arguments[-1], self.app.location.prefix.rstrip("/"), glob=is_glob)
        except CoordError:
            return False
        return True

    def elsewhere(self, name: str, folder: str, *, is_glob: bool = False) -> Wrong:
        """Say where a path leads that leaves this repository on its way."""
        top = self.app.location.top or ""
        full, rest = os.path.join(top, folder), os.path.relpath(name, folder)
        kind = ("--glob",) if is_glob else ()
        if os.path.islink(full):
            real = os.path.relpath(os.path.join(os.path.realpath(full), rest), os.path.realpath(top))
            is_here = not real.startswith("../")
            return Wrong(f"is below {_shown(folder)}, a link", (*kind, self._from_here(real)) if is_here else None)
        what = f"is in {_shown(folder)}, a repository of its own"
        if os.path.lexists(os.path.join(full, ".git")):
            return Wrong(what, (*kind, rest), is_elsewhere=True, folder=self._from_here(folder))
        return Wrong(f"{what} that is not checked out", (self._from_here(folder),), is_elsewhere=True)

    def _from_here(self, name: str) -> str:
        prefix = self.app.location.prefix.rstrip("/")
        return os.path.relpath(f"/{name}", f"/{prefix}") if prefix else name


def is_gits(name: str) -> bool:
    """Tell whether git keeps files of this name to itself, or commits none."""
    return any(part.lower() == ".git" for part in name.split("/"))


def _shown(text: str) -> str:
    return escape_for_display(text)
