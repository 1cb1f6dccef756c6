"""Many processes on one repository: every claim is in the ledger, and some order explains every answer."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from git_coord.app.root import open_app
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base
from git_coord.errors import CoordError, Kind
from git_coord.service import claims
from git_coord.service.claims import ClaimGranted, Wanted
from git_coord.service.ledger import open_ledger
from git_coord.service.selection import by_item
from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.helpers import Repo
from tests.linear.checker import FREE, Op, is_linearizable
from tests.linear.stress import enlist

PROCESSES, TURNS = 128, 1
PATHS = tuple(f"f{n}" for n in range(48))


def act(repo: Repo, verb: str, path: str) -> Op:
    """Run one command's worth of work in this process: everything is opened anew, as a command does."""
    agent = repo.env["GIT_COORD_AGENT"]
    start = time.monotonic()
    result, argument = _claim(repo, path) if verb == "claim" else _release(repo, path)
    return Op(start, time.monotonic(), agent, verb, path, result, argument)


def _claim(repo: Repo, path: str) -> tuple[str, str | int]:
    coord = open_app(str(repo.path), repo.env).coord
    open_ledger(coord)
    item = Item(ItemKind.PATH, path, Intent.EDIT)
    done = claims.claim(coord, Wanted((item,), "", "standard", 7200, None, Base(None, None, None)))
    return (
        ("granted", done.claim.token) if isinstance(done, ClaimGranted) else ("refused", done.conflicts[0].claim.holder)
    )


def _release(repo: Repo, path: str) -> tuple[str, str]:
    coord = open_app(str(repo.path), repo.env).coord
    open_ledger(coord)
    try:
        claims.release(coord, by_item(coord.known.state, coord.me.agent, [Item(ItemKind.PATH, path, Intent.EDIT)]), "")
    except CoordError as trouble:
        if trouble.kind is not Kind.LOST:
            raise
        return "not held", FREE
    return "released", FREE


def life(repo: Repo, seed: int, log: Path) -> Callable[[], None]:
    """Return what one process does: claim and give back."""

    def live() -> None:
        rng, ops = random.Random(seed), []
        for _ in range(TURNS):
            path = rng.choice(PATHS)
            ops += [act(repo, "claim", path), act(repo, "release", path)]
        log.write_text(json.dumps(ops))

    return live


def forked(jobs: list[Callable[[], None]]) -> list[int]:
    """Run each job in a process of its own, all begun by one closing pipe; return their exit codes."""
    gate, gate_write = os.pipe()
    children = []
    for job in jobs:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(gate_write)
                os.read(gate, 1)
                job()
                code = 0
            except CoordError as trouble:
                sys.stderr.write(f"{trouble.message}\n")
            finally:
                os._exit(code)
        children.append(child)
    os.close(gate)
    os.close(gate_write)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


@row("stress: 128 processes", budget="none lost, linearizable", limit=0.0, unit="", reference="-")
def stress(lab: Lab) -> Measured:
    """Claim and release in each of 128 processes; count what the ledger does not have, or no order explains."""
    repo = lab.repo("stress")
    agents = [enlist(repo, f"a{n}") for n in range(PROCESSES)]
    logs = [lab.folder / f"stress-{n}.json" for n in range(PROCESSES)]
    begun = time.perf_counter()
    codes = forked([life(agent, n, log) for n, (agent, log) in enumerate(zip(agents, logs, strict=True))])
    took = time.perf_counter() - begun
    ops = [Op(*entry) for log in logs if log.exists() for entry in json.loads(log.read_text())]
    written = repo.git("log", "--format=%B", "refs/coord/claims").splitlines()
    tokens = {int(line[1:].split(" ")[0]) for line in written if line.startswith("#")}
    missing = {op.argument for op in ops if op.result == "granted"} - tokens
    commits = len(repo.git("log", "--format=%h", "refs/coord/claims").splitlines())
    wrong = len(missing) + sum(code != 0 for code in codes) + (not is_linearizable(ops))
    granted = sum(op.result == "granted" for op in ops)
    return Measured(wrong, f"{len(ops)} operations, {granted} granted, {commits} commits, {took:.1f} s")
