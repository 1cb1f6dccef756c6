"""A hub with two members, alpha holding `a.txt`, hooks installed: made once, copied for each test that plays there."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers import Repo, hub_with_clones

ZERO = "0" * 40


@dataclass(frozen=True)
class Stage:
    """The hub, a clone of each member, and the folder they lie in."""

    folder: Path
    hub: Repo
    alpha: Repo
    beta: Repo

    @property
    def url(self) -> str:
        """The hub as a real remote, so that shallow clones are shallow."""
        return f"file://{self.hub.path}"

    def checkout(self, name: str, *options: str, ref: str | None = None) -> Repo:
        """Make what CI makes: a fresh depth-1 clone that was never set up, of a branch, or of any ref as `ref`."""
        ci = Repo(self.folder / name, {k: v for k, v in self.hub.env.items() if k != "GIT_COORD_AGENT"})
        if ref is None:
            self.hub.git("clone", "-q", "--depth=1", *options, self.url, str(ci.path))
            return ci
        self.hub.git("init", "-q", str(ci.path))
        ci.git("remote", "add", "origin", self.url)
        ci.git("fetch", "-q", "--no-tags", "--depth=1", "origin", f"+{ref}:refs/remotes/pull/1/merge")
        ci.git("checkout", "-q", "--detach", "refs/remotes/pull/1/merge")
        return ci

    def merge(self, branch: str, ref: str = "refs/pull/1/merge") -> str:
        """Make the hub's own merge of a branch into main under a ref, as a host does for a pull request."""
        host = self.hub.with_env(GIT_COMMITTER_NAME="host", GIT_COMMITTER_EMAIL="noreply@host")
        tree = host.git("merge-tree", "--write-tree", "main", branch).splitlines()[0]
        merge = host.git("commit-tree", tree, "-p", "main", "-p", branch, "-m", "merge")
        host.git("update-ref", ref, merge)
        return merge

    def squash(self, branch: str) -> str:
        """Move the hub's main to one commit with all of a branch, made by the host in another committer's name."""
        host = self.hub.with_env(GIT_COMMITTER_NAME="host", GIT_COMMITTER_EMAIL="noreply@host")
        tree = host.git("merge-tree", "--write-tree", "main", branch).splitlines()[0]
        squashed = host.git("commit-tree", tree, "-p", "main", "-m", "squash (#1)")
        host.git("update-ref", "refs/heads/main", squashed)
        return squashed


def build(folder: Path, *options: str) -> None:
    """Make the stage in a folder."""
    env = dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")}
    _, alpha, beta = hub_with_clones(folder, env, ["alpha", "beta"])
    alpha.commit("files", **{"a.txt": "a\n", "b.txt": "b\n", "src/x.py": "x\n"})
    alpha.git("push", "-q")
    beta.git("pull", "-q")
    for clone in (alpha, beta):
        succeed(clone, "init", "--agent", clone.path.name)
        succeed(clone, "hooks", "install")
    succeed(alpha, "claim", "a.txt", "-m", "fix the parser")
    succeed(beta, "sync")


def copy(template: Path, folder: Path, env: dict[str, str]) -> Stage:
    """Return a stage of one's own."""
    shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
    sealed = env | {"XDG_STATE_HOME": str(folder / "state")}
    hub, alpha, beta = (Repo(folder / name, sealed) for name in ("hub.git", "alpha", "beta"))
    for clone in (alpha, beta):
        clone.git("remote", "set-url", "origin", str(hub.path))
    return Stage(folder, hub, alpha, beta)


def succeed(repo: Repo, *args: str) -> None:
    """Run a command of git coord that the test needs to succeed."""
    done = repo.coord(*args)
    assert done.code == 0, done


def push(repo: Repo, *args: str) -> None:
    """Push past the hook, as somebody does who does not want to hear it."""
    repo.git("push", "-q", "--no-verify", "origin", *args)


def kinds(answer: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Return commit, path and kind of each violation."""
    return [(one["commit"], one["path"], one["kind"]) for one in answer["violations"]]
