"""The session of the README is real: run in a scratch hub with two clones, its commands say what is printed there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from git_coord.cli.main import COMMANDS
from git_coord.errors import Kind
from tests.cli.words import plain
from tests.helpers import Repo, new_repo
from tests.helpers.source import ROOT

README = (ROOT / "README.md").read_text()
PROMPT = re.compile(r"(ada|ben|ci) \$ (.+)")


class Step(NamedTuple):
    """A command of the session, where it is typed, and what is printed below it."""

    who: str
    command: str
    shown: str


def steps(text: str) -> Iterator[Step]:
    """Yield the commands of all console blocks."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        lines = block.splitlines()
        starts = [n for n, line in enumerate(lines) if PROMPT.fullmatch(line)]
        assert starts[:1] == [0], f"a console block begins with a prompt: {lines[0]}"
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            prompt = PROMPT.fullmatch(lines[start])
            assert prompt is not None
            yield Step(prompt[1], prompt[2], "\n".join(lines[start + 1 : end]))


def normal(text: str) -> str:
    """Replace what differs from run to run: times, keys, ids, and the folder the clones lie in."""
    return re.sub(r"/\S*/(?=(ada|ben)/\.git)", "/", plain(text))


@pytest.fixture
def clones(tmp_path: Path, env: dict[str, str]) -> dict[str, Repo]:
    hub = new_repo(tmp_path / "hub.git", env, "--bare")
    seed = new_repo(tmp_path / "seed", env)
    seed.commit(
        "first", **{"src/parser.py": "parse = None\n", "src/lexer/scan.py": "scan = None\n", "README.md": "x\n"}
    )
    seed.git("push", "-q", str(hub.path), "main")
    for name in ("ada", "ben"):
        hub.git("clone", "-q", f"file://{hub.path}", str(tmp_path / name))
    return {name: Repo(tmp_path / name, env) for name in ("hub.git", "ada", "ben", "ci")}


def play(clones: dict[str, Repo], step: Step) -> str:
    """Type a command and return what it says: stdout, then stderr, then the status when that is not 0."""
    if step.who == "ci":
        hub = clones["hub.git"]
        hub.git("clone", "-q", "--depth=1", f"file://{hub.path}", str(clones["ci"].path))
    done = clones[step.who].run("bash", "-c", step.command)
    return f"{done.out}{done.err}".rstrip("\n") + (f"\nexit {done.code}" if done.code else "")


def test_the_session_of_the_readme_is_real(clones: dict[str, Repo]) -> None:
    session = list(steps(README))
    assert len(session) > 10
    real = [Step(step.who, step.command, play(clones, step)) for step in session]
    assert [step._replace(shown=normal(step.shown)) for step in real] == [
        step._replace(shown=normal(step.shown)) for step in session
    ]


def test_the_exit_codes_of_the_readme_are_those_of_the_program() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert listed == {0} | {kind.exit_status for kind in Kind}


def test_every_command_that_the_readme_names_is_one() -> None:
    named = set(re.findall(r"git coord ([a-z]+)", README)) - {"commands", "session"}
    assert named - COMMANDS.keys() == set()
