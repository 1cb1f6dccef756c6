"""The index answers as a scan of all pairs would, in the order of insertion, and never changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.fold import Fold
from git_coord.domain.ids import Oid
from git_coord.domain.index import ItemIndex
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.overlap import covers, overlaps, same_item

BLOB = Oid("b" * 40)
COMPONENTS = ["a", "A", "ab", "b", "é", "E\u0301", "\udce9a", "\udce9A"]
PARTS = [*COMPONENTS, "*", "**", "a*", "*B", "?", "??", "?*a", "\udce9*", "*a"]


def names(components: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(components), min_size=1, max_size=3).map("/".join)


PATHS = st.builds(
    Item, st.just(ItemKind.PATH), names(COMPONENTS) | st.just("."), st.just(Intent.EDIT), st.sampled_from([None, BLOB])
)
GLOBS = st.builds(Item, st.just(ItemKind.GLOB), names(PARTS), st.just(Intent.EDIT))
TASKS = st.builds(Item, st.just(ItemKind.TASK), names(["a", "A", "b"]), st.just(Intent.EDIT))
ITEMS = PATHS | GLOBS | TASKS
STEPS = st.lists(
    st.tuples(st.just("add"), st.lists(st.tuples(st.integers(0, 9), ITEMS), max_size=6))
    | st.tuples(st.just("remove"), st.sets(st.integers(0, 9), max_size=4)),
    max_size=5,
)


def path(name: str, blob: Oid | None = None) -> Item:
    return Item(ItemKind.PATH, name, Intent.EDIT, blob)


@settings(deadline=None)  # the machine may be busy
@given(STEPS, ITEMS, names(COMPONENTS), st.sampled_from(Fold))
def test_the_index_answers_as_a_scan_of_all_pairs(steps, item, file, fold):
    index: ItemIndex[int] = ItemIndex(fold)
    model: dict[int, Item] = {}
    history = []
    for verb, what in steps:
        history.append((index, dict(model)))
        if verb == "add":
            index = index.added(what)
            for key, new in what:
                model.pop(key, None)
                model[key] = new
        else:
            keys = [key for key in sorted(what) if key in model]
            index = index.removed(keys)
            for key in keys:
                del model[key]
    for old, items in [*history, (index, model)]:
        assert len(old) == len(items)
        assert [key for key in range(10) if key in old] == sorted(items)
        assert old.overlapping(item) == [key for key, other in items.items() if overlaps(item, other, fold)]
        assert old.covering(file) == [key for key, other in items.items() if covers(other, file, fold)]
        assert old.same(item) == [key for key, other in items.items() if same_item(item, other, fold)]


def test_answers_come_in_the_order_of_insertion():
    index = ItemIndex[str](Fold.NONE).added(
        [("z", path("a/b/c")), ("glob", Item(ItemKind.GLOB, "**/b", Intent.READ)), ("a", path("a")), ("m", path("a/b"))]
    )
    assert index.overlapping(path("a/b")) == ["z", "glob", "a", "m"]
    assert index.added([("z", path("."))]).overlapping(path("a/b")) == ["glob", "a", "m", "z"]


def test_adding_and_removing_leave_the_older_index_as_it_was():
    one = ItemIndex[int](Fold.NONE).added([(1, path("a/b"))])
    two = one.added([(2, path("a/b/c"))])
    three = two.removed([1])
    assert [index.covering("a/b/c") for index in (one, two, three)] == [[1], [1, 2], [2]]
    assert three.removed([2]).overlapping(path(".")) == []


def test_removing_a_key_that_is_not_there_raises_key_error():
    index = ItemIndex[int](Fold.NONE).added([(1, path("a"))])
    with pytest.raises(KeyError):
        index.removed([1, 2])
    assert index.covering("a") == [1]


def test_a_path_deeper_than_the_python_stack_is_a_path_like_any_other():
    deep = "/".join("d" * 2000)
    index = ItemIndex[int](Fold.NONE).added([(1, path(deep))])
    assert index.overlapping(path("d")) == [1]
    assert index.overlapping(Item(ItemKind.GLOB, "**/x", Intent.EDIT)) == [1]
    assert len(index.removed([1])) == 0


def test_ten_thousand_items_are_not_looked_at_one_by_one(monkeypatch):
    index = ItemIndex[int](Fold.NONE).added((n, path(f"src/{n % 50}/{n}.py", BLOB)) for n in range(9_900))
    index = index.added((n, Item(ItemKind.GLOB, f"**/*.gen{n}.py", Intent.EDIT)) for n in range(100_000, 100_100))
    looked_at: list[object] = []

    def counting(self: object, names: object) -> bool:
        looked_at.append(self)
        return False

    monkeypatch.setattr("git_coord.domain.glob.Glob.matches", counting)
    monkeypatch.setattr("git_coord.domain.index.shapes_meet", counting)
    assert index.covering("src/7/7.py") == [7]
    assert looked_at == []
