"""The instructions: kept in files of others without touching these, short, and true when followed literally."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from git_coord.adapters import instructions
from tests.adapters.conftest import Pair
from tests.helpers import Repo

LIMIT = 32


def test_the_block_is_appended_replaced_in_place_and_taken_out(repo: Repo) -> None:
    before = "# Ours\n\nNo tabs.\n"
    path = repo.write("CLAUDE.md", before)
    assert repo.coord("adapter", "instructions", "--install").code == 0
    assert path.read_text() == f"{before}\n{instructions.block()}"
    assert not (repo.path / "AGENTS.md").exists()
    path.write_text(path.read_text().replace("Working beside", "An older text beside") + "More of ours.\n")
    assert repo.coord("adapter", "instructions", "--install").code == 0
    assert path.read_text() == f"{before}\n{instructions.block()}More of ours.\n"
    again = repo.coord_json("adapter", "instructions", "--install")["files"]
    assert [one["changed"] for one in again] == [False, False, False]
    assert repo.coord("adapter", "instructions", "--remove").code == 0
    assert path.read_text() == f"{before}More of ours.\n"
    assert not (repo.path / ".claude/skills/git-coord/SKILL.md").exists()


def test_without_a_file_agents_md_is_made_and_goes_again(repo: Repo) -> None:
    assert repo.coord("adapter", "instructions", "--install").code == 0
    assert (repo.path / "AGENTS.md").read_text() == instructions.block()
    assert repo.coord("adapter", "instructions").out == instructions.block()
    assert repo.coord("adapter", "instructions", "--remove").code == 0
    assert not (repo.path / "AGENTS.md").exists()


def test_marks_that_are_no_pair_are_left_alone(repo: Repo) -> None:
    text = f"{instructions.BEGIN}\nhalf\n"
    path = repo.write("AGENTS.md", text)
    done = repo.coord("adapter", "instructions", "--install")
    assert (done.code, path.read_text()) == (1, text)
    assert "not one pair; nothing was changed" in done.err


def test_the_skill_has_the_form_that_tools_read_and_the_text_is_short() -> None:
    head, fields, body = instructions.skill().split("---\n", 2)
    assert head == ""
    assert re.fullmatch(r"name: git-coord\ndescription: .{1,1024}\n", fields)
    assert body.strip().removeprefix("# ") == Path(instructions.HERE / "text/block.md").read_text().strip()[3:]
    assert len(instructions.block().splitlines()) <= LIMIT


@pytest.fixture
def commands() -> dict[int, list[str]]:
    """Return the commands of each numbered step, exactly as they are written."""
    steps = re.split(r"^(\d)\. ", Path(instructions.HERE / "text/block.md").read_text(), flags=re.MULTILINE)
    return {int(steps[n]): re.findall(r"`(git coord [^`]+)`", steps[n + 1]) for n in range(1, len(steps), 2)}


def test_an_agent_that_follows_them_literally_gets_where_they_say(pair: Pair, commands: dict[int, list[str]]) -> None:
    words = {"PATHS": "a.txt", "PATH": "b.txt", "HOLDER": "beta", "WHY": "fix it", "TEXT": "fixing a"}

    def follow(step: int, at: int = 0, **other: str) -> int:
        line = commands[step][at]
        for name, word in {**words, **other}.items():
            line = re.sub(rf"\b{name}\b", word, line)
        return pair.alpha.run("sh", "-c", line).code

    assert follow(1) == 0
    assert follow(1, PATHS="b.txt") == 3
    assert follow(2) == 0
    assert follow(3) == 0
    assert [follow(3, PATHS="b.txt") for _ in range(3)] == [3, 3, 3]
    assert follow(4) == 0
    assert any(post["text"] == "need b.txt" for post in pair.beta.coord_json("posts")["posts"])
    assert follow(5) == 0
    assert follow(6) == 0
    assert {claim["agent"] for claim in pair.alpha.coord_json("status")["claims"]} == {"beta"}
    # Coming back in a new session: the command that the first step says.
    away = pair.alpha.with_env(GIT_COORD_SESSION="another")
    step = away.coord_json("preflight", "a.txt", code=7)["next"]
    assert away.run("sh", "-c", step).code == 0, step
    assert away.coord("preflight", "a.txt").code == 0
