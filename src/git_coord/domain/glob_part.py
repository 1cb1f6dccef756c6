"""One component of a glob: which names it matches, and whether some name matches two of them."""

from __future__ import annotations

from collections.abc import Sequence

from .fold import Fold, fold_name
from .text import is_utf8

ANY = "\0"
"""Stands for `?` in a compiled part. No path holds NUL, so a `?` in the name of a file is never taken for it."""

Pieces = tuple[str, ...]
"""What stands between the stars of one component; one piece alone means that there is no star."""


def is_wild(component: str) -> bool:
    """Tell whether a component of a glob stands for more than its own spelling."""
    return "*" in component or "?" in component


class Part:
    """One component of a glob other than `**`, as written and as it compares."""

    __slots__ = ("folded", "head", "is_plain", "least", "raw", "tail", "utf8")

    def __init__(self, raw: Pieces, folded: Pieces, utf8: bool):
        self.raw = raw
        self.folded = folded
        self.utf8 = utf8
        self.head = folded[0].split(ANY)[0]
        """How a UTF-8 name must begin to match; `tail`: how it must end; `least`: how long it must be."""
        self.tail = folded[-1].split(ANY)[-1]
        self.least = sum(map(len, folded))
        inner = sum(len(piece) - piece.count(ANY) for piece in folded) - len(self.head) - len(self.tail)
        self.is_plain = len(folded) > 1 and not inner
        """Whether a UTF-8 name need fulfil no more than that."""

    @classmethod
    def compiled(cls, component: str, fold: Fold) -> Part:
        """Make the part of a component as it is written in a glob."""
        raw, folded = _pieces(component), fold_name(component, fold)
        return cls(raw, raw if folded == component else _pieces(folded), is_utf8(component))

    @classmethod
    def named(cls, name: str) -> Part:
        """Make the part that matches one name only: a component of a folded path."""
        return cls((name,), (name,), is_utf8(name))

    def matches(self, name: str) -> bool:
        """Tell whether it matches one component of a folded path (one that is not UTF-8 was not folded)."""
        if not name.isascii() and not is_utf8(name):
            return _fits(self.raw, name)
        if len(name) < self.least or not (name.startswith(self.head) and name.endswith(self.tail)):
            return False
        return self.is_plain or _fits(self.folded, name)

    def meets(self, other: Part) -> bool:
        """Tell whether a file name exists that both match."""
        # A name that is not UTF-8 compares by its bytes, so a part that can only match such names meets the other as
        # it was written.
        both = self.utf8 and other.utf8
        return pieces_meet(self.folded, other.folded) if both else pieces_meet(self.raw, other.raw)


class Places:
    """Where in a row of parts another meets: one bit for each place, found by character.

    A long run of parts is looked for in a long row with this; asking place by place takes a million questions.
    """

    def __init__(self, row: Sequence[Part]):
        self._utf8 = sum(1 << place for place, part in enumerate(row) if part.utf8)
        self._folded = _Spots([part.folded for part in row])
        self._raw = self._folded if all(part.raw == part.folded for part in row) else _Spots([part.raw for part in row])

    def of(self, part: Part) -> int:
        """Return the places at which the part meets; as `Part.meets`."""
        if not part.utf8:
            return self._raw.of(part.raw)
        return self._folded.of(part.folded) & self._utf8 | self._raw.of(part.raw) & ~self._utf8


class _Spots:
    """The same for parts which all compare in one way."""

    def __init__(self, row: Sequence[Pieces]):
        self._row = row
        self._known: dict[Pieces, int] = {}
        self._starred = [place for place, pieces in enumerate(row) if len(pieces) > 1]
        self._length: dict[int, int] = {}
        self._char: dict[tuple[int, int, str], int] = {}
        for place, pieces in enumerate(row):
            if len(pieces) == 1:
                self._add(pieces[0], 1 << place)

    def _add(self, text: str, bit: int) -> None:
        size = len(text)
        self._length[size] = self._length.get(size, 0) | bit
        for at, char in enumerate(text):
            self._char[size, at, char] = self._char.get((size, at, char), 0) | bit

    def of(self, pieces: Pieces) -> int:
        found = self._known.get(pieces)
        if found is None:
            # A text of nothing but dots and `?` may have only `.` or `..` in common with another: such are few.
            is_hard = len(pieces) > 1 or (len(pieces[0]) <= 2 and not pieces[0].strip("." + ANY))
            found = self._asked(pieces, range(len(self._row))) if is_hard else self._fixed(pieces)
            self._known[pieces] = found
        return found

    def _asked(self, pieces: Pieces, places: Sequence[int]) -> int:
        return sum(1 << place for place in places if pieces_meet(pieces, self._row[place]))

    def _fixed(self, pieces: Pieces) -> int:
        size = len(pieces[0])
        found = self._length.get(size, 0)
        for at, char in enumerate(pieces[0]):
            if char != ANY:
                found &= self._char.get((size, at, char), 0) | self._char.get((size, at, ANY), 0)
        return found | self._asked(pieces, self._starred)


def pieces_meet(one: Pieces, two: Pieces) -> bool:
    """Tell whether a file name exists that both match; "", "." and ".." are not names."""
    if len(one) > 1 and len(two) > 1:
        # Both have a star: if the ends agree, a name with everything that either asks for, one after the other,
        # between them, is matched by both.
        return _begin_alike(one[0], two[0]) and _begin_alike(one[-1][::-1], two[-1][::-1])
    starred, fixed = (one, two[0]) if len(two) == 1 else (two, one[0])
    return _fits(starred, fixed) and not _only_dots(starred, fixed)


def _pieces(component: str) -> Pieces:
    return tuple(component.replace("?", ANY).split("*"))


def _begin_alike(one: str, two: str) -> bool:
    common = min(len(one), len(two))
    return _agree(one[:common], two[:common])


def _agree(one: str, two: str) -> bool:
    """Tell whether two texts of one length can be the same text."""
    if one == two:
        return True
    if ANY not in one and ANY not in two:
        return False
    for a, b in zip(one, two, strict=True):  # noqa: SIM110 (a generator takes three times as long, here it counts)
        if a not in (b, ANY) and b != ANY:
            return False
    return True


def _fits(pieces: Pieces, text: str) -> bool:
    """Tell whether the pieces can match the text, which may contain ANY itself."""
    if len(pieces) == 1:
        return len(pieces[0]) == len(text) and _agree(pieces[0], text)
    head, tail = pieces[0], pieces[-1]
    at, end = len(head), len(text) - len(tail)
    if end < at or not _agree(tail, text[end:]) or not _agree(head, text[:at]):
        return False
    for piece in pieces[1:-1]:
        at = _find(piece, text, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _find(piece: str, text: str, start: int, end: int) -> int:
    """Like `text.find(piece, start, end)` where ANY, on either side, agrees with every character."""
    if ANY not in piece and ANY not in text:
        return text.find(piece, start, end)
    where: dict[str, int] = {}
    for place, char in enumerate(text[start:end]):
        where[char] = where.get(char, 0) | 1 << place
    spots = (1 << max(0, end - start - len(piece) + 1)) - 1  # one bit for each place where the piece may begin
    for offset, char in enumerate(piece):
        if char != ANY:
            spots &= (where.get(char, 0) | where.get(ANY, 0)) >> offset
    return start + (spots & -spots).bit_length() - 1 if spots else -1


def _only_dots(pieces: Pieces, fixed: str) -> bool:
    """Tell whether `.` or `..` is all that a text without a star, which the pieces fit, can become."""
    if len(fixed) > 2 or fixed.strip("." + ANY):
        return False
    others = set("".join(pieces)) - {".", ANY} | {"/"}  # "/" for any character that the pieces do not name
    words = (
        fixed[:place] + other + fixed[place + 1 :]
        for place, char in enumerate(fixed)
        if char == ANY
        for other in others
    )
    return not any(_fits(pieces, word) for word in words)
