"""One agent of the fleet, a process of its own: claims, edits, commits, rebases, pushes, releases, until it has enough.

Run as `python -m tests.e2e.agent SPEC`, where SPEC is a JSON object with the fields of `Orders`.
"""

from __future__ import annotations

import json
import os
import random
import select
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.helpers import Completed, Failed, Repo

PICTURE = ("refs/coord/claims", "refs/coord/requests")
"""The refs that hooks answer from."""
PUSHES = 40
"""Far above what six agents need: each lost race means that another one got through."""
EXIT_CONFLICT = 3


@dataclass(frozen=True)
class Orders:
    """What the test tells an agent; `shares_clone` when linked worktrees of other agents move the same refs."""

    agent: str
    folder: str
    report: str
    files: list[str]
    edits: int
    intrusions: int
    seconds: float
    shares_clone: bool


@dataclass
class Report:
    """What an agent tells the test: lines whose commit was pushed, lines whose commit was refused, tokens it got."""

    agent: str
    granted: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    refusals: int = 0


class Worker:
    """One agent at work in its own checkout."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.repo = Repo(Path(orders.folder), dict(os.environ))
        self.report = Report(orders.agent)
        self.dice = random.Random(orders.agent)
        self.deadline = time.monotonic() + orders.seconds

    def work(self) -> Report:
        """Do all edits that were asked for; a refused claim leads to another choice of files."""
        self.expect(0, "git", "coord", "init", "--agent", self.orders.agent)
        self.expect(0, "git", "coord", "hooks", "install")
        for edit in range(self.orders.edits):
            self.edit(f"{self.orders.agent} edit {edit}", self.claim())
        return self.report

    def claim(self) -> tuple[int, list[str]]:
        """Claim two or three files, others after each refusal; now and then try a commit on what another holds."""
        while time.monotonic() < self.deadline:
            files = sorted(self.dice.sample(self.orders.files, self.dice.choice([2, 3])))
            done = self.repo.coord("claim", *files, "-m", "one more line", "--json")
            if done.code == 0:
                token = json.loads(done.out)["token"]
                self.report.tokens.append(token)
                return token, files
            if done.code != EXIT_CONFLICT:
                raise Failed(["git", "coord", "claim", *files], done)
            self.report.refusals += 1
            if len(self.report.refused) < self.orders.intrusions:
                self.intrude(json.loads(done.out)["path"])
            # Six that ask again at once would spend their time on refusals, and the processor's.
            select.poll().poll(self.dice.randint(500, 4000))
        raise TimeoutError(f"{self.orders.agent} ran out of time with {len(self.report.tokens)} claims granted")

    def intrude(self, path: str) -> None:
        """Try to commit a change of a file that another agent holds: pre-commit refuses it, and it is taken back."""
        line = f"{self.orders.agent} intrusion {self.report.refusals}"
        before = self.repo.refs(*PICTURE)
        if self.orders.shares_clone and self.repo.coord("check", "--local", path).code != EXIT_CONFLICT:
            return  # released since: another worktree of this clone has fetched that, or done it
        self.append(path, line)
        self.repo.git("add", "--", path)
        done = self.repo.run("git", "commit", "-q", "-m", line)
        if done.code == 0 and self.orders.shares_clone and self.repo.refs(*PICTURE) != before:
            # The same, after the look: the commit was right to pass.
            self.repo.git("reset", "-q", "--hard", "HEAD^")
            return
        if done.code != 1 or "git coord: commit refused" not in done.err or path not in done.err:
            raise Failed(["git", "commit", path], done)
        self.report.refused[line] = path
        self.repo.git("reset", "-q", "--hard")

    def edit(self, line: str, claimed: tuple[int, list[str]]) -> None:
        """Append the line to one of the claimed files, get the commit to the hub, and give the claim back."""
        token, files = claimed
        self.pull()
        self.append(files[0], line)
        self.repo.git("commit", "-q", "-m", line, "--", files[0])
        self.push()
        self.report.granted[line] = files[0]
        self.expect(0, "git", "coord", "release", f"#{token}", "--reason", "pushed")

    def append(self, path: str, line: str) -> None:
        with (self.repo.path / path).open("a") as file:
            file.write(f"{line}\n")

    def pull(self) -> None:
        """Rebase onto the hub; worktrees of one clone may collide on its remote-tracking ref: tried again."""
        for _ in range(PUSHES):
            done = self.repo.run("git", "pull", "-q", "--rebase", "origin", "main")
            if done.code == 0:
                return
            if self.repo.git("status", "--porcelain", "--untracked-files=no"):
                break  # a conflict in a file this agent holds: what claims are there to prevent
        raise Failed(["git", "pull", "--rebase"], done)

    def push(self) -> None:
        for _ in range(PUSHES):
            done = self.repo.run("git", "push", "-q", "origin", "HEAD:main")
            if done.code == 0:
                return
            if "git coord: " in done.err:
                break  # refused by our hook: the commit is under a claim of this very agent
            self.pull()
        raise Failed(["git", "push"], done)

    def expect(self, code: int, *command: str) -> Completed:
        done = self.repo.run(*command)
        if done.code != code:
            raise Failed(command, done)
        return done


if __name__ == "__main__":
    given = Orders(**json.loads(sys.argv[1]))
    Path(given.report).write_text(json.dumps(asdict(Worker(given).work())))
