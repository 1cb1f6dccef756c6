"""A clone in which alpha holds `a.txt` and the hooks are installed, made once and copied for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.helpers import Completed, Repo, hub_with_clones, new_repo

from git_coord.app import App, open_app
from git_coord.hooks.install import install


def open_here(repo: Repo) -> App:
    """Open the repository as a command of `git coord` would."""
    return open_app(str(repo.path), repo.env)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("template")
    env = dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    _, alpha = hub_with_clones(folder, env, ["alpha"])
    alpha.commit("files", **{"a.txt": "a\n", "b.txt": "b\n", "src/x.py": "x\n"})
    alpha.git("push", "-q")
    assert alpha.coord("init", "--agent", "alpha").code == 0
    assert alpha.coord("claim", "a.txt", "-m", "fix the parser").code == 0
    install(open_here(alpha))
    return folder


@dataclass(frozen=True)
class Pair:
    """One repository, seen by the agent that holds `a.txt` and by another one."""

    alpha: Repo
    beta: Repo

    def claim(self, *args: str) -> None:
        """Let alpha claim more."""
        done = self.alpha.coord("claim", *args)
        assert done.code == 0, done


@pytest.fixture
def pair(template: Path, tmp_path: Path, env: dict[str, str]) -> Pair:
    shutil.copytree(template, tmp_path, symlinks=True, dirs_exist_ok=True)
    sealed = env | {"XDG_STATE_HOME": str(tmp_path / "state")}
    alpha = Repo(tmp_path / "alpha", sealed)
    alpha.git("remote", "set-url", "origin", str(tmp_path / "hub.git"))
    return Pair(alpha, alpha.with_env(GIT_COORD_AGENT="beta"))


@pytest.fixture
def bare_repo(tmp_path: Path, env: dict[str, str]) -> Callable[[str], Repo]:
    return lambda name: new_repo(tmp_path / name, env)


def assert_allowed(done: Completed) -> None:
    """The hook let it pass and had nothing to say."""
    assert (done.code, done.err) == (0, "")


def assert_blocked(done: Completed, *paths: str, holder: str = "alpha") -> None:
    """The hook refused, and named these paths and their holder."""
    rows = [line.split("   ") for line in done.err.splitlines() if line.startswith("  ") and f"{holder} #" in line]
    assert (done.code, [row[0].strip() for row in rows]) == (1, list(paths)), done.err
