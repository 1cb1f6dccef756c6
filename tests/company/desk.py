"""Beta's clone, where a hook of others writes a word to a log whenever it runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import Completed, Repo
from tests.verify.stage import Stage, succeed


@dataclass(frozen=True)
class Desk:
    """Where beta works; `a.txt` is alpha's."""

    repo: Repo
    log: Path

    def ran(self) -> list[str]:
        """Return what has run since this was last asked."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def commit(self, path: str, *options: str) -> Completed:
        """Try to commit a change of a file."""
        file = self.repo.path / path
        self.repo.write(path, f"{file.read_text() if file.exists() else ''}beta\n")
        self.repo.git("add", "--", path)
        done = self.repo.run("git", "commit", "-q", *options, "-m", f"change {path}")
        if done.code:
            self.repo.git("reset", "-q", "--hard")
        return done

    def push(self) -> Completed:
        """Try to push what was committed."""
        return self.repo.run("git", "push", "-q", "-f", "origin", "HEAD:refs/heads/topic")

    def hooks(self) -> dict[str, tuple[int, bytes]]:
        """Return everything about the files in the hooks folder."""
        folder = self.repo.path / self.repo.git("rev-parse", "--git-path", "hooks")
        return {path.name: _file(path) for path in sorted(folder.iterdir())} if folder.is_dir() else {}


def _file(path: Path) -> tuple[int, bytes]:
    return path.lstat().st_mode, os.readlink(path).encode() if path.is_symlink() else path.read_bytes()


def desk(stage: Stage, path: str | None = None) -> Desk:
    """Return beta's clone without our hooks."""
    log = stage.folder / "log"
    repo = stage.beta.with_env(LOG=str(log), **({"PATH": path} if path else {}))
    succeed(repo, "hooks", "uninstall")
    return Desk(repo, log)


def assert_refused(done: Completed, *, at: str = "commit") -> None:
    """Our hook refused, once, and named the path and its holder."""
    assert done.code == 1, done
    assert done.err.count(f"git coord: {at} refused, 1 of 1 ") == 1, done
    assert done.err.count("alpha #1 ") == 1, done


def assert_guarded(desk: Desk, word: str, *, runs_when_refused: bool = True) -> None:
    """Every door refuses what is alpha's and lets the rest pass; each time the other hook runs once, too."""
    desk.ran()
    assert_refused(desk.commit("a.txt"))
    assert desk.ran() == ([f"{word} pre-commit"] if runs_when_refused else [])
    assert desk.commit("b.txt").code == 0
    assert desk.ran() == [f"{word} pre-commit"]
    assert desk.push().code == 0
    assert desk.ran() == [f"{word} pre-push"]
    assert desk.commit("a.txt", "--no-verify").code == 0
    assert desk.ran() == []
    assert_refused(desk.push(), at="push")
    assert desk.ran() == ([f"{word} pre-push"] if runs_when_refused else [])
    desk.repo.git("reset", "-q", "--hard", "HEAD~1")
    assert desk.repo.git("status", "--porcelain") == ""
