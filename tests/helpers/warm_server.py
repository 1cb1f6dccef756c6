"""The process behind `warm.py`: it has imported the program, and each command is a fork of it.

A command gets what a fresh interpreter would have: its own session, streams, environment, folder and arguments. What it
lacks is the start of Python and the imports, three quarters of what a command costs.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module

LONGEST = 1 << 20
"""Bytes of one request: above what an environment and a command line may take together in a test."""
SEPARATE = ("git_coord.mcp", "git_coord.__main__")
"""What commands do not import, or what is not imported but run."""


def main(listening: socket.socket) -> None:
    """Fork for each request until the tests hang up."""
    for module in pkgutil.walk_packages(import_module("git_coord").__path__, "git_coord."):
        if not module.name.startswith(SEPARATE) and not module.name.endswith("__main__"):
            import_module(module.name)
    assert "pygit2" not in sys.modules  # it remembers HOME when it is loaded
    gc.collect()
    gc.freeze()
    while True:
        data, fds, _, _ = socket.recv_fds(listening, LONGEST, 4)
        if not data:
            return
        if os.fork() == 0:
            listening.close()
            _keep(json.loads(data), fds)
        for fd in fds:
            os.close(fd)
        _reap()


def _reap() -> None:
    """Let go of the keepers that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(request: dict[str, object], fds: list[int]) -> None:
    """Fork the command, say its process id, wait for its end, say that."""
    *streams, note = fds
    pid = os.fork()
    if pid == 0:
        os.close(note)
        _become(request, streams)
    for fd in streams:
        os.close(fd)
    os.write(note, b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    os.write(note, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, object], streams: list[int]) -> None:
    """Be the command; never returns."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    time.tzset()
    os.chdir(str(request["cwd"]))
    sys.argv = ["git-coord", *request["args"]]  # type: ignore[misc]
    import_module("git_coord.__main__").main()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
