"""Processes that wait for one another's paths: each is served in its turn, and what they saw is one order."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_coord.app.root import open_app
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.ledger import Granted
from git_coord.domain.statements import Base, Claim
from git_coord.service.context import Coord
from git_coord.service.ledger import open_ledger
from git_coord.service.operations import operation
from git_coord.service.place import submit
from tests.helpers import Repo, new_repo

from .checker import Op, is_linearizable
from .many import act, forked
from .stress import enlist

PROCESSES, TURNS = 5, 3
PATHS = ("a.txt", "b.txt")
PATIENCE = 120
"""Seconds after which a waiter that nobody serves fails the test."""


def opened(repo: Repo) -> Coord:
    """Return what a command has that was just started."""
    coord = open_app(str(repo.path), repo.env).coord
    open_ledger(coord)
    return coord


def wait_for(repo: Repo, path: str) -> Op:
    """Claim, and look again until the queue has served it."""
    coord, start = opened(repo), time.monotonic()
    until = coord.clock.now() + 3600
    fields = {"items": (Item(ItemKind.PATH, path, Intent.EDIT),), "purpose": "", "lease": "standard", "ttl": 7200}
    more = {"stamps": None, "base": Base(None, None, None), "not_after": None, "wait_until": until}
    done = submit(coord, lambda seq: operation(coord, Claim, seq, **fields, **more))
    claim = done.outcome.claim if isinstance(done.outcome, Granted) else None
    while claim is None and time.monotonic() < start + PATIENCE:
        os.sched_yield()
        claim = opened(repo).known.state.claims.get(done.sealed.op.nonce)
    assert claim is not None, done
    return Op(start, time.monotonic(), repo.env["GIT_COORD_AGENT"], "claim", path, "granted", int(claim.token))


def life(repo: Repo, number: int, log: Path) -> Callable[[], None]:
    """Return what one process does: wait for a path and give it back, the paths in turn."""

    def live() -> None:
        ops = []
        for turn in range(TURNS):
            path = PATHS[(number + turn) % len(PATHS)]
            ops += [wait_for(repo, path), act(repo, "release", path)]
        log.write_text(json.dumps(ops))

    return live


@pytest.mark.slow
def test_processes_that_wait_are_served_in_the_order_of_the_queue_and_see_one_order(
    tmp_path: Path, env: dict[str, str]
) -> None:
    repo = new_repo(tmp_path / "repo", env)
    agents = [enlist(repo, f"a{n}") for n in range(PROCESSES)]
    logs = [tmp_path / f"{n}.json" for n in range(PROCESSES)]
    codes = forked([life(agent, n, log) for n, (agent, log) in enumerate(zip(agents, logs, strict=True))])
    assert codes == [0] * PROCESSES
    history = [Op(*entry) for log in logs for entry in json.loads(log.read_text())]
    assert [op.result for op in history] == ["granted", "released"] * PROCESSES * TURNS
    assert is_linearizable(history)
    held = next(op for op in history if op.verb == "claim")
    assert not is_linearizable([*history, held._replace(agent="x", start=held.start, end=held.end)])
    assert served(repo) == queued(repo)
    assert queued(repo), "nobody had to wait"


def queued(repo: Repo) -> dict[str, list[str]]:
    """Return who waited for each path, in the order of the queue."""
    return _by_path(repo, r"^(\S+) waits for (\S+) ")


def served(repo: Repo) -> dict[str, list[str]]:
    """Return whom the queue served with each path, in the order of the ledger."""
    return _by_path(repo, r"; #\d+ (\S+) is granted (\S+) ")


def _by_path(repo: Repo, pattern: str) -> dict[str, list[str]]:
    log = repo.git("log", "--reverse", "--format=%B", "refs/coord/claims")
    found: dict[str, list[str]] = {}
    for agent, path in re.findall(pattern, log, re.MULTILINE):
        found.setdefault(path, []).append(agent)
    return found
