"""Overlap and cover of every kind of item, under both ways of comparing, against trying every name there is."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.fold import Fold
from git_coord.domain.overlap import covers, overlaps

from .oracle import Space, Thing
from .world import item

LETTERS = ("a", "B", "É", "e\u0301", "\u017f", "s", "\u212a", "k", "ß", "\u1e9e", "ς", "Σ", "\u0130", "ab")
"""Case, composition, long s, kelvin, both sharp s, both small sigmas, and the i that folds to nothing else."""
NAMES = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=2).map("/".join)
PARTS = st.sampled_from(("*", "?", "**", "a*", "*b", "?b", *LETTERS))
GLOBS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
THINGS = (
    st.builds(Thing, st.just("path"), NAMES | st.just("."), st.just(False))
    | st.builds(Thing, st.just("path"), NAMES, st.just(True))
    | st.builds(Thing, st.just("glob"), GLOBS)
)
TASK_NAMES = ("E-1", "e-1", "2")
TASKS = st.builds(Thing, st.just("task"), st.lists(st.sampled_from(TASK_NAMES), min_size=1, max_size=3).map("/".join))


@cache
def space(fold: Fold) -> Space:
    """Return all names of up to three components: what two items fix together, deep stars aside."""
    return Space((*LETTERS, *(x + y for x in "ax" for y in "b")), 3, fold.value)


@cache
def tasks() -> Space:
    return Space(TASK_NAMES, 3, "none")


def fits(one: Thing, two: Thing) -> bool:
    """Tell whether a proof of overlap, should there be one, has at most three components."""
    if "glob" not in (one.kind, two.kind):
        return True
    fixed = [sum(part not in ("**", ".") for part in thing.name.split("/")) for thing in (one, two)]
    deep = ["**" in thing.name.split("/") or (thing.kind == "path" and not thing.pinned) for thing in (one, two)]
    return sum(fixed) <= 3 or not all(deep)


@pytest.mark.parametrize("fold", Fold)
@settings(max_examples=150, deadline=None)
@given(one=THINGS, two=THINGS)
def test_paths_and_globs_overlap_when_some_name_is_covered_by_both(fold: Fold, one: Thing, two: Thing) -> None:
    if fits(one, two):
        proof = space(fold).overlap(one, two)
        assert overlaps(item(one, "edit"), item(two, "edit"), fold) is proof
        assert overlaps(item(two, "edit"), item(one, "edit"), fold) is proof


@pytest.mark.parametrize("fold", Fold)
@settings(max_examples=150, deadline=None)
@given(thing=THINGS, file=NAMES)
def test_a_file_is_the_business_of_what_trying_says(fold: Fold, thing: Thing, file: str) -> None:
    assert covers(item(thing, "edit"), file, fold) is space(fold).touches(thing, file)


@pytest.mark.parametrize("fold", Fold)
@settings(max_examples=100, deadline=None)
@given(one=TASKS, two=TASKS)
def test_tasks_overlap_as_trying_says_and_are_never_folded(fold: Fold, one: Thing, two: Thing) -> None:
    assert overlaps(item(one, "edit"), item(two, "edit"), fold) is tasks().overlap(one, two)


@pytest.mark.parametrize("fold", Fold)
@settings(max_examples=50, deadline=None)
@given(one=TASKS, two=THINGS)
def test_tasks_and_paths_have_nothing_in_common(fold: Fold, one: Thing, two: Thing) -> None:
    assert not overlaps(item(one, "edit"), item(two, "read"), fold)
    assert not overlaps(item(two, "edit"), item(one, "read"), fold)
