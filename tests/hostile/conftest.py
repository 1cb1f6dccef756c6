"""A hub with three members, one of them hostile; made once, copied for each test."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.words import forget_sync
from tests.helpers import Repo, hub_with_clones, seal
from tests.hostile.attacker import Attacker

AGENTS = ("alpha", "beta", "mallory")


@dataclass(frozen=True)
class Arena:
    """The hub, two honest clones (alpha has the policy key and holds `a.txt`), and the attacker's."""

    folder: Path
    hub: Repo
    alpha: Repo
    beta: Repo
    mallory: Attacker

    def fresh(self, name: str) -> Repo:
        """Return what CI has: a new clone that was never set up, and no key."""
        clone = Repo(self.folder / name, {**self.hub.env, "XDG_STATE_HOME": str(self.folder / "nobody")})
        self.hub.git("clone", "-q", str(self.hub.path), str(clone.path))
        return clone

    def holders(self, clone: Repo) -> dict[str, str]:
        """Return who holds what, as a clone sees it without asking the hub."""
        claims = clone.coord_json("status", "--local")["claims"]
        return {item["path"]: claim["agent"] for claim in claims for item in claim["items"]}


@pytest.fixture(scope="session")
def _arena_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arena")
    env = seal(folder / "home", os.environ)
    hub, *clones = hub_with_clones(folder, env, AGENTS)
    for clone, agent in zip(clones, AGENTS, strict=True):
        assert clone.coord("init", "--agent", agent).code == 0
    clones[0].coord_json("hooks", "install")
    clones[0].coord_json("claim", "a.txt", "-m", "work")
    for clone in clones[1:]:
        clone.coord_json("sync")
    # Nothing is pending, and the attacker cannot be told from anybody else so far.
    assert hub.refs("refs/coord/claims")["refs/coord/claims"] == clones[2].rev("refs/coord/claims")
    return folder


@pytest.fixture
def arena(_arena_template: Path, tmp_path: Path, env: dict[str, str]) -> Arena:
    """Return a copy of the arena in which the next read fetches."""
    shutil.copytree(_arena_template / "home/.local/state", Path(env["XDG_STATE_HOME"]), dirs_exist_ok=True)
    clones = []
    for name in ("hub.git", *AGENTS):
        shutil.copytree(_arena_template / name, tmp_path / name, symlinks=True)
        clones.append(Repo(tmp_path / name, env))
    for clone in clones[1:]:
        clone.git("config", "remote.origin.url", str(tmp_path / "hub.git"))
        forget_sync(clone)
    hub, alpha, beta, mallory = clones
    return Arena(tmp_path, hub, alpha, beta, Attacker(mallory))
