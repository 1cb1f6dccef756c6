"""Real keys, and the real `ssh-keygen` as the other side of every cross test."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.helpers import PATIENCE

from git_coord.domain.ids import KeyText

KINDS = {
    "ed25519": ("ed25519",),
    "other": ("ed25519",),
    "p256": ("ecdsa", "-b", "256"),
    "p384": ("ecdsa", "-b", "384"),
    "p521": ("ecdsa", "-b", "521"),
    "rsa2048": ("rsa", "-b", "2048"),
    "rsa3072": ("rsa", "-b", "3072"),
}


@dataclass(frozen=True)
class Lab:
    """A folder of keys made by ssh-keygen; `sign` and `verify` are ssh-keygen's own."""

    folder: Path
    env: dict[str, str]

    def path(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            self.run("-q", "-t", *KINDS[name], "-N", "", "-C", f"{name} key", "-f", str(path))
        return path

    def key(self, name: str) -> KeyText:
        words = Path(f"{self.path(name)}.pub").read_text().split()
        return KeyText(" ".join(words[:2]))

    def sign(self, name: str, message: bytes, namespace: str = "git-coord", hash_alg: str = "sha512") -> bytes:
        options = ("-O", f"hashalg={hash_alg}", "-n", namespace, "-f", str(self.path(name)))
        return self.run("-Y", "sign", *options, message=message).stdout

    def verify(self, key: str, message: bytes, armor: bytes, namespace: str = "git-coord") -> bool:
        signers, file = self.folder / "allowed_signers", self.folder / "signature"
        signers.write_text(f"alpha {key}\n")
        file.write_bytes(armor)
        options = ("-f", str(signers), "-I", "alpha", "-n", namespace, "-s", str(file))
        return self.run("-Y", "verify", *options, message=message, check=False).returncode == 0

    def run(self, *arguments: str, message: bytes = b"", check: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["ssh-keygen", *arguments], input=message, env=self.env, capture_output=True, check=check, timeout=PATIENCE
        )


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    folder = tmp_path_factory.mktemp("lab")
    return Lab(folder, {"PATH": os.environ["PATH"], "HOME": str(folder)})
