"""Repositories that are set up already: made once, copied for each test, because `init` costs a second."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.words import forget_sync
from tests.helpers import Repo, hub_with_clones, new_repo, seal

AGENTS = ("alpha", "beta")


@pytest.fixture(scope="session")
def _templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("templates")
    env = seal(folder / "home", os.environ)
    alone = new_repo(folder / "alone", env)
    alone.commit("first", **{"README.md": "hello\n"})
    _, *clones = hub_with_clones(folder, env, AGENTS)
    for repo, agent in ((alone, "alpha"), *zip(clones, AGENTS, strict=True)):
        assert repo.coord("init", "--agent", agent).code == 0
    clones[0].coord_json("sync")
    return folder


@pytest.fixture
def _copied(_templates: Path, tmp_path: Path, env: dict[str, str]) -> Callable[[str], Repo]:
    state = Path(env["XDG_STATE_HOME"])
    shutil.copytree(_templates / "home/.local/state", state, dirs_exist_ok=True)

    def copy(name: str) -> Repo:
        shutil.copytree(_templates / name, tmp_path / name, symlinks=True)
        repo = Repo(tmp_path / name, env)
        if name in AGENTS:
            repo.git("config", "remote.origin.url", str(tmp_path / "hub.git"))
            forget_sync(repo)
        return repo

    return copy


@pytest.fixture
def alone(_copied: Callable[[str], Repo]) -> Repo:
    """Return a repository without a remote in which alpha works."""
    return _copied("alone")


@pytest.fixture
def trio(_copied: Callable[[str], Repo]) -> tuple[Repo, Repo, Repo]:
    """Return a hub and two clones of it in which alpha and beta work."""
    return _copied("hub.git"), _copied("alpha"), _copied("beta")


@pytest.fixture
def pair(trio: tuple[Repo, Repo, Repo]) -> tuple[Repo, Repo]:
    """Return the two clones alone."""
    return trio[1:]
