"""Put the shims where git runs hooks from, take them away again, and prove that they run."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from shlex import quote

import git_coord.guard
from git_coord.app import App
from git_coord.errors import CoordError, Kind
from git_coord.guard import fast

from . import managers
from .managers import read
from .places import Place, find_places

HOOKS = (
    *("pre-commit", "pre-merge-commit", "prepare-commit-msg", "pre-push"),
    *("post-commit", "post-rewrite", "post-merge", "post-checkout"),
)
PRIOR = ".coord-prior"
"""What the name of a hook that was there before us ends with now; the shim runs it first."""
MARK = b"# git-coord shim "
PROBE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Installation:
    """What `install` did: the folders that have the shims now, the hooks it chained, what a user should know."""

    folders: tuple[str, ...]
    changed: tuple[str, ...]
    chained: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HookStatus:
    """Whether a hook of ours fires in a worktree, found out by running it; `text` says so or why not."""

    name: str
    path: str
    top: str
    is_firing: bool
    text: str


def install(app: App) -> Installation:
    """Install every shim for every worktree; doing it again changes nothing.

    Raises CoordError(ERROR), before anything is changed, when git runs tracked files, which are the user's.
    """
    places = find_places(app)
    for place in places:
        if place.is_tracked and not all(_probe(app, place, name)[0] for name in HOOKS):
            raise _refusal(place)
    folders = dict.fromkeys(place.folder for place in places if not place.is_tracked)
    changed: list[str] = []
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
        changed += [path for name in HOOKS if _place_shim(path := os.path.join(folder, name), shim_text(name))]
    chained = [path for folder in folders for name in HOOKS if os.path.lexists(path := _prior(folder, name))]
    return Installation(tuple(folders), tuple(changed), tuple(chained), tuple(_warnings(places)))


def uninstall(app: App, *, shared: bool = False) -> tuple[str, ...]:
    """Remove every shim and put back what was there before, byte for byte; returns the paths that changed.

    A folder outside the repository is left alone unless `shared`: other repositories rely on the shims in it.
    """
    changed = []
    for folder in dict.fromkeys(place.folder for place in find_places(app) if shared or not place.is_shared):
        for name in HOOKS:
            changed += _take_away(os.path.join(folder, name), _prior(folder, name))
    return tuple(changed)


def _take_away(path: str, prior: str) -> list[str]:
    """Remove our shim, also where another program has put it since, and let what was there before take its place."""
    if not _is_ours(path) and managers.is_newer(path, prior):
        os.unlink(prior)
    ours = [one for one in (path, *_copies(path)) if _is_ours(one)]
    for one in ours:
        if one == ours[0] and os.path.lexists(prior):
            os.replace(prior, one)
        else:
            os.unlink(one)
    return ours


def status(app: App) -> list[HookStatus]:
    """Return every hook in every worktree, each one run to see whether it reaches us."""
    places = find_places(app)
    found = []
    for place in places:
        for name in HOOKS:
            path = os.path.join(place.folder, name)
            fires, why = _probe(app, place, name)
            where = f" in {place.top}" if len(places) > 1 else ""
            text = f"{name} fires{where}" if fires else f"{name} does not fire{where}: {why}"
            found.append(HookStatus(name, path, place.top, fires, text))
    return found


def _prior(folder: str, name: str) -> str:
    return os.path.join(folder, name + PRIOR)


def shim_text(name: str) -> bytes:
    """Return the shim with the interpreter and the guard that this very program runs from."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(git_coord.guard.__file__)))
    # In the wheel the shims lie in the package, in a checkout beside `src`.
    folders = (os.path.join(package, "githooks"), os.path.join(package, "..", "..", "githooks"))
    folder = next(folder for folder in folders if os.path.isdir(folder))
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    guard = os.path.join(package, "guard", "main.py")
    return os.fsencode(
        text.replace("@PYTHON@", quote(os.path.abspath(sys.executable))).replace("@GUARD@", quote(guard))
    )


def _is_ours(path: str) -> bool:
    data = None if os.path.islink(path) else read(path)
    return data is not None and b"\n" + MARK in data[:200]


def _copies(path: str) -> list[str]:
    return [path + ending for ending in managers.COPIES]


def _place_shim(path: str, shim: bytes) -> bool:
    """Put the shim where it is run: under the hook's name, or where pre-commit has moved it and runs it from."""
    behind, _ = managers.entry(path)
    if behind in _copies(path) and _is_ours(behind):
        return _put(behind, shim)
    is_changed = _put(path, shim)
    for copy in _copies(path):  # left by a program that came after us and has no use for it
        if _is_ours(copy):
            os.unlink(copy)
    return is_changed


def _put(path: str, shim: bytes) -> bool:
    """Make the path this shim, and tell whether that changed anything; a hook of others moves aside once."""
    if _is_ours(path) and read(path) == shim and os.access(path, os.X_OK):
        return False
    scratch = f"{path}.{os.getpid()}.tmp"
    try:
        with open(scratch, "wb") as file:
            file.write(shim)
        os.chmod(scratch, 0o755)  # noqa: S103 (as git makes its own hooks)
        if os.path.lexists(path) and not _is_ours(path):
            _set_aside(path)
        os.replace(scratch, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(scratch)
    return True


def _set_aside(path: str) -> None:
    """Give another's hook its second name; the first stays until the shim replaces it, so that it is never missing."""
    prior = path + PRIOR
    if _supersedes(path, prior):
        return
    try:
        os.link(path, prior, follow_symlinks=False)
    except FileExistsError:
        # Another process may be at the same thing: then it is the same file, or the shim is already there.
        if not (_is_ours(path) or os.path.samestat(os.lstat(path), os.lstat(prior))):
            raise CoordError(
                Kind.ERROR,
                f"{path} is not ours, and there is a {os.path.basename(prior)} already",
                next=f"mv {quote(prior)} {quote(prior)}.unused   (it ran before), then: git coord hooks install",
            ) from None
    except OSError:  # a file system without hard links
        os.rename(path, prior)


def _supersedes(path: str, prior: str) -> bool:
    """Let a hook that its program made anew take the place of the edition set aside; tell whether it did."""
    scratch = f"{prior}.{os.getpid()}.tmp"
    try:
        os.link(path, scratch, follow_symlinks=False)
    except OSError:
        return False
    # Judged by the scratch name: another process may have put the shim at the path meanwhile.
    if is_newer := managers.is_newer(scratch, prior):
        os.replace(scratch, prior)
    else:
        os.unlink(scratch)
    return is_newer


def _refusal(place: Place) -> CoordError:
    lines = [f'{name}:  git-coord hook {name} "$@" || exit' for name in HOOKS]
    folder = managers.users_folder(place.folder)
    there = "there" if folder == place.folder else f"in {folder}"
    scope = f"{place.scope} configuration" if place.scope else "configuration"
    return CoordError(
        Kind.ERROR,
        f"core.hooksPath ({scope}) makes git run {place.folder}, which is inside the worktree: your files, not changed",
        next=managers.remake(place.folder, place.top)
        or f"add to the hooks {there}, executable and with '#!/bin/sh' first:\n  " + "\n  ".join(lines),
        data={"scope": place.scope, "folder": folder, "lines": lines},
    )


def _warnings(places: list[Place]) -> list[str]:
    shared = dict.fromkeys(place.folder for place in places if place.is_shared)
    return [f"{folder} may serve other repositories too; in those the hooks do nothing" for folder in shared]


def _probe(app: App, place: Place, name: str) -> tuple[bool, str]:
    """Run the hook as git would, told to answer and do nothing else; return whether it did, and if not why."""
    path = os.path.join(place.folder, name)
    data = read(path)
    if data is None:
        return False, f"{path} is not there"
    if not os.access(path, os.X_OK):
        return False, f"{path} is not executable, so git passes it over"
    named, entry = managers.entry(path)
    data += read(named) or b""
    if b"git-coord" not in data and b"git coord" not in data:
        return False, f"{path} is another program's"  # not run: it may do anything
    from subprocess import DEVNULL, SubprocessError, run

    env = {key: value for key, value in app.env.items() if not key.startswith("GIT_COORD_")}
    for variable in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_COMMON_DIR"):
        env.pop(variable, None)
    try:
        done = run(
            [entry],
            cwd=place.top,
            env=env | {fast.PROBE: "1"},
            stdin=DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, SubprocessError) as trouble:
        return False, f"{path} cannot be run: {trouble}"
    if (fast.PROBE_ANSWER + name).encode() in done.stdout:
        return True, ""
    words = done.stderr.decode(errors="replace").strip().split("\n")[0]
    return False, f"{path} does not reach git coord" + (f": {words}" if words else "")
