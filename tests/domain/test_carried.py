"""Carried work as a function: what receipted changes make of a file, in any order, and nothing beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_coord.domain import carried
from git_coord.domain.carried import Pair, Past, Step, ThreeWay, TreeEntry, is_carried, is_contained, still_open
from git_coord.domain.ids import Agent, Oid

WIDTH = 6


def entry(letters: str, mode: str = "100644") -> TreeEntry:
    """Return a file of a few one-letter lines, whose id is its content."""
    return TreeEntry(mode, Oid(letters.encode().hex().ljust(40, "0")))


def letters(oid: Oid) -> str:
    return bytes.fromhex(oid).rstrip(b"\0").decode()


def merge(asked: Sequence[ThreeWay]) -> list[Oid | None]:
    """Merge line by line; a line that both sides changed, and differently, is a conflict."""
    return [None if "!" in (made := "".join(map(_line, *map(letters, three)))) else entry(made).blob for three in asked]


def _line(base: str, ours: str, theirs: str) -> str:
    return theirs if ours in (base, theirs) else ours if theirs == base else "!"


def no_merge(asked: Sequence[ThreeWay]) -> list[Oid | None]:
    pytest.fail(f"nothing is to be merged: {asked}")


def step(before: TreeEntry | None, after: TreeEntry | None, number: int = 1, agent: str = "alpha") -> Step:
    return Step(before, after, Agent(agent), (number, 1, 0), Oid(f"{number:040x}"))


A, B, C = entry("aaaaaa"), entry("baaaaa"), entry("bbaaaa")
CHAIN = [step(A, B, 1), step(B, C, 2)]


@pytest.mark.parametrize(("before", "after"), [(A, B), (B, C), (A, C)])
def test_a_chain_is_followed_without_merging(before: TreeEntry, after: TreeEntry) -> None:
    assert is_carried(before, after, CHAIN, no_merge)


@pytest.mark.parametrize(("before", "after"), [(B, A), (C, B), (C, A), (A, entry("bbcaaa")), (A, None), (None, B)])
def test_going_back_or_beyond_is_not_carried(before: TreeEntry | None, after: TreeEntry | None) -> None:
    assert not is_carried(before, after, CHAIN, merge)


def test_nothing_is_carried_by_nothing() -> None:
    assert not is_carried(A, B, [], no_merge)


def test_creation_deletion_and_binary_files_are_exact() -> None:
    assert is_carried(None, A, [step(None, A)], no_merge)
    assert is_carried(A, None, [step(A, None)], no_merge)
    assert not is_carried(C, None, [step(A, None)], no_merge)
    assert not is_carried(C, entry("cccccc"), [step(A, entry("cccccc"))], lambda asked: [None] * len(asked))


def test_a_mode_and_a_content_are_merged_each_by_itself() -> None:
    run = entry("aaaaaa", "100755")
    assert is_carried(B, B._replace(mode="100755"), [step(A, run)], no_merge)
    assert is_carried(run, B._replace(mode="100755"), [step(A, B)], no_merge)
    assert not is_carried(B, B._replace(mode="100755"), [step(A, B)], merge)
    link = entry("cccccc", "120000")
    assert not is_carried(B, link, [step(A, link)], no_merge)
    assert is_carried(A, link, [step(A, link)], no_merge)


def test_a_squash_onto_a_moved_base_is_merged_as_one() -> None:
    """Both steps change the first line: only together do they merge with a base that has another last line."""
    steps = [step(A, B, 1), step(B, entry("caaaaa"), 2)]
    assert is_carried(entry("aaaaaz"), entry("caaaaz"), steps, merge)
    assert not is_carried(entry("aaaaaz"), entry("caaaza"), steps, merge)


def test_work_of_several_agents_comes_together_in_any_order() -> None:
    steps = [step(A, entry("aacaaa"), 1), step(A, entry("aaadaa"), 2, "beta"), step(A, entry("aaaaea"), 3, "gamma")]
    assert is_carried(A, entry("aacdea"), steps, merge)
    assert is_carried(entry("zaaaaa"), entry("zacaea"), steps, merge)
    assert not is_carried(A, entry("aacdef"), steps, merge)


EDITS = st.lists(st.tuples(st.integers(0, WIDTH - 2), st.sampled_from("bcd")), min_size=1, max_size=4)


@given(edits=EDITS, moved=st.sampled_from("ay"), extra=st.sampled_from(["", "x"]))
def test_whatever_was_done_in_steps_is_carried_onto_a_base_that_moved_elsewhere_and_nothing_more(
    edits: list[tuple[int, str]], moved: str, extra: str
) -> None:
    texts = ["a" * WIDTH]
    for at, letter in edits:
        texts.append(texts[-1][:at] + letter + texts[-1][at + 1 :])
    steps = [step(entry(old), entry(new), n) for n, (old, new) in enumerate(pairwise(texts))]
    steps = [one for one in steps if one.before != one.after]
    base, result = texts[0][:-1] + moved, texts[-1][:-1] + (extra or moved)
    expected = base != result and not extra and bool(steps)
    assert is_carried(entry(base), entry(result), steps, merge) is expected


def test_a_long_branch_that_was_rebased_costs_a_few_merges_a_commit() -> None:
    asked: list[ThreeWay] = []

    def rebased(some: Sequence[ThreeWay]) -> list[Oid | None]:
        """Merge as git does where the base moved elsewhere: only a step that follows makes what is there now."""
        asked.extend(some)
        names = [tuple(map(letters, three)) for three in some]
        return [entry("m" + theirs).blob if ours == "m" + base else None for base, ours, theirs in names]

    count, lately = 400, list[Pair]()
    steps = [step(entry(f"f{n}"), entry(f"f{n + 1}"), n) for n in range(count)]
    for n in range(count):
        assert is_carried(entry(f"mf{n}"), entry(f"mf{n + 1}"), steps, rebased, lately), n
    assert lately == [(one.before, one.after) for one in steps]
    assert len(asked) < 5 * carried.MAX_PAIRS + count * carried.FIRST_MERGES


def test_thousands_of_receipts_at_one_path_cost_a_bounded_number_of_merges() -> None:
    asked: list[ThreeWay] = []

    def counted(some: Sequence[ThreeWay]) -> list[Oid | None]:
        asked.extend(some)
        return [Oid(f"{len(asked):030x}{n:010x}") for n in range(len(some))]

    steps = [step(entry(f"f{n}"), entry(f"t{n}"), n) for n in range(3000)]
    assert not is_carried(A, B, steps, counted)
    assert 0 < len(asked) <= carried.MAX_MERGES
    chain = [step(entry(f"c{n}"), entry(f"c{n + 1}"), n) for n in range(3000)]
    assert is_carried(entry("c0"), entry("c3000"), chain, no_merge)


def test_what_is_in_the_past_is_not_open_any_more() -> None:
    assert still_open(CHAIN, Past()) == CHAIN
    assert still_open(CHAIN, Past(frozenset({CHAIN[1].commit}), ())) == []
    assert still_open(CHAIN, Past(frozenset(), (A, C))) == []
    assert still_open(CHAIN, Past(frozenset(), (A, B))) == CHAIN[1:]
    assert still_open(CHAIN, Past(frozenset(), (A,))) == CHAIN


def test_a_step_back_is_open_until_it_was_done() -> None:
    back = step(B, A, 2)
    assert still_open([step(A, B, 1), back], Past(frozenset(), (A,))) == [step(A, B, 1), back]
    assert still_open([step(A, B, 1), back], Past(frozenset(), (A, B))) == [back]
    assert still_open([back], Past(frozenset(), (A, B))) == [back]
    assert still_open([back], Past(frozenset(), (A, B, A))) == []


def test_work_is_contained_where_doing_it_again_changes_nothing() -> None:
    assert is_contained([B], (A, B), no_merge)
    assert is_contained([entry("zaaaaa"), entry("baaaaz")], (A, B), merge)
    assert not is_contained([entry("aaaaaz"), entry("zaaaaa")], (A, B), merge)
    assert is_contained([A, None], (A, None), no_merge)
    assert not is_contained([], (A, B), no_merge)
