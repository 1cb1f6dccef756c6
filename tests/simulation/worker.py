"""One agent, a process of its own: edits, commits and pushes until its time is over; run with an `Orders` as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import Completed, Repo
from tests.simulation.journal import Journal, pause
from tests.simulation.tree import Edit, edit_of, edited

OVER = "mishaps.over"
"""A file of the run's folder: whatever was to happen to anybody has happened."""
TRIES = 40
"""Lost races for the branch in a row, each of which means that another agent got through."""


@dataclass(frozen=True)
class Orders:
    """What an agent is told: who and where it is, until when it begins edits, and until when it may finish.

    Both ends are seconds of the monotonic clock, which all processes of a machine share; `ttl` is in seconds.
    `is_last` says that whoever else holds something is dead.
    """

    agent: str
    clone: str
    folder: str
    until: float
    end: float
    ttl: int
    with_claims: bool
    is_last: bool = False


class Worker(ABC):
    """What agents do with and without claims."""

    def __init__(self, orders: Orders) -> None:
        self.agent = orders.agent
        self.orders = orders
        self.repo = Repo(Path(orders.clone), dict(os.environ))
        self.journal = Journal(Path(orders.folder), orders.agent)
        self._pushed_at = 0.0
        self._mercy = Path(orders.folder) / f"{orders.agent}.mercy"

    def work(self) -> None:
        """Do one edit after the other; one that was begun is finished even when the time is over.

        However slow the machine is, nobody stops before everything has happened to everybody: who else would take over?
        """
        number = 0
        while time.monotonic() < self.orders.until or self._is_awaited():
            edit = edit_of(self.agent, number)
            self.journal.note("begun", mark=edit.mark)
            while not self.attempt(edit) and time.monotonic() < self.orders.end:
                pass
            number += 1
        self.tidy(at_the_end=True)
        self.journal.note("ended")

    def _is_awaited(self) -> bool:
        return time.monotonic() < self.orders.end and not (Path(self.orders.folder) / OVER).exists()

    @abstractmethod
    def attempt(self, edit: Edit) -> bool:
        """Get an edit to the hub; False when what was done for it had to be thrown away, or could not be begun."""

    @abstractmethod
    def tidy(self, *, at_the_end: bool = False) -> None:
        """Look after what others left."""

    # the parts of an attempt

    def change(self, edit: Edit) -> None:
        """Think, and write."""
        pause(edit.thought * self.orders.ttl)
        for name in edit.files:
            file = self.repo.path / name
            file.write_text(edited(file.read_text(), self.agent, edit))
        self.at_mercy("uncommitted")

    def commit(self, edit: Edit) -> Completed:
        """Commit the edit."""
        done = self.repo.run("git", "commit", "-q", "-m", edit.mark, "--", *edit.files)
        if done.code == 0:
            self.journal.note("committed", mark=edit.mark)
            self.at_mercy("committed")
        return done

    def pull(self) -> str:
        """Rebase onto the hub: "done", "conflict" (and nothing is changed), or "silent" when the hub did not answer."""
        done = self.repo.run("git", "pull", "-q", "--rebase", "origin", "main")
        if done.code == 0:
            return "done"
        if not any((self.repo.path / ".git" / name).exists() for name in ("rebase-merge", "rebase-apply")):
            pause(0.5)
            return "silent"
        self.repo.git("rebase", "--abort")
        return "conflict"

    def push(self) -> Completed:
        self._pushed_at = time.time()
        done = self.repo.run("git", "push", "-q", "origin", "HEAD:main")
        if done.code != 0:
            self.journal.note("ran", args=["push"], code=done.code, took=0, out="", err=done.err)
        return done

    def landed(self, edit: Edit) -> bool:
        self.journal.note("landed", mark=edit.mark, files=edit.files, pushed=self._pushed_at)
        return True

    def throw_away(self, edit: Edit, why: str) -> bool:
        """Go back to what the hub had when last asked."""
        count = len(self.repo.git("rev-list", "origin/main..HEAD").split())
        self.repo.git("reset", "-q", "--hard", "origin/main")
        self.journal.note("thrown away", mark=edit.mark, why=why, commits=count)
        return False

    def at_mercy(self, step: str) -> None:
        """Stand still at this step if somebody wants to do something to us here, until that is done."""
        if self._wanted() != step:
            return
        self.journal.note("at mercy", step=step)
        while self._wanted() == step:
            pause(0.05)

    def _wanted(self) -> str:
        try:
            return self._mercy.read_text()
        except FileNotFoundError:
            return ""  # nobody means us harm


if __name__ == "__main__":
    from tests.simulation.bare import Bare
    from tests.simulation.guided import Guided

    given = Orders(**json.loads(sys.argv[1]))
    (Guided if given.with_claims else Bare)(given).work()
