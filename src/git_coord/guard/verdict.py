"""Whether paths are surely free: every doubt counts as "not sure", and then the full program decides."""

from . import match
from .snapshot import Claims, Rule, escape, unescape

FOREIGN, MINE, LAPSED = 1, 2, 4
"""Flags of a path: held by another agent; under an edit claim of one's own; under a claim of one's own that lapsed."""


class Picture:
    """The live items as one agent sees them. Nothing is done per item unless a path needs it."""

    def __init__(self, claims: Claims, me: bytes, now: int) -> None:
        _, _, self._lines, has_globs = claims
        self._me, self._now = me, now
        globs = [line.split(b"\t") for line in self._lines if b"\tG\t" in line] if has_globs else []
        self._globs = [(match.Pattern(unescape(fields[0])), self._flags(fields)) for fields in globs]
        self._above: dict[bytes, int] = {b".": self._at(b".")}
        self._busy: dict[bytes, bool] = {b"": bool(self._lines)}

    def flags(self, path: bytes) -> int:
        """Return what holds for a folded path; a glob that bytes cannot decide counts as foreign."""
        name = escape(path)
        folder = name.rpartition(b"/")[0]
        if self._is_busy(folder):
            found = self._down_to(name) | (FOREIGN if self._is_foreign_below(name) else 0)
        else:
            found = self._down_to(folder)
        for pattern, flags in self._globs:
            covers = pattern.covers(path)
            if covers is None:
                return found | FOREIGN
            if covers:
                found |= flags
        return found

    def _is_busy(self, folder: bytes) -> bool:
        """Tell whether any item lies in the folder: asked once for all its files, of which a commit may have many."""
        known = self._busy.get(folder)
        if known is None:
            key = folder + b"/"
            at = self._find(key)
            known = self._busy[folder] = at < len(self._lines) and self._lines[at].startswith(key)
        return known

    def _down_to(self, name: bytes) -> int:
        """Collect the flags of the literal items at this name and above it; folders are remembered."""
        todo = []
        known = self._above.get(name)
        while known is None:  # a loop: a path may have more components than Python has frames
            todo.append(name)
            name = name.rpartition(b"/")[0] or b"."
            known = self._above.get(name)
        for name in reversed(todo):
            self._above[name] = known = known | self._at(name)
        return known

    def _at(self, name: bytes) -> int:
        found, key = 0, name + b"\tP\t"
        at = self._find(key)
        while at < len(self._lines) and self._lines[at].startswith(key):
            found |= self._flags(self._lines[at].split(b"\t"))
            at += 1
        return found

    def _is_foreign_below(self, name: bytes) -> bool:
        """Tell whether a file of this name would destroy what another agent holds below it."""
        key = name + b"/"
        at = self._find(key)
        while at < len(self._lines) and self._lines[at].startswith(key):
            fields = self._lines[at].split(b"\t")
            if fields[1] == b"P" and fields[3] != self._me:
                return True
            at += 1
        return False

    def _flags(self, fields: list[bytes]) -> int:
        if fields[3] != self._me:
            return FOREIGN
        return (MINE if fields[2] == b"e" else 0) | (LAPSED if int(fields[5]) < self._now else 0)

    def _find(self, key: bytes) -> int:
        """Return the place of the first line that is not below the key (`bisect` would be one more file to load)."""
        low, high = 0, len(self._lines)
        while low < high:
            middle = (low + high) // 2
            if self._lines[middle] < key:
                low = middle + 1
            else:
                high = middle
        return low


class Matcher:
    """The team's rules of one sort: `X`, paths that are never judged, or `R`, paths that need a claim."""

    __slots__ = ("_globs", "_names")

    def __init__(self, rules: list[Rule], sort: bytes) -> None:
        self._names = {path for kind, form, path in rules if kind == sort and form == b"P"}
        self._globs = [match.Pattern(path) for kind, form, path in rules if kind == sort and form == b"G"]

    def covers(self, path: bytes) -> bool | None:
        """Tell whether a rule covers the folded path; None where bytes cannot tell."""
        if self._names:
            name = path
            while name and name not in self._names:
                name = name.rpartition(b"/")[0]
            if name or b"." in self._names:
                return True
        answers = [pattern.covers(path) for pattern in self._globs]
        return True if True in answers else None if None in answers else False


def all_free(paths: list[bytes], claims: Claims, rules: list[Rule], me: bytes) -> bool:
    """Tell whether every path is surely free for a commit of this agent, with nothing to say to its author."""
    import time  # built in

    picture = Picture(claims, me, int(time.time()))
    exempt, required, folds = Matcher(rules, b"X"), Matcher(rules, b"R"), claims[0] != b"none"
    for path in paths:
        if folds and not path.isascii():
            return False
        folded = path.lower() if folds else path
        is_exempt = exempt.covers(folded) if rules else False
        if is_exempt:
            continue
        flags = picture.flags(folded)
        if is_exempt is None or flags & (FOREIGN | LAPSED):
            return False
        if rules and not flags & MINE and required.covers(folded) is not False:
            return False
    return True
