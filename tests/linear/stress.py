"""Agents that run `git-coord` processes side by side and write down what each answered, and when."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from git_coord.app.root import open_app
from git_coord.app.setup import set_up
from tests.helpers import Repo
from tests.helpers.repo import Completed

from .checker import FREE, Op

PATHS = ("a.txt", "src/b.txt", "c.txt")
LOCAL_VERBS = ("claim", "claim", "claim", "release", "read")
HUB_VERBS = ("claim", "claim", "claim", "release")
"""A read through a hub may be as old as it says it is, so it is no part of the order."""
LOST, CONFLICT, UNKNOWN = 4, 3, 5


def enlist(repo: Repo, agent: str) -> Repo:
    """Let an agent join in this checkout; return the checkout as that agent sees it."""
    mine = repo.with_env(GIT_COORD_AGENT=agent, GIT_COORD_SESSION=f"{agent}-session")
    set_up(open_app(str(mine.path), mine.env), agent, None)
    return mine


def at_once(jobs: Sequence[Callable[[], object]]) -> None:
    """Run the jobs from one barrier, each in a thread; raise what the first of them raised."""
    barrier = threading.Barrier(len(jobs))
    failed: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        barrier.wait()
        try:
            job()
        except BaseException as trouble:
            failed.append(trouble)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


class Recorder:
    """A history that many threads write."""

    def __init__(self) -> None:
        self.ops: list[Op] = []

    def act(self, repo: Repo, verb: str, path: str) -> str:
        """Run one command, note what its caller saw, and return the result."""
        command = {"claim": "claim", "release": "release", "read": "check"}[verb]
        start = time.monotonic()
        done = repo.run("git-coord", command, path, "--json", timeout=120)
        end = time.monotonic()
        agent = repo.env["GIT_COORD_AGENT"]
        result, argument = seen(verb, done, agent)
        self.ops.append(Op(start, end, agent, verb, path, result, argument))
        return result

    def worker(self, repo: Repo, seed: int, count: int, verbs: Sequence[str]) -> Callable[[], None]:
        """Return an agent's whole life, by a seed of its own: what it was granted it mostly gives back next."""

        def live() -> None:
            rng, mine = random.Random(seed), ""
            for _ in range(count):
                verb, path = (
                    ("release", mine) if mine and rng.random() < 0.8 else (rng.choice(verbs), rng.choice(PATHS))
                )
                result = self.act(repo, verb, path)
                mine = path if result == "granted" else "" if path == mine else mine

        return live


def seen(verb: str, done: Completed, agent: str) -> tuple[str, str | int]:
    """Return result and argument of a command as the checker knows them."""
    answer: dict[str, Any] = json.loads(done.out)
    if done.code == UNKNOWN or (done.code == 0 and answer.get("confirmed") is False):
        return "unknown", FREE
    if verb == "claim":
        assert done.code in (0, CONFLICT), done
        return ("granted", answer["token"]) if done.code == 0 else ("refused", answer["holder"])
    if verb == "release":
        assert done.code in (0, LOST), done
        return ("released" if done.code == 0 else "not held"), FREE
    (row,) = answer["resources"]
    assert done.code in (0, CONFLICT), done
    return "held", (agent if row["status"] == "mine" else row.get("holder") or FREE)
