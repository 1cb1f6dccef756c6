"""House rules that no linter knows; each is a function that is also shown something it must catch."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.helpers.source import ROOT, Source, read_sources

SOURCES = read_sources()
TESTS = read_sources(ROOT / "tests")
LONG_FUNCTIONS: dict[str, str] = {}
"""`path name` -> why the function may exceed 60 lines."""


def test_every_test_module_says_what_it_is_about() -> None:
    assert [source.path for source in TESTS if source.text and not ast.get_docstring(source.tree)] == []


def test_module_docstrings_begin_with_one_whole_sentence() -> None:
    assert list(_unfinished(SOURCES)) == []
    assert list(_unfinished([Source("x.py", '"""First half\nsecond half."""')])) == ["x.py: First half"]


def _unfinished(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        first = (ast.get_docstring(source.tree) or "").split("\n")[0]
        if not first.endswith((".", "?")):
            yield f"{source.path}: {first}"


def test_functions_stay_under_sixty_lines() -> None:
    assert sorted(_long(SOURCES)) == sorted(LONG_FUNCTIONS)
    assert list(_long([Source("x.py", "def f():\n" + " pass\n" * 60)])) == ["x.py f"]


def _long(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        for node in _functions(source):
            if (node.end_lineno or node.lineno) - node.lineno >= 60:
                yield f"{source.path} {node.name}"


def test_names_of_tests_are_sentences() -> None:
    assert list(_terse(TESTS)) == []
    assert list(_terse([Source("x.py", "def test_claims(): pass")])) == ["x.py test_claims"]


def _terse(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        for node in _functions(source):
            if node.name.startswith("test_") and node.name.count("_") < 3:
                yield f"{source.path} {node.name}"


def test_no_test_sleeps_or_expects_any_exception_at_all() -> None:
    assert list(_loose(TESTS)) == []
    assert list(_loose([Source("x.py", "time.sleep(1)\npytest.raises(Exception)")])) == [
        "x.py:1 time.sleep",
        "x.py:2 raises anything",
    ]


def _loose(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        yield from (f"{source.at(line)} {name}" for line, name in source.names() if name == "time.sleep")
        for node in ast.walk(source.tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="raises"),
                    args=[ast.Name(id="Exception" | "BaseException"), *_],
                    lineno=line,
                ):
                    yield f"{source.at(line)} raises anything"


def _functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_ignored_lint_rule_carries_its_reason() -> None:
    lint = (ROOT / "pyproject.toml").read_text().split("[tool.ruff.lint]")[1].split("\n[tool.mypy]")[0]
    entries = [line for line in lint.splitlines() if re.match(r'\s+"[A-Z]+\d+"|"[a-z].*= \[', line)]
    assert len(entries) > 5
    assert [line for line in entries if " # " not in line] == []


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=!~ \[;]", entry)[0] for entry in wanted}
    explained = set(re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs/design/decisions.md").read_text(), re.MULTILINE))
    assert names == explained


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "docs/changelog.md").read_text()


@pytest.mark.parametrize("path", sorted(path for path in (ROOT / "githooks").iterdir() if path.name[0] != "."), ids=str)
def test_shims_are_short_posix_scripts(path: os.PathLike[str]) -> None:
    with open(path) as file:
        lines = file.read().splitlines()
    assert lines[0] == "#!/bin/sh"
    assert len(lines) < 20


def test_what_ci_runs_is_executable() -> None:
    assert os.access(ROOT / ".ci/run", os.X_OK)
