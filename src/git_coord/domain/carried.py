"""Carried work: whether a change is nothing but receipted changes, applied as git itself would (section 7).

Pure: merging the content of files is an argument. Every search is bounded, and one that is cut short says no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from git_coord.lean import NamedTuple

from .ids import Agent, Oid

MODES = ("100644", "100755", "120000", "160000")
FILES = ("100644", "100755")
MAX_STEPS = 512
"""Receipted changes at one path that are combined, the newest; exact chains are followed through all of them."""
MAX_PAIRS = 1024
MAX_MERGES = 4096
"""Merges for one change: what takes more to explain is new work."""
FIRST_MERGES = 16
"""Merges that are asked for together at first."""


class TreeEntry(NamedTuple):
    """What git has at a path: mode, and blob (of a submodule its commit)."""

    mode: str
    blob: Oid


class ThreeWay(NamedTuple):
    """Three blobs to be merged."""

    base: Oid
    ours: Oid
    theirs: Oid


Merge = Callable[[Sequence[ThreeWay]], Sequence["Oid | None"]]
"""Returns the blob of each clean merge, None where git finds a conflict or cannot merge (binary, or not here)."""


class Step(NamedTuple):
    """A receipted change at a path: by whom, in which commit, where in the order of its receipts, from what to what."""

    before: TreeEntry | None
    after: TreeEntry | None
    agent: Agent
    order: tuple[int, int, int]
    """Ledger position, then the receipt's number and place in it."""
    commit: Oid


class Past(NamedTuple):
    """What is known of a path before a change: the commits that changed it, and what they left, the oldest first."""

    commits: frozenset[Oid] = frozenset()
    contents: tuple[TreeEntry | None, ...] = ()


T = TypeVar("T")
Pair = tuple["TreeEntry | None", "TreeEntry | None"]


class _Conflict:
    """What a merge leaves that git could not finish."""


_CONFLICT = _Conflict()


def is_carried(
    before: TreeEntry | None,
    after: TreeEntry | None,
    steps: Sequence[Step],
    merge: Merge,
    lately: list[Pair] | None = None,
) -> bool:
    """Tell whether the change is one or more of the steps, each applied as a clean three-way merge, in some order.

    A step from F to T makes of X what git makes of base F, ours X and theirs T: T at once where X is F. Steps that
    follow on each other, the next beginning where one ended, also count as one: a squash of them was merged as one.
    `lately` are changes that were carried before this one, the last of which tells where to look first; it grows.
    """
    lately = [] if lately is None else lately
    edges = _edges(steps)
    if after in _reached(edges, before):
        lately.append((before, after))
        return True
    pairs = _pairs(sorted(steps, key=lambda step: step.order, reverse=True)[:MAX_STEPS])
    pairs.sort(key=lambda pair: not lately or pair[0] != lately[-1][1])
    seen, frontier, left = {before}, [before], MAX_MERGES
    while frontier and left > 0:
        asked = [(old, ours, new) for ours in frontier for old, new in pairs if ours != new][:left]
        left -= len(asked)
        made: dict[TreeEntry | _Conflict | None, None] = {}
        for part in _growing(asked):
            results = _applied(part, merge)
            if after in results:
                old, _, new = part[results.index(after)]
                lately.append((old, new))
                return True
            made |= dict.fromkeys(results)
        frontier = [one for one in made if not isinstance(one, _Conflict) and one not in seen]
        seen.update(frontier)
    return False


def _growing(asked: Sequence[Three]) -> Iterator[Sequence[Three]]:
    """Yield few, then more and more: of a branch that was rebased each change is nearly always the next step."""
    start, size = 0, FIRST_MERGES
    while start < len(asked):
        yield asked[start : start + size]
        start, size = start + size, size * 4


def is_contained(contents: Sequence[TreeEntry | None], pair: Pair, merge: Merge) -> bool:
    """Tell whether a change has been made in any of these: making it once more, as git would, changes nothing."""
    if pair[1] in contents:
        return True
    return any(map(_is_same, _applied([(pair[0], content, pair[1]) for content in contents], merge), contents))


def _is_same(made: TreeEntry | _Conflict | None, content: TreeEntry | None) -> bool:
    return made == content


def still_open(steps: Sequence[Step], past: Past) -> list[Step]:
    """Leave out the steps that were made in the past of a change already: doing them again undoes what came after.

    So are the commits of the past, steps that left what was there since, and whatever such a step was built on. What
    was there before, or before an earlier step began, is no sign of one that went back to it.
    """
    begun: dict[TreeEntry | None, tuple[int, int, int]] = {}
    for step in steps:
        begun[step.before] = min(step.order, begun.get(step.before, step.order))
    done = {step for step in steps if step.commit in past.commits or _left(step, begun, past)}
    built_on = _by_after(steps)
    todo = list(done)
    while todo:
        step = todo.pop()
        earlier = {one for one in built_on.get(step.before, ()) if one.order < step.order and one not in done}
        done |= earlier
        todo.extend(earlier)
    return [step for step in steps if step not in done]


def _left(step: Step, begun: Mapping[TreeEntry | None, tuple[int, int, int]], past: Past) -> bool:
    if step.after not in past.contents or begun.get(step.after, step.order) < step.order:
        return False
    last = len(past.contents) - 1 - past.contents[::-1].index(step.after)
    return step.before not in past.contents or past.contents.index(step.before) <= last


def _by_after(steps: Iterable[Step]) -> Mapping[TreeEntry | None, list[Step]]:
    found: dict[TreeEntry | None, list[Step]] = {}
    for step in steps:
        found.setdefault(step.after, []).append(step)
    return found


def _edges(steps: Iterable[Step]) -> dict[TreeEntry | None, dict[TreeEntry | None, None]]:
    found: dict[TreeEntry | None, dict[TreeEntry | None, None]] = {}
    for step in steps:
        found.setdefault(step.before, {})[step.after] = None
    return found


def _reached(
    edges: Mapping[TreeEntry | None, Iterable[TreeEntry | None]], start: TreeEntry | None
) -> dict[TreeEntry | None, None]:
    """Return what one or more edges lead to."""
    found: dict[TreeEntry | None, None] = {}
    todo = [start]
    while todo:
        fresh = [one for one in edges.get(todo.pop(), ()) if one not in found]
        found |= dict.fromkeys(fresh)
        todo.extend(fresh)
    return found


def _pairs(steps: Sequence[Step]) -> list[Pair]:
    """Return chains from end to end, then steps alone, then the other parts of chains."""
    edges = _edges(steps)
    ends = {one for later in edges.values() for one in later}
    whole = _some((old, new) for old in edges if old not in ends for new in _reached(edges, old) if new not in edges)
    single = _some((step.before, step.after) for step in steps)
    parts = _some((old, new) for old in edges for new in _reached(edges, old))
    return [pair for pair in dict.fromkeys([*whole, *single, *parts]) if pair[0] != pair[1]][:MAX_PAIRS]


def _some(pairs: Iterator[Pair]) -> list[Pair]:
    return [pair for pair, _ in zip(pairs, range(MAX_PAIRS), strict=False)]


Three = tuple["TreeEntry | None", "TreeEntry | None", "TreeEntry | None"]


class _Open(NamedTuple):
    """A file of which both sides changed the content: its mode, and what is to be merged."""

    mode: str
    three: ThreeWay


def _applied(asked: Sequence[Three], merge: Merge) -> list[TreeEntry | _Conflict | None]:
    """Return what three-way merges of entries (base, ours, theirs) make; only what both sides changed is merged."""
    known = [_trivial(*one) for one in asked]
    blobs = list(dict.fromkeys(one.three for one in known if isinstance(one, _Open)))
    merged = dict(zip(blobs, merge(blobs) if blobs else (), strict=True))
    return [_finished(one, merged) if isinstance(one, _Open) else one for one in known]


def _trivial(
    base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
) -> TreeEntry | _Conflict | _Open | None:
    """Return the result where it needs no content, what to merge where it does, or a conflict."""
    found = _side(base, ours, theirs)
    if not isinstance(found, _Conflict):
        return found
    if base is None or ours is None or theirs is None:
        return _CONFLICT
    mode, blob = _side(base.mode, ours.mode, theirs.mode), _side(base.blob, ours.blob, theirs.blob)
    if isinstance(mode, _Conflict) or not {base.mode, ours.mode, theirs.mode} <= set(FILES):
        return _CONFLICT
    if not isinstance(blob, _Conflict):
        return TreeEntry(mode, blob)
    return _Open(mode, ThreeWay(base.blob, ours.blob, theirs.blob))


def _side(base: T, ours: T, theirs: T) -> T | _Conflict:
    """Return the side that alone changed something; a conflict when both did, and differently."""
    if base in (ours, theirs) or ours == theirs:
        return theirs if ours in (base, theirs) else ours
    return _CONFLICT


def _finished(one: _Open, merged: Mapping[ThreeWay, Oid | None]) -> TreeEntry | _Conflict:
    blob = merged[one.three]
    return _CONFLICT if blob is None else TreeEntry(one.mode, blob)
