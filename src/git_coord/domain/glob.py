"""Glob patterns: the grammar, and exact answers about what one pattern, or two together, can match.

A `*` in a component and a `**` among components work alike: each takes up anything. So what stands before the first
and behind the last is compared place by place, and what stands between them is looked for from left to right. There
is no regular expression and no search that goes back on a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import CoordError, Kind
from .fold import Fold, fold_name
from .glob_part import Part, Places, is_wild
from .text import escape_for_display

MAX_STARS = 8
DEEP = "**"
FEW = 1000
"""Up to this many questions are asked one by one before tables are made to answer them (`Places`)."""

_T = TypeVar("_T", str, Part)


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


class Glob:
    """A compiled pattern. It covers exactly the paths that it matches."""

    __slots__ = ("anchor", "is_deep", "lead", "name", "needles", "runs", "tail")

    def __init__(self, name: str, fold: Fold):
        self.name = fold_name(name, fold)
        lead, *rest = _between_deep(name, fold)
        self.is_deep = bool(rest)
        """Whether there is a `**`: if not, `lead` is all there is, and the path must be as long."""
        self.lead = lead
        """The parts before the first `**`: each matches the component of a path at its own place."""
        self.tail = rest.pop() if rest else ()
        """Those behind the last `**`, which match the end of a path."""
        self.runs = [run for run in rest if run]
        """The stretches between two `**`, in order, each of which may lie any number of components further on."""
        self.anchor = _literal_lead(self.name)
        self.needles = _needles(self.name)

    def matches(self, names: Sequence[str]) -> bool:
        """Tell whether it matches the path of these folded components, all of it."""
        return self._fits(names, Part.matches)

    def may_reach(self, names: Sequence[str]) -> bool:
        """Tell whether it matches this path or something below it."""
        # Where the path is longer than `lead`, a `**` takes up the rest and what else the pattern asks for lies below;
        # where it is shorter, so does the rest of `lead`. A part can always match some name.
        return (self.is_deep or len(names) <= len(self.lead)) and _all_agree(Part.matches, self.lead, names)

    def meets(self, other: Glob) -> bool:
        """Tell whether a path exists that both match."""
        if not self.is_deep:
            return other._fits(self.lead, Part.meets)
        if not other.is_deep:
            return self._fits(other.lead, Part.meets)
        # If the ends agree, a path with everything that either asks for, one after the other, between them, is
        # matched by both.
        return _all_agree(Part.meets, self.lead, other.lead) and _all_agree(
            Part.meets, self.tail[::-1], other.tail[::-1]
        )

    def _fits(self, row: Sequence[_T], agree: Callable[[Part, _T], bool]) -> bool:
        """Tell whether the pattern can be laid over this row, each component of which has one place."""
        at, end = len(self.lead), len(row) - len(self.tail)
        if end < at or (end > at and not self.is_deep):
            return False
        if not (_all_agree(agree, self.lead, row) and _all_agree(agree, self.tail, row[end:])):
            return False
        for run in self.runs:
            # The leftmost place is always as good as any: what follows may begin anywhere behind it.
            place = _find(run, row[at:end], agree)
            if place < 0:
                return False
            at += place + len(run)
        return True


def _between_deep(name: str, fold: Fold) -> list[tuple[Part, ...]]:
    stretches: list[list[Part]] = [[]]
    for component in name.split("/"):
        if component == DEEP:
            stretches.append([])
        else:
            stretches[-1].append(Part.compiled(component, fold))
    return [tuple(stretch) for stretch in stretches]


def _literal_lead(name: str) -> tuple[str, ...]:
    components = name.split("/")
    wild = next((place for place, component in enumerate(components) if is_wild(component)), len(components))
    return tuple(components[:wild])


def _needles(name: str) -> tuple[str, str]:
    """Return the two longest texts that `/<path>/` must contain to be matched: the cheap first question."""
    texts = sorted(set(f"/{name}/".replace("?", "*").split("*")), key=lambda text: (-len(text), text))
    return texts[0], texts[1] if len(texts) > 1 else texts[0]


def _find(run: Sequence[Part], row: Sequence[_T], agree: Callable[[Part, _T], bool]) -> int:
    """Return the first place in the row where all of the run agrees, or -1."""
    starts = len(row) - len(run) + 1
    if starts * len(run) > FEW:
        return _find_long(run, [Part.named(this) if isinstance(this, str) else this for this in row])
    for at in range(starts):
        if agree(run[0], row[at]) and _all_agree(agree, run[1:], row[at + 1 :]):
            return at
    return -1


def _find_long(run: Sequence[Part], row: Sequence[Part]) -> int:
    places = Places(row)
    spots = (1 << len(row) - len(run) + 1) - 1  # one bit for each place where the run may begin
    for offset, part in enumerate(run):
        spots &= places.of(part) >> offset
    return (spots & -spots).bit_length() - 1  # -1 if none is left


def _all_agree(agree: Callable[[Part, _T], bool], parts: Sequence[Part], row: Sequence[_T]) -> bool:
    """Tell whether the parts agree with the row, as far as both go."""
    for part, this in zip(parts, row, strict=False):  # noqa: SIM110 (a generator takes three times as long)
        if not agree(part, this):
            return False
    return True
