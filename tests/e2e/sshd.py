"""A real sshd on loopback with its own keys, for the user who runs the tests, root or not."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers import PATIENCE, run

START_SECONDS = PATIENCE


def sshd_program() -> str | None:
    """Return where sshd is: it insists on being called by its absolute path, and is often not on a user's PATH."""
    return shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")


@dataclass
class Sshd:
    """One server on one port, to be stopped and started again; `env` is what the commands it runs see."""

    program: str
    folder: Path
    env: Mapping[str, str]
    port: int = 0
    said: list[str] = field(default_factory=list)
    _process: subprocess.Popen[str] | None = None

    def prepare(self) -> None:
        """Make host key, user key and the files both sides trust."""
        self.folder.mkdir()
        if os.geteuid() == 0:
            # As root sshd wants the folder that the system's own one would be started with.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for name in ("host", "user"):
            make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(self.folder / name)]
            assert run(make, cwd=self.folder, env=self.env).code == 0
        shutil.copy(self.folder / "user.pub", self.folder / "authorized_keys")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        host = (self.folder / "host.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host}")

    def start(self) -> None:
        """Start it and return when it listens."""
        options = {
            "ListenAddress": f"127.0.0.1:{self.port}",
            "HostKey": self.folder / "host",
            "AuthorizedKeysFile": self.folder / "authorized_keys",
            "PidFile": self.folder / "pid",
            "StrictModes": "no",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "MaxStartups": "100",
            "SetEnv": " ".join(f"{name}={self.env[name]}" for name in ("PATH", "HOME", "GIT_CONFIG_NOSYSTEM")),
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        command = [self.program, "-D", "-e", "-f", "/dev/null", *words]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        listening = threading.Event()
        threading.Thread(target=self._listen, args=(self._process, listening), daemon=True).start()
        assert listening.wait(START_SECONDS), self.said
        assert self._process.poll() is None, self.said

    def _listen(self, process: subprocess.Popen[str], listening: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                self.said.append(line.rstrip())
                if "Server listening" in line:
                    listening.set()
        listening.set()  # it ended, and `said` tells why

    def stop(self) -> None:
        """End the listener; nothing answers on its port afterwards."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(PATIENCE)
            self._process = None

    def wait(self) -> None:
        """Wait for the end of a listener that somebody else kills."""
        assert self._process is not None
        self._process.wait(PATIENCE)

    @property
    def client(self) -> str:
        """What `GIT_SSH_COMMAND` has to be."""
        options = [f"UserKnownHostsFile={self.folder}/known_hosts", "StrictHostKeyChecking=yes"]
        options += ["BatchMode=yes", "IdentitiesOnly=yes"]
        words = [word for option in options for word in ("-o", option)]
        return shlex.join(["ssh", "-F", "none", "-i", str(self.folder / "user"), *words])

    def url(self, path: Path) -> str:
        """Return the URL of a repository on this machine."""
        return f"ssh://127.0.0.1:{self.port}{path}"

    def kill_from_a_hook(self) -> str:
        """Return shell lines that kill this server with the connection they are running in, and both only once."""
        return f"""\
test -e '{self.folder}/killed' && exit 0
touch '{self.folder}/killed'
all='' p=$PPID
while test "$p" -gt 1 && test "$p" != "$(cat '{self.folder}/pid')"; do
  all="$all $p" p=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$p/status")
done
test "$p" -gt 1 && kill -9 "$p" $all
"""
