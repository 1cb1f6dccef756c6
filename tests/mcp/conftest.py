"""Repositories with agents set up in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo


@pytest.fixture
def alone(repo: Repo) -> Repo:
    """Return a repository without a remote in which alpha works, and beta can be acted as."""
    repo.coord_json("init", "--agent", "beta")
    repo.git("config", "--unset", "coord.agent")
    repo.coord_json("init", "--agent", "alpha")
    return repo


@pytest.fixture
def pair(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> tuple[Repo, Repo]:
    """Return the clones of alpha and beta, who are members."""
    _, alpha, beta = hub_and_clones("alpha", "beta")
    alpha.coord_json("init")
    beta.coord_json("init")
    return alpha, beta


@pytest.fixture
def other(tmp_path: Path, env: dict[str, str]) -> Repo:
    """Return a repository beside the first, in which gamma works."""
    made = new_repo(tmp_path / "other", env)
    made.commit("first", **{"README.md": "hello\n"})
    made.coord_json("init", "--agent", "gamma")
    return made
