"""`git coord` without the start of an interpreter: the same process otherwise, forked where it is imported already.

Starting Python and importing cost three times what a command does, and the suite runs many thousands of commands. What
depends on how a command starts (PATH, Python's variables, failpoints) is run as users run it, and so is everything when
`GIT_COORD_TESTS_COLD` is set.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SERVER = Path(__file__).with_name("warm_server.py")
AT_START = ("PATH", "PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "OPENSSL_")
"""Prefixes of variables that are read once, when a process starts."""
TOO_SPECIAL = ("GIT_EXEC_PATH", "GIT_COORD_FAILPOINT")
IS_COLD = bool(os.environ.get("GIT_COORD_TESTS_COLD"))
"""Whether every command is to start as users start it; read before the environment is sealed."""
CHUNK = 1 << 16
LARGEST = 100_000
"""Bytes of a request that certainly fit into one message."""


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


class _Server:
    """The process that forks; ended by the closing of its socket, also when this process is killed."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.at_start = _at_start(env)
        self.exec_path = subprocess.run(
            ["git", "--exec-path"], env=env, stdout=subprocess.PIPE, check=True, text=True
        ).stdout.removesuffix("\n")
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # With pipes as streams, which Python buffers otherwise than a terminal.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(SERVER), str(theirs.fileno())],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def stop(self) -> None:
        """Hang up and wait for the end."""
        self.socket.close()
        self._process.communicate()


_servers: list[_Server] = []


@contextmanager
def serving(env: Mapping[str, str]) -> Iterator[None]:
    """Run commands quickly in this process, unless they have to be cold."""
    if IS_COLD:
        yield
        return
    server = _Server(env)
    _servers.append(server)
    yield
    _servers.remove(server)
    server.stop()


def can_run(args: Sequence[str], env: Mapping[str, str]) -> bool:
    """Return whether the outcome cannot depend on how the command starts."""
    # `git coord --help` never reaches the program.
    if not _servers or "--help" in args or any(name in env for name in TOO_SPECIAL):
        return False
    return _at_start(env) == _servers[-1].at_start and sum(map(len, (*args, *env, *env.values()))) < LARGEST


def run(
    args: Sequence[str], *, cwd: Path, env: Mapping[str, str], data: bytes | None, timeout: float
) -> tuple[int, bytes, bytes]:
    """Run `git coord ARGS`; on a timeout it and its children are killed and `TimeoutExpired` is raised."""
    server = _servers[-1]
    # As git does it for its subcommands.
    as_child = {**env, "GIT_EXEC_PATH": server.exec_path, "PATH": f"{server.exec_path}{os.pathsep}{env['PATH']}"}
    request = json.dumps({"args": args, "cwd": str(cwd), "env": as_child}).encode()
    with _Streams(data) as streams:
        socket.send_fds(server.socket, [request], streams.theirs)
        streams.sent()
        try:
            streams.talk(time.monotonic() + timeout)
        except TimeoutError:
            streams.kill()
            raise subprocess.TimeoutExpired(["git", "coord", *args], timeout) from None
        except BaseException:
            streams.kill()
            raise
    # Git makes of a signal what a shell does.
    return (streams.status if streams.status >= 0 else 128 - streams.status), streams.read["out"], streams.read["err"]


class _Streams:
    """The ends of four pipes: what a command is given, what it says twice, and its process id and status."""

    def __init__(self, data: bytes | None) -> None:
        self.read = {"out": b"", "err": b"", "note": b""}
        self._selector = selectors.DefaultSelector()
        self._rest = memoryview(data or b"")
        if data is None:
            stdin = os.open(os.devnull, os.O_RDONLY)
        else:
            stdin, ours = os.pipe()
            os.set_blocking(ours, False)
            self._selector.register(ours, selectors.EVENT_WRITE)
        self.theirs = [stdin]
        for name in self.read:
            ours, end = os.pipe()
            self._selector.register(ours, selectors.EVENT_READ, name)
            self.theirs.append(end)
        self._note = ours

    def __enter__(self) -> _Streams:
        return self

    def __exit__(self, *_: object) -> None:
        self.sent()
        for fd in list(self._selector.get_map()):
            self._end(int(fd))
        self._selector.close()

    @property
    def pid(self) -> int:
        """The command, which leads its own group."""
        return int(self.read["note"].split()[0])

    @property
    def status(self) -> int:
        """Its exit status, or the negative number of a signal."""
        return int(self.read["note"].split()[1])

    def sent(self) -> None:
        """Close what the command has now."""
        for fd in self.theirs:
            os.close(fd)
        self.theirs = []

    def kill(self) -> None:
        """End the command and what it has started."""
        while b"\n" not in self.read["note"]:
            data = os.read(self._note, CHUNK)
            assert data, "the process that forks commands is gone"
            self.read["note"] += data
        # First itself: it may not lead a group yet.
        for kill in (os.kill, os.killpg):
            with suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)

    def talk(self, end: float) -> None:
        """Write and read until everything is said; raises `TimeoutError` at the end."""
        while self._selector.get_map():
            ready = self._selector.select(max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                if key.data is None:
                    self._write(key.fd)
                else:
                    self._read(key.fd, key.data)

    def _write(self, fd: int) -> None:
        try:
            self._rest = self._rest[os.write(fd, self._rest[:CHUNK]) :]
        except BrokenPipeError:
            self._rest = memoryview(b"")
        if not self._rest:
            self._end(fd)

    def _read(self, fd: int, name: str) -> None:
        data = os.read(fd, CHUNK)
        self.read[name] += data
        if not data:
            self._end(fd)

    def _end(self, fd: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)
