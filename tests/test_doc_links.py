"""Every relative link of the documentation leads somewhere, and every named file and make target exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.source import ROOT

PAGES = sorted([ROOT / "README.md", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def broken_links(page: Path, text: str) -> list[str]:
    """Return targets of relative links that do not exist, headings included."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    targets = [target for target in LINK.findall(prose) if not re.match(r"[a-z]+:", target)]
    return [target for target in targets if not _leads_somewhere(page, target)]


def _leads_somewhere(page: Path, target: str) -> bool:
    name, _, heading = target.partition("#")
    file = page.parent / name if name else page
    return file.exists() and (not heading or heading in _headings(file.read_text()))


def _headings(text: str) -> set[str]:
    """Return the anchors hosts derive from headings: lower case, blanks to hyphens, punctuation dropped."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_the_page_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One two, three\n")
    text = "[a](a.md) [b](b.md) [c](https://x.invalid) [d](a.md#one-two-three) [e](a.md#four)\n```\n[f](f.md)\n```\n"
    assert broken_links(page, text) == ["b.md", "a.md#four"]


def test_make_targets_named_in_the_documentation_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`make (\w+)", page.read_text())}
    assert named - targets == set()
