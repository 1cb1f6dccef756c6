"""The pages made from the commands are up to date, git finds the man page, and the documented JSON is what comes."""

from __future__ import annotations

import re
import shutil
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from git_coord.cli.main import COMMANDS, HIDDEN
from tests.helpers import Repo
from tests.helpers.source import ROOT


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_what_make_docs_writes(generate: ModuleType) -> None:
    assert (ROOT / "docs/cli.md").read_text() == generate.markdown(), "run: make docs"
    assert (ROOT / "docs/git-coord.1").read_text() == generate.manual(), "run: make docs"


def test_every_command_has_a_page_with_all_its_options(generate: ModuleType) -> None:
    pages = {page.name: page for page in generate.pages()}
    assert [name for name in COMMANDS if name not in HIDDEN] == [name for name in pages if " " not in name]
    for page in pages.values():
        assert page.paragraphs[0].endswith((".", "?")), page.name
        assert all(text for _, text in page.options), page.name
        assert {"--json", "--agent NAME", "-h"} <= {option for option, _ in page.options}, page.name


def test_the_man_page_is_plain_troff(repo: Repo) -> None:
    page = ROOT / "docs/git-coord.1"
    assert page.read_bytes().isascii()
    if shutil.which("groff"):
        done = repo.run("groff", "-man", "-ww", "-Tutf8", str(page))
        assert (done.code, done.err) == (0, "")


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
@pytest.mark.parametrize("words", [["help", "coord"], ["coord", "--help"]], ids=" ".join)
def test_git_shows_the_man_page(repo: Repo, tmp_path: Path, words: list[str]) -> None:
    folder = tmp_path / "man/man1"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "docs/git-coord.1", folder)
    shown = repo.with_env(MANPATH=str(tmp_path / "man"), MANPAGER="cat", PAGER="cat", MANWIDTH="100").git(*words)
    assert "who is working on what in this repository, and may I touch this file?" in shown
    assert "git coord claim [OPTIONS] [RESOURCE]..." in shown


def _documented(shapes: dict[str, str], name: str) -> set[str]:
    """Return the field names of a documented object and of the objects it names."""
    shape = shapes[name]
    inner = [part for part in re.findall(r"\b[A-Z]{4,}\b", shape) if part != name]
    return (set(re.findall(r'"(\w+)"', shape)) - {"conflict", "ok"}).union(
        *(_documented(shapes, part) for part in inner)
    )


def _names(value: Any) -> set[str]:
    """Return all field names of an answer, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(_names, value.values())) - {"ok"}
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


WAITS = {
    "claim, waited in vain",
    "claim, deadlock",
    "release --to",
    "post, presence set, not sent",
    "status, not all sent",
}
"""Compared in tests/cli/test_waiting.py, test_hand_over.py and test_sent.py."""
LINES = {
    "claim, granted": (["claim", "b", "--stamp", "x=1"], 0),
    "claim, for less than one has": (["claim", "--read", "mine", "other", "--stamp", "x=1"], 0),
    "claim, refused": (["claim", "held"], 3),
    "release, renew, break": (["renew", "--all"], 0),
    "takeover, refused": (["takeover", "held"], 3),
    "check": (["check", "held", "other"], 3),
    "check, a blocked task": (["check", "task:stuck", "other"], 8),
    "block, unblock": (["unblock", "task:stuck"], 0),
    "preflight": (["preflight", "held", "other"], 3),
    "status": (["status"], 0),
    "presence": (["presence"], 0),
    "posts": (["posts"], 0),
    "post": (["post", "hello"], 0),
    "sync": (["sync"], 0),
    "log": (["log"], 0),
    "init": (["init"], 0),
    "whoami": (["whoami"], 0),
    "policy": (["policy"], 0),
    "doctor": (["doctor"], 0),
    "hooks status": (["hooks", "status"], 1),
    "an error": (["claim", "../x"], 2),
}


@pytest.mark.parametrize("name", LINES)
def test_the_documented_json_is_what_comes(pair: tuple[Repo, Repo], generate: ModuleType, name: str) -> None:
    alpha, beta = pair
    beta.coord_json("claim", "held", "-m", "why", "--stamp", "y=2")
    alpha.coord_json("sync")
    if "block" in name or name == "status":
        beta.coord_json("block", "task:stuck", "-m", "why")
        alpha.coord_json("sync")
    alpha.coord_json("claim", "mine", "--stamp", "x=1")
    alpha.coord_json("post", "hello")
    if name == "status":
        beta.with_env(GIT_COORD_FAILPOINT="after push").run("git-coord", "claim", "mine", "--wait")
        alpha.coord_json("sync")
    line, code = LINES[name]
    assert _names(alpha.coord_json(*line, code=code)) == _documented(generate.SHAPES, name)


def test_every_documented_answer_is_compared(generate: ModuleType) -> None:
    parts = {"ITEM", "SIMILAR", "STAMP", "CLAIM", "AGENT", "BLOCK", "POST", "WAITER", "CONFLICT", "GATES"}
    landing = {"a claim that waits for a branch", "settled, of sync", "warnings, of claim"}
    assert set(generate.SHAPES) - set(LINES) == {*parts, *WAITS, *landing, "takeover", "rejoin", "verify", "watch"}


def test_the_settings_listed_are_the_settings_read(generate: ModuleType) -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src/git_coord").rglob("*.py"))
    read = set(re.findall(r'"(coord\.[A-Za-z.]+)"', sources)) - {"coord.worktreeConfig"}
    assert read <= {name for name, _ in generate.SETTINGS}
