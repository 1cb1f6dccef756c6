"""One client's connection: its calls in worker threads, and for whom it acts where, until it ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

import anyio
import anyio.from_thread
import anyio.to_thread

from git_coord.app import App
from git_coord.app.leaving import Leaving
from git_coord.domain.ids import Agent, Nonce
from git_coord.service.leases import afterwards

from .workspaces import Workspaces

MAX_CALLS = 64
"""Calls at work at once; more wait. One that waits for a claim holds a thread."""

STILL_SECONDS = 10.0
"""How often a client is told that its call is at work still: many give up on one that is silent for a minute."""


class Asking(Protocol):
    """Asks a command of the command line: its words, and for whom."""

    def __call__(self, words: Sequence[str], host: Call) -> dict[str, Any]:
        """Return the object that it answers with; expected trouble is such an object too."""


@dataclass(frozen=True, slots=True)
class Used:
    """An agent that acts through this connection, and a folder of its worktree."""

    folder: str
    common: str
    """Our folder in the common git directory."""
    agent: Agent
    asked_as: str | None
    """The agent's name as the call gave it, None when configuration says it."""


class Call:
    """One call, as the command behind it sees it."""

    def __init__(self, connection: Connection, folder: str, hear: Callable[[str], None]) -> None:
        """Take where it works, and who hears of its progress."""
        self._connection = connection
        self._folder = folder
        self._hear = hear
        self._apps: list[tuple[str | None, App]] = []
        self._over = threading.Event()
        self._said, self._told = "", 0.0

    def open(self, agent: str | None, notice: Callable[[str], None]) -> App:
        """Return the repository for a command; raises CoordError as `open_app` does."""
        app = self._connection.workspaces.take(self._folder, agent, notice)
        app.coord.run = app.coord.run or self._connection.run
        self._apps.append((agent, app))
        return app

    def after(self, app: App) -> None:
        """Say what the command has not settled; what is to be pushed then is the background's work."""
        if app.coord.identity is not None and app.config.get("coord.repo") is not None:
            asked_as = next(name for name, opened in self._apps if opened is app)
            folder, agent = app.location.top or self._folder, app.coord.identity.agent
            self._connection.note(Used(folder, app.coord.files.common, agent, asked_as))
            afterwards(app.coord)

    def said(self, text: str) -> None:
        """Pass on what the command says while it works."""
        self._said, self._told = text, monotonic()
        self._hear(text)

    def is_over(self) -> bool:
        """Tell whether the client has given up, or is gone; a command that asks for long is at work still."""
        if self._said and monotonic() - self._told >= STILL_SECONDS:
            self.said(self._said)
        return self._over.is_set()

    def end(self) -> None:
        """Let the command see that it is to end."""
        self._over.set()

    def close(self) -> None:
        """Give back what was opened."""
        for name, app in self._apps:
            self._connection.workspaces.give(self._folder, name, app)


class Connection:
    """What one client does here. Repositories are kept opened between its calls, but chosen anew for each."""

    def __init__(
        self, asking: Asking, env: Mapping[str, str], *, agent: str | None, on_disconnect: Leaving | None, run: Nonce
    ) -> None:
        """Begin; `run` names everything that is claimed through this connection."""
        self.workspaces = Workspaces(env)
        self.run = run
        self.on_disconnect = on_disconnect
        self.used: dict[tuple[str, Agent], Used] = {}
        self.session: Any = None
        """The session of a client of the older protocol, which is told of changes one by one."""
        self.here = os.getcwd()
        self._asking = asking
        self.agent = agent
        self._calls: set[Call] = set()
        self._limiter = anyio.CapacityLimiter(MAX_CALLS)
        self.changed = anyio.Event()

    def note(self, used: Used) -> None:
        """Remember whom a call acted for."""
        self.used[used.common, used.agent] = used

    async def ask(
        self, words: Sequence[str], folder: str, hear: Callable[[str], None] = lambda _text: None
    ) -> dict[str, Any]:
        """Return what a command answers in a folder. When the caller is cancelled, the command still ends in order.

        A claim that waits places its cancel before this ends.
        """
        call = Call(self, folder, hear)
        self._calls.add(call)
        try:
            return await self._in_thread(words, call)
        finally:
            self._calls.discard(call)
            self.changed.set()

    async def _in_thread(self, words: Sequence[str], call: Call) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        async with anyio.create_task_group() as group:
            group.start_soon(_end_when_cancelled, call)
            with anyio.CancelScope(shield=True):
                found.append(await anyio.to_thread.run_sync(self._work, words, call, limiter=self._limiter))
            group.cancel_scope.cancel()
        return found[0]

    def _work(self, words: Sequence[str], call: Call) -> dict[str, Any]:
        try:
            return self._asking(words, call)
        finally:
            call.close()

    def end_calls(self) -> None:
        """Let every command at work see that it is to end."""
        for call in list(self._calls):
            call.end()

    @property
    def is_idle(self) -> bool:
        """Whether no command is at work."""
        return not self._calls


async def _end_when_cancelled(call: Call) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        call.end()


def teller(report: Callable[[float, float | None, str], Any]) -> Callable[[str], None]:
    """Return what lets a command in a thread report progress to the client that asked for it."""
    count = 0

    def tell(text: str) -> None:
        nonlocal count
        count += 1
        # Who is not connected any more needs no report.
        with suppress(RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError, CancelledError):
            anyio.from_thread.run(report, float(count), None, text)

    return tell
