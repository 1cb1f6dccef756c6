"""Arguments to items: paths relative to where the user stands, tasks, globs, and lists on standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from git_coord.app import App
from git_coord.domain.items import Intent, Item, ItemKind, parse_argument
from git_coord.domain.statements import MAX_GLOBS, MAX_ITEMS
from git_coord.errors import CoordError, Kind

glob = click.option("--glob", "globs", multiple=True, metavar="PATTERN", help="A pattern: * ? and ** (repeatable).")
stdin = click.option("--stdin", "from_stdin", is_flag=True, help="Read more paths from standard input, one a line.")
nul = click.option("-z", "is_nul", is_flag=True, help="With --stdin: paths end in NUL, not in a newline.")


def read_stdin(is_nul: bool) -> list[str]:
    """Return the paths on standard input."""
    text = os.fsdecode(sys.stdin.buffer.read())
    return [name for name in text.split("\0" if is_nul else "\n") if name]


def items(app: App, names: Sequence[str], globs: Sequence[str], intent: Intent) -> tuple[Item, ...]:
    """Return the items that arguments mean, each once, with files pinned to their content.

    Raises CoordError(USAGE) for a name that cannot be claimed, or none at all.
    """
    unique = _parsed(app, names, globs)
    if not unique:
        raise CoordError(Kind.USAGE, "name at least one path or task")
    if len(unique) > MAX_ITEMS:
        raise CoordError(Kind.USAGE, f"{len(unique)} items, at most {MAX_ITEMS} in one claim")
    if sum(kind is ItemKind.GLOB for kind, _ in unique) > MAX_GLOBS:
        raise CoordError(Kind.USAGE, f"at most {MAX_GLOBS} globs in one claim")
    pins = app.worktree.pins([name for kind, name in unique if kind is ItemKind.PATH])
    return tuple(Item(kind, name, intent, pins.get(name)) for kind, name in unique)


def plain_items(app: App, names: Sequence[str], globs: Sequence[str] = ()) -> tuple[Item, ...]:
    """Return the items without pins, for commands that only look them up."""
    return tuple(Item(kind, name, Intent.EDIT) for kind, name in _parsed(app, names, globs))


def _parsed(app: App, names: Sequence[str], globs: Sequence[str]) -> list[tuple[ItemKind, str]]:
    prefix = app.location.prefix.rstrip("/")
    asked = [_parse(app, name, prefix) for name in names]
    asked += [parse_argument(pattern, prefix, glob=True) for pattern in globs]
    return list(dict.fromkeys(asked))


def _parse(app: App, name: str, prefix: str) -> tuple[ItemKind, str]:
    """Parse one argument; an absolute path inside the worktree is as good as a relative one: agents name files so."""
    top = app.location.top
    if name.startswith("/") and top is not None:
        folder, last = os.path.split(os.path.normpath(name))
        # The last component stays as it is: a symbolic link is claimed itself, not what it points to.
        for path in (os.path.normpath(name), os.path.join(os.path.realpath(folder), last)):
            if path == top or path.startswith(top.rstrip("/") + "/"):
                return parse_argument(f"path:{os.path.relpath(path, top)}")
    return parse_argument(name, prefix)


def tokens_and_names(arguments: Sequence[str]) -> tuple[list[int], list[str]]:
    """Split arguments into tokens (`#1042`) and everything else."""
    tokens = [int(argument[1:]) for argument in arguments if _is_token(argument)]
    return tokens, [argument for argument in arguments if not _is_token(argument)]


def _is_token(argument: str) -> bool:
    return argument.startswith("#") and argument[1:].isascii() and argument[1:].isdigit()
