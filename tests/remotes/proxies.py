"""Servers that go wrong: silent, talking nonsense, hanging up, and a proxy that dies in the middle of a push."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.helpers import PATIENCE

LOCAL = ("127.0.0.1", 0)
CHUNK = 1 << 16


@contextlib.contextmanager
def odd_server(says: bytes, *, hangs_up: bool) -> Iterator[str]:
    """Listen, say these bytes to whoever connects, and hang up or stay silent; yields a URL."""
    held: list[socket.socket] = []

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener was closed: the test is over
            while True:
                client, _ = server.accept()
                client.sendall(says)
                held.append(client)
                if hangs_up:
                    client.close()

    with socket.create_server(LOCAL) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield f"git://127.0.0.1:{server.getsockname()[1]}/hub.git"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        for client in held:
            client.close()


@dataclass
class Cut:
    """Where a push dies: after so many bytes from the client, or (None) with all of it sent and the answer lost."""

    after: int | None
    times: int = 1
    """How many pushes die; those after them pass."""
    died: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """Tell whether this push is to die, and count it."""
        with self._lock:
            is_mine = self.died < self.times
            self.died += is_mine
            return is_mine


@contextlib.contextmanager
def cutting_proxy(url: str, cut: Cut) -> Iterator[str]:
    """Stand between git and a `git daemon`; yields the URL to use instead."""
    place = urlsplit(url)
    assert place.hostname is not None

    def serve(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=_carry, args=(client, (place.hostname, place.port), cut), daemon=True).start()

    with socket.create_server(LOCAL) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield f"git://127.0.0.1:{server.getsockname()[1]}{place.path}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _carry(client: socket.socket, target: tuple[str | None, int | None], cut: Cut) -> None:
    """Carry one connection; what it asks for is its first line."""
    with client, socket.create_connection(target) as server, contextlib.suppress(OSError):  # type: ignore[arg-type]
        client.settimeout(PATIENCE)
        server.settimeout(PATIENCE)
        size = client.recv(4, socket.MSG_WAITALL)
        first = size + client.recv(int(size, 16) - 4, socket.MSG_WAITALL)
        server.sendall(first)
        is_doomed = b"git-receive-pack" in first and cut.take()
        sent_all = threading.Event()
        loses_answer = sent_all if is_doomed and cut.after is None else None
        back = threading.Thread(target=_pump_back, args=(server, client, loses_answer), daemon=True)
        back.start()
        left = cut.after if is_doomed and cut.after is not None else None
        _pump(client, server, left, sent_all)
        if left is None:
            back.join(PATIENCE)


def _pump(client: socket.socket, server: socket.socket, left: int | None, began: threading.Event) -> None:
    """Carry what the client sends, at most `left` bytes; `began` is set before the first of it arrives."""
    while data := client.recv(CHUNK):
        began.set()
        if left is not None and len(data) > left:
            server.sendall(data[:left])
            client.shutdown(socket.SHUT_RDWR)
            server.shutdown(socket.SHUT_RDWR)
            return
        left = None if left is None else left - len(data)
        server.sendall(data)
    server.shutdown(socket.SHUT_WR)


def _pump_back(server: socket.socket, client: socket.socket, deaf: threading.Event | None) -> None:
    """Carry what the server says; nothing from when `deaf` is set, and then hang up at the server's end."""
    with contextlib.suppress(OSError):
        while data := server.recv(CHUNK):
            if deaf is None or not deaf.is_set():
                client.sendall(data)
        client.shutdown(socket.SHUT_RDWR)
