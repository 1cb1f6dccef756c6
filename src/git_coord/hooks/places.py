"""From where git runs hooks: one folder for each worktree, and which setting says so."""

from __future__ import annotations

import os
from dataclasses import dataclass

from git_coord.app import App


@dataclass(frozen=True, slots=True)
class Place:
    """A worktree's top and the folder its hooks are run from; `scope` is where `core.hooksPath` was set, if it was."""

    top: str
    folder: str
    scope: str | None
    is_tracked: bool
    """Whether the folder lies in a worktree, among files that are the user's to commit."""
    is_shared: bool
    """Whether the folder lies outside the repository, where others may use it too."""


def find_places(app: App) -> list[Place]:
    """Return the place of this worktree and of every other one of the repository.

    A bare repository without worktrees has the folder that its later worktrees will use.
    """
    tops = _tops(app)
    places = [_place(app, top, tops) for top in tops]
    if places:
        return places
    return [Place(app.location.git_dir, os.path.join(app.location.common_dir, "hooks"), None, False, False)]


def _tops(app: App) -> list[str]:
    listed = os.fsdecode(app.git.run(["worktree", "list", "--porcelain"]).out).splitlines()
    found = [app.location.top] if app.location.top else []
    found += [os.path.realpath(line.removeprefix("worktree ")) for line in listed if line.startswith("worktree ")]
    # What has no `.git` is a bare repository, a worktree that is gone, or how git lists a submodule's main worktree.
    return [top for top in dict.fromkeys(found) if os.path.lexists(os.path.join(top, ".git"))]


def ask(app: App, top: str, *args: str) -> str:
    """Return what git says in a worktree, empty when it fails."""
    done = app.git.run(["-C", top, "--git-dir=.git", *args], check=False)
    return os.fsdecode(done.out).removesuffix("\n") if done.code == 0 else ""


def _place(app: App, top: str, tops: list[str]) -> Place:
    folder = os.path.realpath(os.path.join(top, ask(app, top, "rev-parse", "--git-path", "hooks")))
    common = app.location.common_dir
    roots = [root for root in tops if is_below(folder, root)]
    # A folder of the repository itself is not the user's, although `.git` lies in a worktree; a worktree within a bare
    # repository is.
    is_tracked = any(not (is_below(folder, common) and is_below(common, root)) for root in roots)
    scope = ask(app, top, "config", "--show-scope", "--get", "core.hooksPath").split("\t")[0] or None
    return Place(top, folder, scope, is_tracked, not is_tracked and not is_below(folder, common))


def is_below(path: str, root: str) -> bool:
    """Tell whether a path is the root or lies below it; both without symbolic links."""
    return path == root or path.startswith(root.rstrip("/") + "/")
