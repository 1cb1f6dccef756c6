"""Arguments to items: paths relative to where the user stands, tasks, globs, and lists on standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from git_coord.app import App
from git_coord.app.named import Named, Wrong
from git_coord.domain.items import Intent, Item, ItemKind, parse_argument
from git_coord.domain.statements import MAX_GLOBS, MAX_ITEMS
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .render import json_name, quoted

if TYPE_CHECKING:
    from git_coord.domain.ids import Oid

glob = click.option("--glob", "globs", multiple=True, metavar="PATTERN", help="A pattern: * ? and ** (repeatable).")
stdin = click.option("--stdin", "from_stdin", is_flag=True, help="Read more paths from standard input, one a line.")
nul = click.option("-z", "is_nul", is_flag=True, help="With --stdin: paths end in NUL, not in a newline.")


def read_stdin(is_nul: bool) -> list[str]:
    """Return the paths on standard input."""
    text = os.fsdecode(sys.stdin.buffer.read())
    return [name for name in text.split("\0" if is_nul else "\n") if name]


LONGEST = 2000
"""Characters of a command that is advised; who names thousands of paths has the list at hand."""


class Asked(NamedTuple):
    """The items that arguments mean, and those among them that nothing has yet, with the name that may be meant."""

    items: tuple[Item, ...]
    new: dict[Item, str | None]

    @property
    def new_objects(self) -> list[dict[str, Any]]:
        """The new ones as `--json` shows them."""
        return [{"path": json_name(item.name), "similar": near and json_name(near)} for item, near in self.new.items()]

    def unless(self, held: Collection[Item]) -> Asked:
        """Leave out what somebody holds: that is new only where another name may be meant."""
        return self._replace(new={item: near for item, near in self.new.items() if near or item not in held})

    def remark(self, item: Item) -> str:
        """Return what is said beside an item that nothing has yet, for a table."""
        if item not in self.new:
            return ""
        near, word = self.new[item], "matches nothing yet" if item.kind is ItemKind.GLOB else "new"
        return f"   {word}; did you mean {near}?" if near else f"   {word}"


NOTHING = Asked((), {})


def items(app: App, names: Sequence[str], globs: Sequence[str], intent: Intent) -> Asked:
    """Return the items that arguments mean, each once, with files pinned to their content.

    Raises CoordError(USAGE) for a name that cannot be claimed, or none at all.
    """
    found = asked(app, names, globs, intent)
    unique = found.items
    if not unique:
        raise CoordError(Kind.USAGE, "name at least one path or task")
    if len(unique) > MAX_ITEMS:
        raise CoordError(Kind.USAGE, f"{len(unique)} items, at most {MAX_ITEMS} in one claim")
    if sum(item.kind is ItemKind.GLOB for item in unique) > MAX_GLOBS:
        raise CoordError(Kind.USAGE, f"at most {MAX_GLOBS} globs in one claim")
    pins = app.worktree.pins([item.name for item in unique if item.file])
    return Asked(tuple(_pinned(item, pins) for item in unique), found.new)


def _pinned(item: Item, pins: Mapping[str, Oid]) -> Item:
    return item._replace(blob=pins[item.name], file=False) if item.file and item.name in pins else item


def asked(app: App, names: Sequence[str], globs: Sequence[str], intent: Intent = Intent.EDIT) -> Asked:
    """Return what a claim of these arguments would ask for, without pins: the same question for who only looks."""
    _refuse_options(names, globs, intent)
    look, found = Named(app), dict[tuple[ItemKind, str], Item]()
    for at, typed in enumerate(names):
        kind, name = _parse(app, typed)
        item = look.look(Item(kind, name, intent), typed)
        if isinstance(item, Wrong):
            raise _refused(item, typed, names[:at], names[at + 1 :], globs, intent)
        known = found.get((kind, name), item)
        found[kind, name] = item if known.file else known  # named twice, as a folder too: the folder
    prefix = app.location.prefix.rstrip("/")
    for at, pattern in enumerate(globs):
        key = parse_argument(pattern, prefix, glob=True)
        item = look.look(Item(*key, intent), pattern)
        if isinstance(item, Wrong):
            raise _refused(item, pattern, names, (), (*globs[:at], *globs[at + 1 :]), intent)
        found[key] = item
    return Asked(tuple(found.values()), look.new)


def _refuse_options(names: Sequence[str], globs: Sequence[str], intent: Intent) -> None:
    """Raise CoordError(USAGE) for an option where a pattern belongs; what follows it is the pattern then."""
    option = next((pattern for pattern in globs if pattern.startswith("-")), None)
    if option is None:
        return
    plain = [name for name in names if not {"*", "?"} & set(name)]
    patterns = [*(pattern for pattern in globs if pattern != option), *(name for name in names if name not in plain)]
    words = [word for pattern in patterns for word in ("--glob", pattern)]
    raise _refused(Wrong("is an option, and no pattern", (option, *words)), option, plain, (), (), intent)


def _refused(
    wrong: Wrong, typed: str, before: Sequence[str], after: Sequence[str], globs: Sequence[str], intent: Intent
) -> CoordError:
    """Return the error for a name that cannot be meant, with the whole command as it is to be typed."""
    command = click.get_current_context().info_name or "check"
    if command not in ("claim", "check", "preflight", "release", "takeover"):
        command = "check"
    words = ["--read"] if command == "claim" and intent is Intent.READ else []
    patterns = [word for pattern in globs for word in ("--glob", pattern)]
    text = f"'{escape_for_display(typed)}' {wrong.trouble}"
    if wrong.instead is None:
        step = f"git coord {command} -h"
        return CoordError(Kind.USAGE, text, next=step)
    if wrong.is_elsewhere:
        if wrong.folder is None:
            return CoordError(Kind.USAGE, text, next=f"git submodule update --init {quoted([wrong.instead[0]])}")
        return CoordError(
            Kind.USAGE, text, next=f"git -C {quoted([wrong.folder])} coord {command} {quoted(wrong.instead)}"
        )
    line = quoted([*words, *before, *wrong.instead, *after, *patterns])
    step = f"git coord {command} {line}"
    return CoordError(Kind.USAGE, text, next=step if len(step) <= LONGEST else None)


def plain_items(app: App, names: Sequence[str], globs: Sequence[str] = ()) -> tuple[Item, ...]:
    """Return the items that arguments name, for commands that look up what was claimed, and tasks.

    Raises CoordError(USAGE) for what no path can be.
    """
    return asked(app, names, globs).items


def _parse(app: App, name: str) -> tuple[ItemKind, str]:
    """Parse one argument; an absolute path inside the worktree is as good as a relative one: agents name files so."""
    top = app.location.top
    if name.startswith("/") and top is not None:
        folder, last = os.path.split(os.path.normpath(name))
        # The last component stays as it is: a symbolic link is claimed itself, not what it points to.
        for path in (os.path.normpath(name), os.path.join(os.path.realpath(folder), last)):
            if path == top or path.startswith(top.rstrip("/") + "/"):
                return parse_argument(f"path:{os.path.relpath(path, top)}")
    return parse_argument(name, app.location.prefix.rstrip("/"))


def tokens_and_names(arguments: Sequence[str]) -> tuple[list[int], list[str]]:
    """Split arguments into tokens (`#1042`) and everything else."""
    tokens = [int(argument[1:]) for argument in arguments if _is_token(argument)]
    return tokens, [argument for argument in arguments if not _is_token(argument)]


def _is_token(argument: str) -> bool:
    return argument.startswith("#") and argument[1:].isascii() and argument[1:].isdigit()
