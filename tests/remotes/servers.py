"""Servers on loopback in front of a bare repository: git's own daemon, smart HTTP, dulwich, and gitolite."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import ClassVar

from dulwich.repo import Repo as DulwichRepo
from dulwich.server import DictBackend, TCPGitServer

from tests.helpers import PATIENCE, Repo, run

START_SECONDS = PATIENCE
PORTS_TRIED = 5


def free_port() -> int:
    """Return a port nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextlib.contextmanager
def git_daemon(folder: Path, env: Mapping[str, str], *options: str) -> Iterator[str]:
    """Serve a folder by `git daemon`; yields the URL that repository names are put after."""
    daemon = next(one for one in (_Daemon(folder, env, options) for _ in range(PORTS_TRIED)) if one.is_listening)
    try:
        yield f"git://127.0.0.1:{daemon.port}"
    finally:
        daemon.stop()


class _Daemon:
    """One `git daemon`; not listening when somebody else was quicker to take the port."""

    def __init__(self, folder: Path, env: Mapping[str, str], options: Sequence[str]) -> None:
        self.port = free_port()
        where = [f"--base-path={folder}", "--listen=127.0.0.1", f"--port={self.port}", "--reuseaddr"]
        command = ["git", "daemon", "--export-all", *where, "--verbose", "--log-destination=stderr", *options]
        self._process = subprocess.Popen(
            command, env=dict(env), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.is_listening = False
        self._settled = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._settled.wait(START_SECONDS)
        if not self.is_listening:
            self.stop()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "Ready to rumble" in line:
                self.is_listening = True
                self._settled.set()
        self._settled.set()  # it ended

    def stop(self) -> None:
        """End it with all it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._reader.join(10)
        assert self._process.stderr is not None
        self._process.stderr.close()


class _GitOverHttp(BaseHTTPRequestHandler):
    """`git http-backend` as a CGI program; with `password`, only for those who have it."""

    protocol_version = "HTTP/1.1"
    root: ClassVar[Path]
    env: ClassVar[Mapping[str, str]]
    password: ClassVar[str | None] = None
    answers: ClassVar[list[int]]

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *args: object) -> None:
        """Stay quiet."""

    def _serve(self) -> None:
        body = self._body()
        if self.password is not None and not self._is_allowed():
            self._answer(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
            return
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=self._cgi(len(body)), capture_output=True, check=False
        )
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self._answer(int(fields.pop("Status", "200").split()[0]), fields, answer)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _is_allowed(self) -> bool:
        wanted = base64.b64encode(f"git:{self.password}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {wanted}"

    def _cgi(self, length: int) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in self.headers.items()}
        user = {"REMOTE_USER": "git"} if self.password is not None else {}
        return {
            **self.env,
            **headers,
            **user,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "REMOTE_ADDR": "127.0.0.1",
        }

    def _answer(self, status: int, fields: Mapping[str, str], body: bytes) -> None:
        self.answers.append(status)
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def git_over_http(folder: Path, env: Mapping[str, str], password: str | None = None) -> Iterator[tuple[str, list[int]]]:
    """Serve a folder by smart HTTP; yields the URL and the statuses it answers with."""
    answers: list[int] = []
    fields = {"root": folder, "env": dict(env), "password": password, "answers": answers}
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_GitOverHttp,), fields)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", answers
        finally:
            server.shutdown()
            thread.join(10)


class _Dulwich(ThreadingMixIn, TCPGitServer):
    """A connection that lingers must not keep the next one waiting."""

    daemon_threads = True


@contextlib.contextmanager
def dulwich_daemon(hub: Path) -> Iterator[str]:
    """Serve one repository by dulwich, which shares no code with git; yields its URL."""
    with DulwichRepo(str(hub)) as served, _Dulwich(DictBackend({b"/hub.git": served}), "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"git://127.0.0.1:{server.server_address[1]}/hub.git"
        finally:
            server.shutdown()
            thread.join(10)


GITOLITE_SHELL = "/usr/share/gitolite3/gitolite-shell"
"""Where Debian has it; upstream's own installation puts it on PATH."""


def gitolite_shell() -> str | None:
    """Return gitolite's program for connections, None where gitolite is not installed."""
    if shutil.which("gitolite") is None:
        return None
    return shutil.which("gitolite-shell") or shutil.which(GITOLITE_SHELL)


class Gitolite:
    """A gitolite in a home of its own, reached by a stand-in for ssh: its access rules are what is wanted here."""

    def __init__(self, home: Path, env: Mapping[str, str], shell: str) -> None:
        """Set it up with one empty repository `hub`."""
        self.home, self.shell = home, shell
        (home / "template/hooks").mkdir(parents=True)  # where it puts its own
        own = {"HOME": home, "GIT_CONFIG_GLOBAL": home / ".gitconfig", "GIT_TEMPLATE_DIR": home / "template"}
        self.env = dict(env) | {name: str(path) for name, path in own.items()} | {"USER": "git"}
        self._gitolite("setup", "-a", "admin")

    def rules(self, *lines: str) -> None:
        """Replace the access rules of the repository."""
        rows = "".join(f"    {line}\n" for line in lines)
        (self.home / ".gitolite/conf/gitolite.conf").write_text(f"repo hub\n{rows}")
        self._gitolite("compile")
        self._gitolite("trigger", "POST_COMPILE")

    @property
    def hub(self) -> Repo:
        """The repository as it lies on the server's disk."""
        return Repo(self.home / "repositories/hub.git", self.env)

    def reached_by(self, user: str) -> dict[str, str]:
        """Return the environment in which git reaches it as this user."""
        script = self.home / f"ssh-as-{user}"
        lines = [
            "#!/bin/sh",
            "for word; do :; done",
            'export SSH_ORIGINAL_COMMAND="$word" SSH_CONNECTION="127.0.0.1 1 127.0.0.1 2" USER=git',
            f"export HOME='{self.home}' GIT_CONFIG_GLOBAL='{self.home}/.gitconfig'",
            f"exec '{self.shell}' {user}",
        ]
        script.write_text("\n".join([*lines, ""]))
        script.chmod(0o755)
        return {"GIT_SSH": str(script), "GIT_SSH_VARIANT": "simple"}

    def _gitolite(self, *args: str) -> None:
        done = run(["gitolite", *args], cwd=self.home, env=self.env)
        assert done.code == 0, done
