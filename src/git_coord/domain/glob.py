"""Glob patterns: the grammar, and exact answers about what one pattern, or two together, can match.

Everything here is linear or quadratic in the length of the texts: no regular expression, no search that backtracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..errors import CoordError, Kind
from .fold import Fold, fold_name
from .text import escape_for_display, is_utf8

MAX_STARS = 8
DEEP = "**"
ANY = "\0"
"""Stands for `?` in a compiled part. No path holds NUL, so a `?` in the name of a file is never taken for it."""

Pieces = tuple[str, ...]
"""What stands between the stars of one component; one piece alone means that there is no star."""


def is_wild(component: str) -> bool:
    """Tell whether a component of a glob stands for more than its own spelling."""
    return "*" in component or "?" in component


def check_glob(name: str) -> None:
    """Refuse (USAGE) what the grammar does not have, in a name whose spelling is already that of a path."""
    components = name.split("/")
    shown = escape_for_display(name)
    for component in components:
        if DEEP in component and component != DEEP:
            raise CoordError(Kind.USAGE, f"glob '{shown}': '**' must be a whole component, as in 'a/**/b'")
    stars = sum(1 if component == DEEP else component.count("*") for component in components)
    if stars > MAX_STARS:
        raise CoordError(Kind.USAGE, f"glob '{shown}' has {stars} stars; at most {MAX_STARS} are allowed")


class Part:
    """One component of a glob other than `**`, as written and as it compares."""

    __slots__ = ("folded", "raw", "utf8")

    def __init__(self, component: str, fold: Fold):
        self.raw = _pieces(component)
        self.folded = _pieces(fold_name(component, fold))
        self.utf8 = is_utf8(component)

    def matches(self, name: str) -> bool:
        """Tell whether it matches one component of a folded path (one that is not UTF-8 was not folded)."""
        return _fits(self.folded if name.isascii() or is_utf8(name) else self.raw, name)

    def ends(self) -> tuple[str, str]:
        """Return how a UTF-8 name must begin and end to match."""
        return self.folded[0].split(ANY)[0], self.folded[-1].split(ANY)[-1]

    def meets(self, other: Part) -> bool:
        """Tell whether a file name exists that both match."""
        # A name that is not UTF-8 compares by its bytes, so a part that can only match such names meets the other as
        # it was written.
        mine = self.folded if other.utf8 else self.raw
        return pieces_meet(mine, other.folded if self.utf8 else other.raw)


class Glob:
    """A compiled pattern. It covers every path it matches and all below these, as if `/**` stood at its end."""

    __slots__ = ("anchor", "lead", "name", "needles", "runs")

    def __init__(self, name: str, fold: Fold):
        self.name = fold_name(name, fold)
        runs = [list(run) for deep, run in groupby(name.split("/"), lambda part: part == DEEP) if not deep]
        lead = [] if name.split("/", 1)[0] == DEEP else runs.pop(0)
        self.lead = tuple(Part(component, fold) for component in lead)
        """The parts before the first `**`: each matches the component of a path at its own place."""
        self.runs = tuple(tuple(Part(component, fold) for component in run) for run in runs)
        """The stretches after it, in order, each of which may lie any number of components further on."""
        self.anchor = _literal_lead(self.name)
        self.needles = _needles(self.name)

    def covers(self, names: Sequence[str]) -> bool:
        """Tell whether it matches the path of these folded components, or one above it."""
        at = len(self.lead)
        if at > len(names) or not _all_match(self.lead, names):
            return False
        for run in self.runs:
            # The leftmost place is always as good as any: what follows may begin anywhere behind it.
            at = _run_end(run, names, at)
            if at < 0:
                return False
        return True

    def may_reach(self, names: Sequence[str]) -> bool:
        """Tell whether it covers this path or can match something below it."""
        # Where the path is longer than `lead`, the `**` that follows takes up the rest; where it is shorter, what is
        # left of the pattern is matched below it. A part can always match some name.
        return _all_match(self.lead, names)

    def meets(self, other: Glob) -> bool:
        """Tell whether a path exists that both cover."""
        # Behind the shorter lead one of the two has a `**` (written or implied at its end). It takes up whatever the
        # other still asks for, and the other's own closing `**` takes up the rest of the first.
        return all(mine.meets(theirs) for mine, theirs in zip(self.lead, other.lead, strict=False))


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


def _literal_lead(name: str) -> tuple[str, ...]:
    components = name.split("/")
    wild = next((place for place, component in enumerate(components) if is_wild(component)), len(components))
    return tuple(components[:wild])


def _needles(name: str) -> tuple[str, str]:
    """Return the two longest texts that `/<path>/` must contain to be covered: the cheap first question."""
    texts = sorted(set(f"/{name}/".replace("?", "*").split("*")), key=lambda text: (-len(text), text))
    return texts[0], texts[1] if len(texts) > 1 else texts[0]


def _run_end(run: Sequence[Part], names: Sequence[str], start: int) -> int:
    for at in range(start, len(names) - len(run) + 1):
        if _all_match(run, names[at : at + len(run)]):
            return at + len(run)
    return -1


def _all_match(parts: Sequence[Part], names: Sequence[str]) -> bool:
    """Tell whether the parts match the names, as far as both go."""
    for part, name in zip(parts, names, strict=False):  # noqa: SIM110 (as in `_agree`)
        if not part.matches(name):
            return False
    return True


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
