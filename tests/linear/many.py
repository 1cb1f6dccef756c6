"""Many processes of one machine that claim and give back at once, without the start of a program for each."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from git_coord.app.root import open_app
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base
from git_coord.errors import CoordError, Kind
from git_coord.service import claims
from git_coord.service.claims import ClaimGranted, Wanted
from git_coord.service.ledger import open_ledger
from git_coord.service.selection import by_item
from tests.helpers import Repo

from .checker import FREE, Op
from .stress import enlist

PROCESSES_A_PATH = 2.7


class Done(NamedTuple):
    """What came of it: exit codes, what each saw, granted tokens that the ledger lacks, commits, seconds."""

    codes: list[int]
    history: list[Op]
    missing: set[str | int]
    commits: int
    took: float


def run_crew(repo: Repo, folder: Path, processes: int, turns: int) -> Done:
    """Let each process claim and give back so many times in one repository; `folder` is for what they write."""
    agents = [enlist(repo, f"a{n}") for n in range(processes)]
    paths = [f"f{n}" for n in range(round(processes / PROCESSES_A_PATH))]
    logs = [folder / f"stress-{n}.json" for n in range(processes)]
    lives = [life(agent, n, paths, turns, log) for n, (agent, log) in enumerate(zip(agents, logs, strict=True))]
    begun = time.perf_counter()
    codes = forked(lives)
    took = time.perf_counter() - begun
    history = [Op(*entry) for log in logs if log.exists() for entry in json.loads(log.read_text())]
    written = repo.git("log", "--format=%B", "refs/coord/claims").splitlines()
    tokens = {int(line[1:].split(" ")[0]) for line in written if line.startswith("#")}
    missing = {op.argument for op in history if op.result == "granted"} - tokens
    commits = len(repo.git("rev-list", "refs/coord/claims").splitlines())
    return Done(codes, history, missing, commits, took)


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


def life(repo: Repo, seed: int, paths: list[str], turns: int, log: Path) -> Callable[[], None]:
    """Return what one process does: claim and give back."""

    def live() -> None:
        rng, ops = random.Random(seed), []
        for _ in range(turns):
            path = rng.choice(paths)
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
