"""A hub and two members, made once and copied for each test; assertions of the shared story say what they saw."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import Repo, hub_with_clones
from tests.remotes.pair import Pair

pytest.register_assert_rewrite("tests.remotes.story")


@pytest.fixture(scope="session")
def _members(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("members")
    env = dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    _, *both = hub_with_clones(folder, env, ["alpha", "beta"])
    for clone in both:
        assert clone.coord("init", "--agent", clone.path.name).code == 0
    both[0].coord_json("sync")
    return folder


@pytest.fixture
def pair(_members: Path, tmp_path: Path, env: dict[str, str]) -> Pair:
    """Return a hub and the clones of two members who hold nothing."""
    shutil.copytree(_members / "state", env["XDG_STATE_HOME"], dirs_exist_ok=True)
    for name in ("hub.git", "alpha", "beta"):
        shutil.copytree(_members / name, tmp_path / name, symlinks=True)
    hub = Repo(tmp_path / "hub.git", env)
    made = Pair(hub, *(replace(hub, path=tmp_path / name) for name in ("alpha", "beta")))
    made.set_url(str(hub.path))
    return made


@pytest.fixture
def hub(tmp_path: Path, env: dict[str, str]) -> Repo:
    """Return a hub with one commit on main, not yet known to any agent."""
    (made,) = hub_with_clones(tmp_path, env, [])
    return made
