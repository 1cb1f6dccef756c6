"""A bare hub, clones and linked worktrees with an agent in each, as processes; and what must be true when they end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.e2e.agent import Orders, Report
from tests.helpers import Repo, new_repo
from tests.helpers.source import ROOT

FILES = 7
"""Size of the contended set: six agents that want two or three of these are refused about every other time."""


def project_copy(folder: Path, env: Mapping[str, str]) -> Repo:
    """Clone this project's own repository; where the tests run from no whole repository, make a small one."""
    outer = Repo(ROOT, dict(env))
    top = outer.run("git", "rev-parse", "--show-toplevel", "--is-shallow-repository")
    if top.code == 0 and top.out.splitlines() == [str(ROOT), "false"]:
        outer.git("clone", "-q", "--no-local", str(ROOT), str(folder))
        copy = Repo(folder, dict(env))
        copy.git("checkout", "-q", "-B", "main")
        copy.git("remote", "remove", "origin")
        return copy
    copy = new_repo(folder, dict(env))
    for n in range(FILES):
        copy.commit(f"file {n}", **{f"src/file{n}.py": f"N = {n}\n"})
    return copy


@dataclass(frozen=True)
class Fleet:
    """A hub with the project in it; `url` is how agents reach it."""

    folder: Path
    hub: Repo
    url: str
    env: dict[str, str]
    files: list[str]

    @classmethod
    def launch(cls, folder: Path, env: dict[str, str], url: str = "") -> Fleet:
        """Make the hub, with a copy of this project's repository on main."""
        hub = new_repo(folder / "hub.git", env, "--bare")
        copy = project_copy(folder / "copy", env)
        copy.git("push", "-q", str(hub.path), "main")
        files = [path for path in copy.git("ls-files", "*.py").splitlines() if (copy.path / path).stat().st_size]
        return cls(folder, hub, url or f"file://{hub.path}", env, files[:FILES])

    def clone(self, name: str, *options: str) -> Repo:
        """Clone the hub the way an agent or CI does."""
        Repo(self.folder, self.env).git("clone", "-q", *options, self.url, str(self.folder / name))
        return Repo(self.folder / name, self.env)

    def checkouts(self, clones: Sequence[str], worktrees: Sequence[str]) -> dict[str, Repo]:
        """Return a checkout for each agent: clones of their own, and linked worktrees of one more clone."""
        found = {name: self.clone(name) for name in clones}
        shared = self.clone("shared") if worktrees else None
        return found | {name: shared.worktree(name) for name in worktrees if shared}

    def run(
        self, checkouts: Mapping[str, Repo], *, edits: int, intrusions: int, seconds: float
    ) -> tuple[list[Report], str]:
        """Let all agents work at once; returns their reports and, for the reader of a failure, what went wrong."""
        orders = [
            Orders(
                agent=name,
                folder=str(repo.path),
                report=str(self.folder / f"{name}.json"),
                files=self.files,
                edits=edits,
                intrusions=intrusions,
                seconds=seconds,
                shares_clone=(repo.path / ".git").is_file(),
            )
            for name, repo in checkouts.items()
        ]
        with ExitStack() as stack:
            processes = [stack.enter_context(self._start(one)) for one in orders]
            codes = [_end(process, seconds + 30) for process in processes]
        trouble = [self._complaint(one.agent, code) for one, code in zip(orders, codes, strict=True) if code != 0]
        reports = [Report(**json.loads(Path(one.report).read_text())) for one in orders if Path(one.report).exists()]
        return reports, "\n".join(trouble)

    def _start(self, orders: Orders) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.e2e.agent", json.dumps(asdict(orders))]
        with (self.folder / f"{orders.agent}.log").open("wb") as log:
            # The log stays in the test's folder, which pytest keeps.
            return subprocess.Popen(command, cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _complaint(self, agent: str, code: int | None) -> str:
        log = self.folder / f"{agent}.log"
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        return f"{agent}: {'killed at the deadline' if code is None else f'exit {code}'}, see {log}\n{tail}"

    def lines_added(self) -> list[tuple[str, str]]:
        """Return (path, line) for each line that a commit on the hub's main adds, oldest first."""
        text = self.hub.git("log", "--reverse", "-p", "--no-color", "--no-renames", "--format=", "-U0", "main")
        path, found = "", []
        for line in text.splitlines():
            if line.startswith("+++ "):
                path = line.removeprefix("+++ b/")
            elif line.startswith("+"):
                found.append((path, line[1:]))
        return found


def _end(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return None


def assert_history_holds(fleet: Fleet, reports: Sequence[Report]) -> None:
    """Every granted edit is in the hub's history exactly once, at its path, and no refused edit is."""
    marks = {line for report in reports for line in [*report.granted, *report.refused]}
    wanted = sorted((path, line) for report in reports for line, path in report.granted.items())
    assert sorted(entry for entry in fleet.lines_added() if entry[1] in marks) == wanted
    for path, line in wanted:
        assert fleet.hub.git("show", f"main:{path}").splitlines().count(line) == 1


def assert_tokens_are_unique(reports: Sequence[Report]) -> None:
    """No token was given twice, and each agent's own only grow."""
    every = [token for report in reports for token in report.tokens]
    assert len(set(every)) == len(every)
    assert [report.tokens for report in reports] == [sorted(report.tokens) for report in reports]
