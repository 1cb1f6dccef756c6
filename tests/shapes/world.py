"""A hub in which alpha holds a file, made once and copied for each shape: `init` costs a second."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.helpers import Repo, new_repo

HELD, FREE, ELSEWHERE = "src/held.txt", "src/free.txt", "docs/page.md"
FILES = {path: f"{path}\n" * 3 for path in (HELD, FREE, ELSEWHERE)}


@dataclass(frozen=True)
class World:
    """A hub, and alpha's clone of it; all in one folder."""

    folder: Path
    hub: Repo
    alpha: Repo

    @property
    def url(self) -> str:
        """The hub by a transport that filters and cuts histories, which a plain path does not."""
        return f"file://{self.hub.path}"

    def clone(self, name: str, *options: str, url: str | None = None) -> Repo:
        """Clone the hub the way beta would."""
        self.hub.git("clone", "-q", *options, url or str(self.hub.path), str(self.folder / name))
        return replace(self.alpha, path=self.folder / name)


def found(folder: Path, env: Mapping[str, str], *options: str, settings: Mapping[str, str] | None = None) -> World:
    """Make a hub with `git init` options, and let alpha found a ledger from a clone with these settings."""
    env = dict(env)
    hub = new_repo(folder / "hub.git", env, "--bare", *options)
    alpha = new_repo(folder / "alpha", env, *options)
    for key, value in (settings or {}).items():
        alpha.git("config", key, value)
    alpha.git("remote", "add", "origin", str(hub.path))
    alpha.commit("first", **FILES)
    alpha.commit("second", **{"README.md": "hello\n"})
    alpha.git("push", "-q", "-u", "origin", "main")
    assert alpha.coord("init", "--agent", "alpha").code == 0
    assert alpha.coord("claim", HELD, "-m", "fix the parser").code == 0
    return World(folder, hub, alpha)


def copy(template: Path, folder: Path, env: Mapping[str, str]) -> World:
    """Return a world of its own, copied from one that `found` made with its state in `state`."""
    shutil.copytree(template / "state", env["XDG_STATE_HOME"], dirs_exist_ok=True)
    for name in ("hub.git", "alpha"):
        shutil.copytree(template / name, folder / name, symlinks=True)
    alpha = Repo(folder / "alpha", dict(env))
    alpha.git("config", "remote.origin.url", str(folder / "hub.git"))
    return World(folder, Repo(folder / "hub.git", dict(env)), alpha)
