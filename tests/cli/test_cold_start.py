"""A cold start is the cost of a command: what is heavy is loaded only when something unseen must be verified."""

from __future__ import annotations

import sys

import pytest

from tests.helpers import Repo

HEAVY = ("pydantic", "pygit2", "cryptography", "hypothesis", "importlib.metadata", "asyncio", "email", "http", "ssl")
LINES = {
    "claim": ["claim", "b"],
    "claim again": ["claim", "a"],
    "release": ["release", "a"],
    "renew": ["renew", "a"],
    "check": ["check", "a"],
    "status": ["status"],
    "whoami": ["whoami"],
    "help": ["-h"],
    "help of a command": ["claim", "-h"],
}


PROBE = """
import os, sys, traceback
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in heavy:
            sys.stderr.write("".join([name, " is imported by\\n", *traceback.format_stack()]))
heavy = sys.argv.pop(1).split()
sys.meta_path.insert(0, Watch())
leave = os._exit
def tell(status):
    sys.stderr.write("\\n".join(["", "loaded:", *sys.modules]))
    sys.stderr.flush()
    leave(status)
os._exit = tell
from git_coord.__main__ import main
main()
"""


def _imported(repo: Repo, *line: str) -> set[str]:
    done = repo.run(sys.executable, "-c", PROBE, " ".join(HEAVY), *line)
    assert done.code == 0, done
    said, loaded = done.err.split("\nloaded:\n")
    sys.stderr.write(said)  # who imported it, where a test fails
    return set(loaded.splitlines())


def _heavy(names: set[str]) -> list[str]:
    return sorted({heavy for heavy in HEAVY for name in names if name == heavy or name.startswith(f"{heavy}.")})


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_local_command_loads_nothing_heavy(alone: Repo, line: list[str]) -> None:
    alone.coord_json("claim", "a")
    alone.coord_json("status")
    assert _heavy(_imported(alone, *line)) == []


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_command_with_a_remote_loads_nothing_heavy_when_nothing_is_new(
    pair: tuple[Repo, Repo], line: list[str]
) -> None:
    alpha, _ = pair
    alpha.coord_json("claim", "a")
    alpha.coord_json("sync")
    alpha.coord_json("status")
    assert _heavy(_imported(alpha, *line)) == []


def test_what_is_new_is_verified_once(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    assert "cryptography" in _heavy(_imported(beta, "status"))
    assert _heavy(_imported(beta, "status")) == []


def test_one_command_loads_no_other(alone: Repo) -> None:
    names = {name for name in _imported(alone, "whoami") if name.startswith("git_coord.cli.")}
    assert sorted(names) == [
        "git_coord.cli.main",
        "git_coord.cli.options",
        "git_coord.cli.output",
        "git_coord.cli.shared",
        "git_coord.cli.whoami_command",
    ]
