"""The files that everybody wants, and what one edit does to them: it changes a shared function and leaves a mark.

Half of the marks go to the end of the file, where git sees a conflict when two agents write at once; the others to the
agent's own section, which git merges. The function is one line: two who both read 5 write 6, and git sees nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from tests.helpers import Repo

FILES = tuple(f"lib/{name}.py" for name in ("auth", "cart", "index", "mail", "pay", "stock", "tax"))
PADDING = "#\n" * 4
COUNT = re.compile(r"^    return (\d+)$", re.MULTILINE)


class Edit(NamedTuple):
    """One piece of work: its mark in each file, which files, and for what part of a lease it is thought about."""

    mark: str
    files: tuple[str, ...]
    thought: float
    is_at_the_end: bool


def edit_of(agent: str, number: int) -> Edit:
    """Return an agent's so-manieth piece of work; the same in every run."""
    dice = random.Random(f"{agent} {number}")  # the same dice with and without claims
    files = tuple(sorted(dice.sample(FILES, dice.choice([1, 1, 2]))))
    return Edit(f"{agent} edit {number}", files, (1 + dice.random()) / 8, dice.random() < 0.5)


def fresh(agents: Sequence[str]) -> str:
    """Return a file that nobody has edited."""
    sections = "".join(f"{PADDING}# -- {agent}\n" for agent in agents)
    return f'def edits():\n    """Return how often this file was edited."""\n    return 0\n{sections}{PADDING}'


def edited(text: str, agent: str, edit: Edit) -> str:
    """Return the file after one more edit."""
    found = COUNT.search(text)
    assert found is not None, text
    text = COUNT.sub(f"    return {int(found[1]) + 1}", text, count=1)
    if edit.is_at_the_end:
        return f"{text}# {edit.mark}\n"
    return text.replace(f"# -- {agent}\n", f"# -- {agent}\n# {edit.mark}\n", 1)


def counted(text: str) -> int:
    """Return how many edits the function knows of."""
    return sum(int(number) for number in COUNT.findall(text))


def marks(text: str) -> list[str]:
    """Return the marks that are in a file."""
    return re.findall(r"^# (\S+ edit \d+)$", text, re.MULTILINE)


def marks_added(hub: Repo) -> list[tuple[str, str]]:
    """Return (mark, path) of each line that a commit on the hub's main adds, oldest first."""
    text = hub.git("log", "--reverse", "-p", "--no-color", "--no-renames", "--format=", "-U0", "main")
    path, found = "", []
    for line in text.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif line.startswith("+"):
            found += [(mark, path) for mark in marks(line[1:])]
    return found
