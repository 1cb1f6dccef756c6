"""Clients of the server, in memory and of the installed program: `async with connected(env) as client`."""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
from mcp.client.stdio import StdioServerParameters

from git_coord.cli.hosted import answer
from git_coord.mcp.server import build
from mcp import Client
from tests.helpers import Repo

T = TypeVar("T")
ERAS = ("legacy", "auto")
"""The handshake of the protocols up to 2025-11-25, and the client's own choice: that of 2026-07-28."""


@asynccontextmanager
async def connected(env: dict[str, str], era: str = "auto", **options: Any) -> AsyncIterator[Client]:
    """Yield a client of a server in this process; `options` are those of `build`, and of the client after `client_`."""
    ours = {name.removeprefix("client_"): options.pop(name) for name in list(options) if name.startswith("client_")}
    async with Client(build(answer, env, **options), mode=era, raise_exceptions=True, **ours) as client:
        yield client


@asynccontextmanager
async def spawned(repo: Repo, *options: str, era: str = "auto") -> AsyncIterator[Client]:
    """Yield a client of the installed program, started in the repository; `pid` of it is in the file `mcp.pid`."""
    script = f'echo $$ > "{pid_file(repo)}"; exec git-coord mcp "$@"'
    line = StdioServerParameters(command="sh", args=["-c", script, "sh", *options], env=repo.env, cwd=repo.path)
    async with Client(line, mode=era) as client:
        yield client


def pid_file(repo: Repo) -> str:
    """Return where `spawned` writes the number of the server's process."""
    return f"{repo.env['HOME']}/mcp-{repo.path.name}.pid"


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the object that a tool answers with; its text says the same."""
    done = await client.call_tool(tool, arguments)
    assert done.structured_content is not None, done
    assert json.loads(done.content[0].text) == done.structured_content  # type: ignore[union-attr]
    return done.structured_content


def run(story: Callable[[], Awaitable[T]], seconds: float = 60) -> T:
    """Run an asynchronous test, which must end in time."""

    async def bounded() -> T:
        with anyio.fail_after(seconds):
            return await story()

    return anyio.run(bounded)


class Server:
    """The installed program for a test that speaks the older protocol itself, line by line."""

    def __init__(self, repo: Repo, *options: str) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(["git-coord", "mcp", *options], cwd=repo.path, env=repo.env, **pipes)
        self._count = 1

    def say(self, line: bytes) -> None:
        """Send a line, or several."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def hear(self, number: int) -> dict[str, Any]:
        """Return the result with this number; every line before it is a message too."""
        assert self.process.stdout is not None
        while True:
            assert select.select([self.process.stdout], [], [], 60)[0], "no answer in a minute"
            said: dict[str, Any] = json.loads(self.process.stdout.readline())
            assert said["jsonrpc"] == "2.0"
            if said.get("id") == number:
                return dict(said["result"])

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the object that a tool answers with."""
        if self._count == 1:
            self.say(greeting())
        self._count += 1
        self.say(message("tools/call", {"name": tool, "arguments": arguments}, self._count))
        return dict(self.hear(self._count)["structuredContent"])

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its input, as a client that leaves; return its status and what it said after that."""
        out, err = self.process.communicate(b"", 60)
        return self.process.returncode, out, err


def greeting() -> bytes:
    """Return the first two messages of a client of the older protocol."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return message("initialize", client, 1) + message("notifications/initialized")


def message(method: str, params: dict[str, Any] | None = None, number: int | None = None) -> bytes:
    """Return one message as a line."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    return json.dumps(body | ({"id": number} if number is not None else {})).encode() + b"\n"
