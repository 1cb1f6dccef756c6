"""The guard never allows what the domain refuses, and agrees with it wherever bytes are enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_coord.domain.fold import Fold, fold_name
from git_coord.domain.glob import Glob
from git_coord.domain.items import Intent, Item, ItemKind, is_canonical
from git_coord.domain.overlap import covers
from git_coord.domain.team import Reach, entitled
from git_coord.guard.match import Pattern
from git_coord.guard.snapshot import LiveItem, Rule, decode_claims, encode_claims
from git_coord.guard.verdict import all_free

FAR = 2**40
NAMES = st.text("aAbé*?\\\n", min_size=1, max_size=3)
PATHS = st.lists(st.text("aAbé?*\\\n", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)
GLOBS = (
    st.lists(st.one_of(st.just("**"), st.just("*"), NAMES), min_size=1, max_size=5)
    .map("/".join)
    .filter(lambda name: is_canonical(ItemKind.GLOB, name))
)
ITEMS = st.builds(
    Item,
    st.just(ItemKind.PATH),
    st.one_of(PATHS, st.just(".")),
    st.sampled_from(Intent),
) | st.builds(Item, st.just(ItemKind.GLOB), GLOBS, st.sampled_from(Intent))
HELD = st.lists(st.tuples(ITEMS, st.sampled_from(["alpha", "beta"])), max_size=6)


def raw(name: str, fold: Fold) -> bytes:
    return fold_name(name, fold).encode(errors="surrogateescape")


def live(item: Item, agent: str, fold: Fold, end: int = FAR) -> LiveItem:
    kind = b"P" if item.kind is ItemKind.PATH else b"G"
    return raw(item.name, fold), kind, b"e" if item.intent is Intent.EDIT else b"r", agent.encode(), 1, end


def is_free(held: list[LiveItem], path: str, fold: Fold = Fold.NONE, rules: list[Rule] | None = None) -> bool:
    claims = decode_claims(encode_claims(fold.value, b"", held))
    assert claims is not None
    return all_free([path.encode(errors="surrogateescape")], claims, rules or [], b"beta")


@given(GLOBS, PATHS)
def test_a_pattern_matches_what_the_domains_glob_matches(name: str, path: str) -> None:
    answer = Pattern(name.encode()).covers(path.encode())
    expected = Glob(name, Fold.NONE).matches(path.split("/"))
    assert answer is expected or (answer is None and "?" in name and not path.isascii())


@given(HELD, PATHS, st.sampled_from(Fold))
def test_the_verdict_is_the_domains(held: list[tuple[Item, str]], path: str, fold: Fold) -> None:
    free = is_free([live(item, agent, fold) for item, agent in held], path, fold)
    expected = not any(covers(item, path, fold) for item, agent in held if agent != "beta")
    decided_by_bytes = path.isascii() or (
        fold is Fold.NONE and not any("?" in item.name for item, _ in held if item.kind is ItemKind.GLOB)
    )
    assert free is expected if decided_by_bytes else not free or expected


@given(HELD, st.lists(ITEMS, max_size=3), st.lists(ITEMS, max_size=3), PATHS)
def test_the_rules_are_the_domains(
    held: list[tuple[Item, str]], required: list[Item], exempt: list[Item], path: str
) -> None:
    fold = Fold.NONE
    rules = [(b"R", live(item, "-", fold)[1], raw(item.name, fold)) for item in required]
    rules += [(b"X", live(item, "-", fold)[1], raw(item.name, fold)) for item in exempt]
    free = is_free([live(item, agent, fold) for item, agent in held], path, fold, rules)
    reach = Reach([(item.kind, item.name) for item in required], fold)
    is_exempt = Reach([(item.kind, item.name) for item in exempt], fold).covers(path)
    mine = entitled([item for item, agent in held if agent == "beta"], fold)
    is_foreign = any(covers(item, path, fold) for item, agent in held if agent != "beta")
    expected = is_exempt or not (is_foreign or (reach.covers(path) and not mine.covers(path)))
    assert free is expected if path.isascii() else not free or expected


def edit(name: str) -> Item:
    return Item(ItemKind.PATH, name, Intent.EDIT)


@pytest.mark.parametrize(
    ("held", "path", "free"),
    [
        ("src", "src2/a", True),
        ("src", "src/a", False),
        ("src/a", "src", False),
        ("src/a", "src/b", True),
        ("src-old", "src", True),
        (".", "anything", False),
        ("a" + "/a" * 2000, "a" + "/a" * 2000 + "/b", False),
    ],
)
def test_paths_are_compared_by_whole_components(held: str, path: str, free: bool) -> None:
    assert is_free([live(edit(held), "alpha", Fold.NONE)], path) is free


def test_a_claim_of_ones_own_passes_until_its_lease_is_over() -> None:
    assert is_free([live(edit("a"), "beta", Fold.NONE)], "a/b")
    assert not is_free([live(edit("a"), "beta", Fold.NONE, end=1)], "a/b")
    assert is_free([live(edit("a"), "beta", Fold.NONE, end=1)], "b")


def test_without_a_name_every_claim_counts() -> None:
    claims = decode_claims(encode_claims("none", b"", [live(edit("a"), "beta", Fold.NONE)]))
    assert claims is not None
    assert not all_free([b"a"], claims, [], b"")


def test_names_are_folded_where_the_ledger_folds_them() -> None:
    held = [live(edit("Src/\u212aelvin"), "alpha", Fold.CASE_NFC)]
    assert not is_free(held, "SRC/kelvin", Fold.CASE_NFC)
    assert not is_free(held, "other-é", Fold.CASE_NFC)  # the full program decides
    assert is_free(held, "other", Fold.CASE_NFC)
