"""One repository without a remote, made once and copied: alpha's worktree, and beta, who holds `b.txt`."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.adapters.tool import Session
from tests.helpers import Repo, hub_with_clones, new_repo


@dataclass(frozen=True)
class Pair:
    """The same files seen by alpha, whose worktree it is, and by beta."""

    alpha: Repo
    beta: Repo

    def session(self, name: str = "s-1", tool: str = "claude-code") -> Session:
        """Begin to call hooks as a session in alpha's worktree."""
        return Session(self.alpha, name, tool)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("edits")
    env = dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    alpha = new_repo(folder / "repo", env)
    alpha.commit("files", **{"a.txt": "a\n", "b.txt": "b\n", "src/x.py": "x\n", ".gitignore": "*.log\n"})
    assert alpha.coord("init", "--agent", "alpha").code == 0
    beta = alpha.worktree("beta")
    assert beta.coord("init", "--agent", "beta").code == 0
    assert beta.coord("claim", "b.txt", "-m", "fix the parser").code == 0
    return folder


@pytest.fixture
def pair(template: Path, tmp_path: Path, env: dict[str, str]) -> Pair:
    shutil.copytree(template, tmp_path, symlinks=True, dirs_exist_ok=True)
    sealed = env | {"XDG_STATE_HOME": str(tmp_path / "state"), "TZ": "UTC"}
    alpha = Repo(tmp_path / "repo", sealed)
    # The template is still there, so `git worktree repair` would find nothing to repair.
    linked = alpha.path / ".git/worktrees/beta"
    (tmp_path / "beta/.git").write_text(f"gitdir: {linked}\n")
    (linked / "gitdir").write_text(f"{tmp_path}/beta/.git\n")
    return Pair(alpha, Repo(tmp_path / "beta", sealed))


@pytest.fixture(scope="session")
def hub_template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("hub-edits")
    env = dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    _, alpha, beta = hub_with_clones(folder, env, ["alpha", "beta"])
    for clone in (alpha, beta):
        assert clone.coord("init").code == 0
    assert alpha.coord("sync").code == 0
    return folder


@pytest.fixture
def clones(hub_template: Path, tmp_path: Path, env: dict[str, str]) -> Pair:
    """Return two clones of a hub, of alpha and of beta."""
    shutil.copytree(hub_template, tmp_path, symlinks=True, dirs_exist_ok=True)
    sealed = env | {"XDG_STATE_HOME": str(tmp_path / "state")}
    made = [Repo(tmp_path / name, sealed) for name in ("alpha", "beta")]
    for clone in made:
        clone.git("remote", "set-url", "origin", str(tmp_path / "hub.git"))
    return Pair(*made)
