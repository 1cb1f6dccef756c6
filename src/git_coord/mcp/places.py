"""Which repository a call means: the workspace named, that of its files, the client's roots, or where we started."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from git_coord.errors import CoordError, Kind

ASK = 'pass "workspace": the absolute path of the folder you work in'


def choose(workspace: str | None, names: Sequence[str], roots: Sequence[str], here: str) -> str:
    """Return the folder to work in, which names are then relative to; what is ambiguous is asked, never guessed.

    1. The workspace given. 2. The one repository that all absolute names lie in. 3. The one repository of the client's
    roots. 4. Without roots, where the server was started. Raises CoordError(USAGE) with what to say instead.
    """
    if workspace is not None:
        return _given(workspace)
    base = _only(roots) if roots else None
    if absolute := [name for name in names if name.startswith("/")]:
        top = _top_of_all(absolute)
        if base is not None and _top(base) == top:
            return base
        if len(absolute) < len(names):
            raise CoordError(Kind.USAGE, f"some files are absolute and some are relative to an unknown folder; {ASK}")
        return top
    if base is not None:
        return base
    if roots:
        raise _ambiguous("the client has several workspaces", sorted(roots))
    if _top(here) is None:
        raise CoordError(Kind.USAGE, f"which repository? {ASK}")
    return here


def folders(uris: Sequence[str]) -> list[str]:
    """Return the folders of `file:` URIs, as a client lists its roots; others are of no use here."""
    parts = [urlsplit(uri) for uri in uris]
    return [unquote(part.path) for part in parts if part.scheme == "file" and part.path.startswith("/")]


def _given(workspace: str) -> str:
    if not workspace.startswith("/") or "\0" in workspace or not os.path.isdir(workspace):
        raise CoordError(Kind.USAGE, f"workspace {workspace!r} is not the absolute path of a folder that exists")
    return os.path.normpath(workspace)


def _top_of_all(names: Sequence[str]) -> str:
    tops = {name: _top_above(name) for name in names}
    found = sorted({top for top in tops.values() if top is not None})
    lost = next((name for name, top in tops.items() if top is None), None)
    if lost is not None:
        raise CoordError(Kind.USAGE, f"{lost} is in no repository")
    if len(found) > 1:
        raise _ambiguous("these files are in several repositories, and one call works in one", found)
    return found[0]


def _top_above(name: str) -> str | None:
    """Return the repository that a name lies in: that of its folder, so that a submodule is its superproject's."""
    name = os.path.normpath(name)
    return _top(os.path.dirname(name)) or _top(name)


def _only(roots: Sequence[str]) -> str | None:
    """Return the first root when all are in one repository; in none at all, that is for git to say."""
    return roots[0] if len({_top(root) for root in roots}) == 1 else None


def _ambiguous(what: str, found: Sequence[str]) -> CoordError:
    return CoordError(Kind.USAGE, f"{what} ({', '.join(found)}); {ASK}", data={"workspaces": list(found)})


def _top(folder: str) -> str | None:
    """Return the nearest folder upwards with a `.git`, links resolved; None outside of any worktree.

    That is how git looks for it; git itself is asked when the repository is opened.
    """
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    return folder
