"""What a person may have meant by a name that nothing has: another kind, a pattern, a place in a file, a near name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..lean import NamedTuple

_WORDS = {
    "task": "task issue ticket story bug epic job todo work",
    "branch": "branch ref head",
    "path": "path file folder directory dir tree",
    "glob": "glob pattern",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_KINDS |= {f"{word}s": kind for word, kind in _KINDS.items()}
_KINDS |= {"stories": "task", "branches": "branch", "directories": "path"}
_PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9_+.-]*):(.*)", re.DOTALL)
_PLACE = re.compile(r"(.+?)(?::\d+(?:-\d+)?(?::\d+)?:?|#L\d+(?:-L?\d+)?)", re.DOTALL)
_MAGIC = re.compile(r":(?:\([a-z,!:=]*\)|[/!^]*)(.*)", re.DOTALL)
ALIKE = 0.85
"""How alike two names must be, from 0 to 1, so that one may have been meant by the other."""
MOST_COMPARED = 500
"""Names of which each takes some 20 microseconds."""


class Meant(NamedTuple):
    """Why a name is taken for a typing error, and the arguments that were probably meant, None where there are none."""

    trouble: str
    arguments: tuple[str, ...] | None = None
    may_be_new: bool = True
    """Whether a new file could have this name after all, if that is said (`path:NAME`)."""


def misspelt(text: str, exists: Callable[[str], bool]) -> Meant | None:
    """Return what is wrong with an argument that names nothing there is, None where it may be a file to be."""
    if text.startswith("#") and text[1:].isdigit():
        return Meant("is the number of a claim, not what is claimed")
    if text.startswith(":") and (magic := _MAGIC.fullmatch(text)):
        is_one = magic[1] and not {"!", "^"} & set(text[: magic.start(1)]) and "exclude" not in text[: magic.start(1)]
        kind = ("--glob",) if {"*", "?"} & set(magic[1]) else ()
        return Meant("is a pathspec of git", (*kind, f":/{magic[1]}") if is_one else None)
    if text.endswith(":") and exists(text[:-1]):
        return Meant("has a ':' at its end", (text[:-1],))
    if (place := _PLACE.fullmatch(text)) and exists(place[1]):
        return Meant("names a line; a claim is of the whole file", (place[1],))
    if (prefixed := _PREFIX.fullmatch(text)) is not None:
        return _prefixed(prefixed[1], prefixed[2], exists)
    return _other(text, exists) or _odd(text, exists)


def _other(text: str, exists: Callable[[str], bool]) -> Meant | None:
    """Return what is meant by a name as other programs print it: a full ref, a side of a diff, several in a row."""
    parts = text.split("/", 2)
    if parts[:2] == ["refs", "heads"] and parts[2:] and parts[2]:
        return Meant("looks like a branch", (f"branch:{parts[2]}",))
    if text[:2] in ("a/", "b/") and exists(text[2:]):
        return Meant(f"has the '{text[:2]}' of a diff", (text[2:],))
    names = [name for name in re.split(r"[,;\s]+", text) if name]
    if (len(names) > 1 or names != [text]) and names and all(map(exists, names)):
        return Meant("is more than a name", tuple(names))
    return None


def _odd(text: str, exists: Callable[[str], bool]) -> Meant | None:
    if "*" in text or "?" in text:
        return Meant("looks like a pattern, and no file has this name", ("--glob", text))
    if "\\" in text and exists(text.replace("\\", "/")):
        return Meant("has '\\' where git has '/'", (text.replace("\\", "/"),))
    return Meant("has a ':', and no file has this name") if ":" in text else None


def _prefixed(word: str, rest: str, exists: Callable[[str], bool]) -> Meant:
    if rest.startswith("//"):
        return Meant("is an address, not a path of this repository", may_be_new=False)
    if rest and exists(rest):
        return Meant("names a version of a file; a claim is of the file", (rest,))
    if len(word) == 1 and rest[:1] in ("/", "\\"):
        return Meant("is a path of another system", may_be_new=False)
    kind = _KINDS.get(word.lower()) or _near_kind(word.lower())
    if kind is None or not rest:
        return Meant("has a ':', and no file has this name")
    if kind == "glob":
        return Meant("looks like a pattern, and no file has this name", ("--glob", rest))
    return Meant(f"looks like another kind; '{word}:' is none, there are path:, task: and branch:", (f"{kind}:{rest}",))


def _near_kind(word: str) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a typing error

    found = get_close_matches(word, _KINDS, 1, 0.8)
    return _KINDS[found[0]] if found else None


def nearest(name: str, *groups: Iterable[str]) -> str | None:
    """Return the existing name that a new one most resembles, None where none does.

    What is compared at length is bounded: names in the same folder, with the same last component, or that differ in
    case alone.
    """
    folder, _, last = name.rpartition("/")
    low, begin, end = name.lower(), f"{folder}/" if folder else "", f"/{last}"
    found = []
    for other in (other for group in groups for other in group):
        if other.lower() == low:
            return other
        is_beside = other.startswith(begin) and "/" not in other[len(begin) :]
        if is_beside or other.endswith(end) or (other == last and folder):
            found.append(other)
    if len(found) > MOST_COMPARED:
        found = sorted(found, key=lambda other: abs(len(other) - len(name)))[:MOST_COMPARED]
    is_only = sum(other.rpartition("/")[2] == last for other in found) == 1
    scored = [(_alike(folder, last, other, is_only=is_only), other) for other in sorted(found)]
    best = max(scored, default=(0.0, ""))
    return best[1] if best[0] >= ALIKE else None


def _alike(folder: str, last: str, other: str, *, is_only: bool) -> float:
    """Return how alike two paths are: their last components, or their folders where the last is the same.

    The only one of its name is meant also where folders on the way are missing, or too many.
    """
    above, _, name = other.rpartition("/")
    if name == last:
        is_on_way = f"/{above}/".startswith(f"/{folder}/") or f"/{folder}/".startswith(f"/{above}/")
        return 0.9 if is_only and (is_on_way or not (folder and above)) else _ratio(folder, above)
    stem, _, ending = last.rpartition(".")
    its, _, its_ending = name.rpartition(".")
    return _ratio(stem, its) if stem and its and ending == its_ending else _ratio(last, name)


def _ratio(one: str, two: str) -> float:
    one, two = one.lower(), two.lower()
    if abs(len(one) - len(two)) > 2 or re.sub(r"\d", "", one) == re.sub(r"\d", "", two) != one:
        return 0.0  # too far, or the next of a row: they differ in digits alone
    if sorted(one) == sorted(two):
        return 0.95
    from difflib import SequenceMatcher  # noqa: PLC0415 - only for a new name

    return SequenceMatcher(None, one, two).ratio()
