"""Starts the agents, does to them what the plan says, and waits for who is left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from threading import Thread

from tests.helpers.source import ROOT
from tests.simulation.journal import Journal, pause
from tests.simulation.plan import Mishap, Plan
from tests.simulation.stage import Stage
from tests.simulation.worker import OVER, Orders

DESCRIBED = 'cd "$1" && exec "$2" -m tests.simulation.worker "$3"'
"""How an agent is started from its clone: the tests are found from their own folder."""
FINISHING = 40
"""Leases after the end in which what was begun may be finished, at most; a quiet machine needs few."""


class Director:
    """One run; `journal` says what was done to whom, and when."""

    def __init__(self, stage: Stage, plan: Plan, *, with_claims: bool) -> None:
        self.stage, self.plan, self.with_claims = stage, plan, with_claims
        self.journal = Journal(stage.folder, "director")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._finishing = FINISHING * plan.ttl

    def direct(self) -> None:
        """Let it all happen; what is left of dead agents in the end is taken over by who never had trouble."""
        self.journal.note("begins")
        begun = time.monotonic()
        with ExitStack() as stack:
            stack.callback(self._end_all)
            for agent in self.plan.agents:
                self._start(agent, begun + self.plan.seconds)
            threads = [Thread(target=self._do, args=(one, begun + one.after)) for one in self.plan.mishaps]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (self.stage.folder / OVER).touch()
            for agent, process in self._processes.items():
                self.journal.note("status", agent=agent, code=process.wait(self.plan.seconds + 2 * self._finishing))
            self.journal.note("ends")
            if self.with_claims:
                self._start(self.plan.agents[0], 0)
                self._processes[self.plan.agents[0]].wait(2 * self._finishing)

    def _start(self, agent: str, until: float) -> None:
        clone, ttl = self.stage.clones[agent], self.plan.ttl
        end = max(until, time.monotonic()) + self._finishing
        places = str(clone.path), str(self.stage.folder)
        orders = Orders(agent, *places, until, end, ttl, self.with_claims, is_last=not until)
        command = ["sh", "-c", DESCRIBED, "sh", str(ROOT), sys.executable, json.dumps(asdict(orders))]
        if self.with_claims:
            own = ["--claim", f"task:shift/{agent}", "--ttl", f"{ttl}s", "--on-lost", "warn", "-m", "a shift"]
            command = ["git", "coord", "run", *own, "--", *command]
        with (self.stage.folder / f"{agent}.log").open("ab") as log:
            self._processes[agent] = subprocess.Popen(
                command, cwd=clone.path, env=clone.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    # what happens to them

    def _do(self, mishap: Mishap, moment: float) -> None:
        pause(moment - time.monotonic())
        if not self._has_at_mercy(mishap):
            self._mercy(mishap.agent).unlink()
            self.journal.note("missed", agent=mishap.agent)
            return
        pids = _family(self._processes[mishap.agent].pid)
        match mishap.kind:
            case "killed":
                _signal(pids, signal.SIGKILL)
                self.journal.note("killed", agent=mishap.agent)
            case "stopped":
                _signal(pids, signal.SIGSTOP)
                self._away(mishap)
                _signal(pids, signal.SIGCONT)
                self.journal.note("back", agent=mishap.agent)
            case _:
                self._point(mishap.agent, str(self.stage.folder / "nowhere.git"))
                self._away(mishap)
                self._point(mishap.agent, self.stage.hub.path.as_uri())
                self.journal.note("back", agent=mishap.agent)

    def _mercy(self, agent: str) -> Path:
        return self.stage.folder / f"{agent}.mercy"

    def _has_at_mercy(self, mishap: Mishap) -> bool:
        """Have the agent stand still in the middle of a step; False if that never came."""
        self._mercy(mishap.agent).write_text(mishap.step)
        agent = Journal(self.stage.folder, mishap.agent)
        while not agent.entries("at mercy"):
            if self._processes[mishap.agent].poll() is not None:
                return False
            pause(0.05)
        return True

    def _away(self, mishap: Mishap) -> None:
        """Wait; who holds claims is away until others took them, which they do in time, and go on until then."""
        before = self._times_taken(mishap.agent)
        self._mercy(mishap.agent).unlink()
        self.journal.note(mishap.kind, agent=mishap.agent)
        pause(mishap.away)
        latest = time.monotonic() + self._finishing
        while self.with_claims and time.monotonic() < latest and self._times_taken(mishap.agent) == before:
            pause(0.5)

    def _times_taken(self, agent: str) -> int:
        if not self.with_claims:
            return 0
        log = self.stage.hub.git("log", "--format=%B", "refs/coord/claims")
        return len(re.findall(rf"takes over lib/.*: .*{agent} #", log))

    def _point(self, agent: str, url: str) -> None:
        """Let the agent's remote be elsewhere; `git config` does not wait for a lock that the agent has."""
        for _ in range(50):
            if self.stage.clones[agent].run("git", "config", "remote.origin.url", url).code == 0:
                return
            pause(0.1)
        raise TimeoutError(f"the configuration of {agent} is locked")

    def _end_all(self) -> None:
        for process in self._processes.values():
            _signal(_family(process.pid) if process.poll() is None else [], signal.SIGKILL)
            process.wait()


def _family(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not, which are there now."""
    rows = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, row.split())) for row in rows.splitlines()]
    found = [pid]
    for parent in found:
        found += [child for child, of in pairs if of == parent]
    return found


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
