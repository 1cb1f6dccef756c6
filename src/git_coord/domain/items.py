"""What can be claimed: paths, globs, tasks and branches; their one spelling, place in a statement, and look."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from ..errors import CoordError, Kind
from ..lean import NamedTuple
from .glob import check_glob
from .glob_part import is_wild
from .ids import Oid, is_oid
from .text import escape_for_display, is_utf8

MAX_NAME_BYTES = 4096
MAX_TASK_PARTS = 8
EVERYTHING = "."
_TASK_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._#@+-]{0,63}")
MAX_BRANCH_BYTES = 250
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")
_PREFIXES = ("path:", "task:", "branch:")


class ItemKind(Enum):
    """The kinds of item; the value is its key in a statement."""

    PATH = "path"
    GLOB = "glob"
    TASK = "task"
    BRANCH = "branch"

    @property
    def is_file(self) -> bool:
        """Tell whether it names files, which are what commits and edits touch."""
        return self in (ItemKind.PATH, ItemKind.GLOB)


class Intent(Enum):
    """What the holder means to do."""

    READ = "read"
    EDIT = "edit"

    def includes(self, other: Intent) -> bool:
        """Tell whether who may do this may do the other as well."""
        return self is Intent.EDIT or other is Intent.READ


class Item(NamedTuple):
    """One claimed thing. The name is canonical; bytes of it that are not UTF-8 are held as `surrogateescape` does."""

    kind: ItemKind
    name: str
    intent: Intent
    blob: Oid | None = None
    """What the file contained when it was claimed; only for a path, and only if it was a file."""
    file: bool = False
    """Whether it stands for one file though it has no blob: one to be, or that was not read; only for a path."""

    @property
    def is_one_file(self) -> bool:
        """Tell whether it meets a glob only where that matches it; any other path also by what is below it."""
        return self.file or self.blob is not None


def normalise_path(text: str) -> str:
    """Return the one spelling of a repository-relative path ("." is everything), or raise USAGE."""
    return _collapse(text, is_glob=False)


def normalise_glob(text: str) -> str:
    """Return the one spelling of a glob, or raise USAGE."""
    name = _collapse(text, is_glob=True)
    if name == EVERYTHING:
        raise _usage(text, "is no glob; for everything claim the path '.'")
    check_glob(name)
    return name


def normalise_task(text: str) -> str:
    """Return a task id as it is, or raise USAGE."""
    parts = text.split("/")
    if len(parts) > MAX_TASK_PARTS or not all(map(_TASK_PART.fullmatch, parts)):
        raise CoordError(
            Kind.USAGE,
            f"'{escape_for_display(text)}' is no task id: up to {MAX_TASK_PARTS} parts joined by '/', each of at most"
            " 64 letters, digits and . _ # @ + - that begins with a letter or digit",
        )
    return text


def normalise_branch(text: str) -> str:
    """Return the name of a branch as it is, or raise USAGE; the rules are those of `git check-ref-format --branch`."""
    parts = text.split("/")
    is_odd = any(not part or part.startswith(".") or part.endswith((".", ".lock")) for part in parts)
    if (
        is_odd
        or text.startswith("-")
        or text in ("@", "HEAD")
        or ".." in text
        or "@{" in text
        or _NO_BRANCH.search(text)
    ):
        raise _usage(text, "is no name of a branch")
    if not is_utf8(text) or len(text.encode()) > MAX_BRANCH_BYTES:
        raise _usage(text[:50], f"is no name of a branch: it must be UTF-8, of at most {MAX_BRANCH_BYTES} bytes")
    return text


_NORMALISE = {
    ItemKind.PATH: normalise_path,
    ItemKind.GLOB: normalise_glob,
    ItemKind.TASK: normalise_task,
    ItemKind.BRANCH: normalise_branch,
}


def is_canonical(kind: ItemKind, name: str) -> bool:
    """Tell whether the name is the one spelling of its item."""
    try:
        return _NORMALISE[kind](name) == name
    except CoordError:
        return False


def parse_argument(text: str, prefix: str = "", glob: bool = False) -> tuple[ItemKind, str]:
    """Read one argument of the command line, typed in the directory `prefix` of the repository, or raise USAGE.

    `path:`, `task:` and `branch:` say what is meant even where `glob` makes a bare argument a pattern.
    """
    if text.startswith("branch:"):
        return ItemKind.BRANCH, normalise_branch(text.removeprefix("branch:"))
    if text.startswith("task:"):
        return ItemKind.TASK, normalise_task(text.removeprefix("task:"))
    if text.startswith("path:"):
        return ItemKind.PATH, normalise_path(_below(prefix, text.removeprefix("path:")))
    if not glob:
        return ItemKind.PATH, normalise_path(_below(prefix, text))
    if is_wild(prefix):
        raise _usage(prefix, "has '*' or '?' in its name: run the command from the top of the repository")
    return ItemKind.GLOB, normalise_glob(_below(prefix, text))


def show_name(kind: ItemKind, name: str) -> str:
    """Return the name as a person may read it and, unless it has escapes, type it at the top of the repository."""
    shown = escape_for_display(name)
    if not kind.is_file:
        return f"{kind.value}:{shown}"
    if not name.startswith(("-", *_PREFIXES)):
        return shown
    return f"path:{shown}" if kind is ItemKind.PATH else f"./{shown}"


def item_to_json(item: Item) -> dict[str, Any]:
    """Return the item as it stands in a statement."""
    value: dict[str, Any] = {item.kind.value: _name_to_json(item.name), "intent": item.intent.value}
    if item.blob is not None:
        return value | {"blob": item.blob}
    return value | {"file": True} if item.file else value


def item_from_json(obj: object) -> Item:
    """Read an item of a statement; raise UNTRUSTED for anything that `item_to_json` does not write."""
    if not isinstance(obj, dict):
        raise _untrusted("an item is not an object")
    kind = _kind_of(obj)
    name = _name_from_json(obj[kind.value])
    if not is_canonical(kind, name):
        raise _untrusted(f"{kind.value} '{escape_for_display(name[:200])}' is not in its canonical spelling")
    try:
        intent = Intent(obj.get("intent"))
    except ValueError:
        raise _untrusted("the intent of an item is neither 'read' nor 'edit'") from None
    blob, is_file = _blob_of(obj, kind, name), _is_file(obj, kind, name)
    if is_file and blob is not None:
        raise _untrusted("an item has both 'blob' and 'file'")
    return Item(kind, name, intent, blob, is_file)


def _kind_of(obj: dict[Any, Any]) -> ItemKind:
    kinds = [kind for kind in ItemKind if kind.value in obj]
    for key in obj:
        if key not in ("path", "glob", "task", "branch", "intent", "blob", "file"):
            shown = escape_for_display(str(key)[:50])
            raise _untrusted(f"an item has '{shown}', which this version does not know: a newer git coord is needed")
    if len(kinds) != 1:
        raise _untrusted("an item needs exactly one of 'path', 'glob', 'task' and 'branch'")
    return kinds[0]


def _blob_of(obj: dict[Any, Any], kind: ItemKind, name: str) -> Oid | None:
    if "blob" not in obj:
        return None
    blob = obj["blob"]
    if kind is not ItemKind.PATH or name == EVERYTHING:
        raise _untrusted("only the path of a file can have a 'blob'")
    if not isinstance(blob, str) or not is_oid(blob):
        raise _untrusted("the 'blob' of an item is not an object id")
    return Oid(blob)


def _is_file(obj: dict[Any, Any], kind: ItemKind, name: str) -> bool:
    if "file" not in obj:
        return False
    if obj["file"] is not True or kind is not ItemKind.PATH or name == EVERYTHING:
        raise _untrusted("only a path can be a 'file', and only by true")
    return True


def file_item(path: str, intent: Intent = Intent.EDIT) -> Item:
    """Return what a commit or an edit of the file at this path asks for."""
    return Item(ItemKind.PATH, path, intent, file=True)


def _name_to_json(name: str) -> str | dict[str, str]:
    if is_utf8(name):
        return name
    from binascii import b2a_base64  # noqa: PLC0415 (hardly ever needed)

    return {"b64": b2a_base64(name.encode(errors="surrogateescape"), newline=False).decode("ascii")}


def _name_from_json(value: object) -> str:
    if isinstance(value, str):
        if not is_utf8(value):
            raise _untrusted("the name of an item has a lone surrogate")
        return value
    if not isinstance(value, dict) or list(value) != ["b64"] or not isinstance(value["b64"], str):
        raise _untrusted('the name of an item is neither text nor {"b64": text}')
    from binascii import a2b_base64  # noqa: PLC0415 (hardly ever needed)

    try:
        name = a2b_base64(value["b64"], strict_mode=True).decode(errors="surrogateescape")
    except ValueError:  # what binascii raises, and what text that is not ASCII raises
        raise _untrusted("the name of an item is not base64") from None
    if _name_to_json(name) != value:
        raise _untrusted("the base64 name of an item is not canonical, or the name is UTF-8")
    return name


def _below(prefix: str, text: str) -> str:
    """Join an argument to the directory it was typed in; an empty or absolute one stays as it is, to be refused."""
    return f"{prefix}/{text}" if prefix and text and not text.startswith("/") else text


def _collapse(text: str, is_glob: bool) -> str:
    """Take out `.`, `..`, and needless slashes."""
    parts: list[str] = []
    for part in _relative(text).split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif not parts:
            raise _usage(text, "leads out of the repository")
        elif is_wild(parts.pop()) and is_glob:
            raise _usage(text, "has '..' after a wildcard")
    return "/".join(parts) or EVERYTHING


def _relative(text: str) -> str:
    """Check the text as a whole; bytes that turn out to be UTF-8 after all become text."""
    if not text:
        raise CoordError(Kind.USAGE, "a path cannot be empty; '.' is everything")
    if text.startswith("/"):
        raise _usage(text, "is absolute; paths are relative to the repository")
    if "\0" in text:
        raise _usage(text, "contains NUL")
    try:
        raw = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise _usage(text, "has a lone surrogate") from None
    if len(raw) > MAX_NAME_BYTES:
        raise _usage(text[:50] + "...", f"is longer than {MAX_NAME_BYTES} bytes")
    return text if text.isascii() else raw.decode(errors="surrogateescape")


def _usage(text: str, trouble: str) -> CoordError:
    return CoordError(Kind.USAGE, f"'{escape_for_display(text)}' {trouble}")


def _untrusted(message: str) -> CoordError:
    return CoordError(Kind.UNTRUSTED, message)
