"""How names compare, and that no Unicode version of the running Python has a say in it."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.fold import Fold, fold_name
from git_coord.domain.fold_table import fold_map

UCD = unicodedata.ucd_3_2_0
CODES = [code for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
# One call for all that have a meaning, each a component of its own: a call each takes ten seconds.
ALL = "/".join(chr(code) for code in CODES if code != 0x2F and unicodedata.category(chr(code)) not in ("Cn", "Co"))
LETTERS = "aAéÉe\u0301\u0323\u0345\u017fß\u1e9e\u0130\u0131Σς\u212a\u01c5\u1fbc\uab70\u13a0\udce9/\u1b05\u1b35.*"
NAMES = st.text(st.sampled_from(LETTERS), max_size=8)


def folded(name: str) -> str:
    return fold_name(name, Fold.CASE_NFC)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("SRC/Main.py", "src/main.py"),
        ("CAFE\u0301.TXT", "café.txt"),
        ("ÀÉ", "àé"),
        ("\u212a\u2126", "kω"),
        ("ΣΑΣ", "σας"),
        ("ẞ", "ß"),
        ("\u017f\u0323\u0307", "ṩ"),
        ("ᾈ", "ᾀ"),
        ("\uab70", "\u13a0"),
        ("𐐀", "𐐨"),
    ],
)
def test_names_that_differ_in_case_or_composition_compare_alike(name, same):
    assert folded(name) == folded(same)
    assert fold_name(name, Fold.NONE) == name


@pytest.mark.parametrize(("one", "two"), [("ß", "ss"), ("\u0130", "i"), ("\u0131", "i"), ("\ufb01", "fi"), ("e", "é")])
def test_names_that_are_only_similar_stay_different(one, two):
    assert folded(one) != folded(two)


def test_a_component_that_is_not_utf8_stays_as_it_is_and_its_neighbours_do_not():
    assert folded("SRC/\udce9X/É") == "src/\udce9X/é"


def test_the_table_is_the_one_that_was_made_once():
    lines = "".join(f"{code:04X};{target:04X}\n" for code, target in sorted(fold_map().items()))
    digest = "96f8f96d5c7fa7e99179cccdc722e8262778cc73377e460e78a6e35aea1f804e"
    assert hashlib.sha256(lines.encode()).hexdigest() == digest


def naive_target(code: int) -> int:
    char = chr(code)
    if len(char.casefold()) == 1:
        return ord(char.casefold())
    return ord(char.lower()) if len(char.lower()) == 1 else code


def test_the_table_agrees_with_the_running_python():
    table = fold_map()
    assert {code: naive_target(code) for code in table} == table
    if unicodedata.unidata_version == "14.0.0":
        assert {code: naive_target(code) for code in CODES if naive_target(code) != code} == table


def test_no_target_of_the_table_is_folded_again():
    assert not set(fold_map()) & set(fold_map().values())


def test_no_code_point_folds_to_a_character_of_the_grammar():
    for text in (folded(ALL), UCD.normalize("NFD", ALL)):
        assert {char: text.count(char) - ALL.count(char) for char in "/.*?\0"} == dict.fromkeys("/.*?\0", 0)


def test_folding_any_code_point_twice_is_folding_it_once():
    assert folded(folded(ALL)) == folded(ALL)
    assert folded(ALL) != ALL


def test_folding_any_composed_character_decomposed_is_the_same():
    pairs = [(chr(code), UCD.normalize("NFD", chr(code))) for code in CODES if UCD.decomposition(chr(code))]
    composed = [(char, parts) for char, parts in pairs if UCD.normalize("NFC", parts) == char != parts]
    assert len(composed) > 900
    assert [char for char, parts in composed if folded(char) != folded(parts)] == []


@settings(deadline=None)  # the machine may be busy
@given(NAMES)
def test_folding_twice_is_folding_once(name):
    assert folded(folded(name)) == folded(name)


@settings(deadline=None)  # the machine may be busy
@given(NAMES, NAMES)
def test_folding_goes_by_component(one, two):
    assert folded(f"{one}/{two}") == f"{folded(one)}/{folded(two)}"


@settings(deadline=None)  # the machine may be busy
@given(st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cn"]), max_size=12))
def test_folding_is_the_naive_one_for_plain_letters(name):
    table = fold_map()
    simple = "".join(chr(table.get(ord(char), ord(char))) for char in unicodedata.normalize("NFC", name))
    assert folded(name) == unicodedata.normalize("NFC", simple)


@pytest.mark.parametrize("text", ["\u1b05\u1b35", "a\U0001e8d0\u0327", "\U00011935\U00011930", "a\u1ab0\u0323"])
def test_code_points_younger_than_unicode_3_2_are_neither_composed_nor_moved(text):
    assert {UCD.category(char) for char in text} & {"Cn"}
    assert folded(text) == text
