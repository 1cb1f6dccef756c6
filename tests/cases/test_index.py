"""The table of cases in the documentation names tests that exist, and every case is in it."""

from __future__ import annotations

import ast
import re

from tests.helpers.source import ROOT

NUMBERS = (
    2,
    3,
    4,
    6,
    7,
    9,
    10,
    11,
    13,
    *range(16, 21),
    22,
    23,
    *range(25, 33),
    35,
    37,
    39,
    42,
    43,
    45,
    46,
    *range(48, 51),
)
CASES = [f"{number:02}" for number in NUMBERS]
LATER = re.compile(r"\bwith issue [45]\b")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows(text: str) -> dict[str, str]:
    """Return the last cell of each case's row."""
    return dict(re.findall(r"^\| (\d\d) \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE))


def complaints(text: str) -> list[str]:
    """Return what is wrong with a table."""
    found = rows(text)
    wrong = [f"{case} is not in the table" for case in CASES if case not in found]
    wrong += [f"{case} has no test" for case, cell in found.items() if not (NAMED.search(cell) or LATER.search(cell))]
    return wrong + [f"{path} has no {name}" for path, name in NAMED.findall(text) if name not in names_in(path)]


def names_in(path: str) -> set[str]:
    if not (ROOT / path).is_file():
        return set()
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


PAGE = (ROOT / "docs/design/cases.md").read_text()


def test_every_case_names_tests_that_exist_or_the_issue_it_waits_for() -> None:
    assert complaints(PAGE) == []
    assert list(rows(PAGE)) == CASES
    bad = (
        PAGE.replace("| 49 |", "| 99 |").replace("test_case_02_a_remote", "test_gone").replace("with issue 5", "later")
    )
    assert [line.split()[0] for line in complaints(bad)] == ["49", "99", "tests/cases/test_remote_cases.py"]


def test_every_test_written_for_a_case_is_in_its_row() -> None:
    table = rows(PAGE)
    for path in sorted((ROOT / "tests/cases").glob("test_*_cases.py")):
        for name in names_in(str(path.relative_to(ROOT))):
            number = re.match(r"test_case_(\d\d)_", name)
            assert number is None or f"::{name}`" in table[number[1]], name
