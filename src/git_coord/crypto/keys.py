"""Signers: who can turn a message into an armored signature, and the key files behind them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..domain.ids import KeyText
from ..errors import CoordError, Kind
from ..process import Process, found
from ._keyfiles import generate_key, is_locked, load_public_key, read_key_file
from .sshsig import NAMESPACE, ROTATE_NAMESPACE, Signature, decode_armor, encode_armor, signed_payload

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "NAMESPACE",
    "ROTATE_NAMESPACE",
    "InProcessSigner",
    "Signer",
    "SshKeygenSigner",
    "generate_key",
    "load_public_key",
]


class Signer(Protocol):
    """Something that holds a private key, or knows who does."""

    @property
    def key(self) -> KeyText:
        """The public key that the signatures verify under."""

    def sign(self, message: bytes, namespace: str) -> bytes:
        """Return an armored signature; raises ERROR, within a bounded time."""


class SshKeygenSigner(NamedTuple):
    """Signs with `ssh-keygen`: any key file, also one whose private half is in an ssh-agent or a security key.

    `env` is the whole environment of the child. ssh-keygen asks the agent of `SSH_AUTH_SOCK` before it looks into the
    file; leave the variable out for a key that needs no agent, then a hanging agent cannot get in the way.
    """

    path: Path
    key: KeyText
    timeout_seconds: float
    env: Mapping[str, str]

    def sign(self, message: bytes, namespace: str) -> bytes:
        """Return an armored signature; raises ERROR naming the key file."""
        if load_public_key(self.path) != self.key:
            raise CoordError(Kind.ERROR, f"key file {self.path} holds another key than {self.key}")
        armor = self._run(["ssh-keygen", "-Y", "sign", "-f", str(self.path), "-n", namespace], message)
        try:
            signature = decode_armor(armor)
        except CoordError as error:
            raise self._trouble(f"ssh-keygen returned no signature ({error.message})") from error
        if (signature.key.text, signature.namespace) != (self.key, namespace):
            raise self._trouble("ssh-keygen signed with another key or namespace")
        return armor

    def _run(self, command: list[str], message: bytes) -> bytes:
        # No terminal (a session of its own), no askpass window: whoever would have to be asked, the answer is no.
        env = {**self.env, "SSH_ASKPASS_REQUIRE": "never"}
        try:
            process = Process(found("ssh-keygen", env), command, env)
        except OSError as error:
            raise self._trouble(f"cannot run ssh-keygen: {error.strerror}") from error
        process.send(message)
        try:
            done = process.communicate(self.timeout_seconds)
        except TimeoutError:
            raise self._trouble(
                f"ssh-keygen gave no answer within {self.timeout_seconds:g} s;"
                " it waits for an ssh-agent, a passphrase or a touch"
            ) from None
        if done.code:
            raise self._trouble(_last_line(done.err) or f"ssh-keygen ended with status {done.code}")
        return done.out

    def _trouble(self, what: str) -> CoordError:
        path = shlex.quote(str(self.path))
        command = (
            f"ssh-add {path}" if is_locked(self.path) else f"ssh-keygen -Y sign -n {NAMESPACE} -f {path} < /dev/null"
        )
        return CoordError(Kind.ERROR, f"cannot sign with key file {self.path}: {what}", next=command)


class InProcessSigner:
    """Signs with an ed25519 key file that has no passphrase, without a process; for programs that live longer."""

    def __init__(self, path: Path) -> None:
        from ._openssl import load_private  # noqa: PLC0415 - cold start

        try:
            self._private, self._public = load_private(read_key_file(path))
        except ValueError as error:
            raise CoordError(Kind.ERROR, f"cannot sign with key file {path}: {error}") from error

    @property
    def key(self) -> KeyText:
        """The public key that the signatures verify under."""
        return self._public.text

    def sign(self, message: bytes, namespace: str) -> bytes:
        """Return the armored signature `ssh-keygen` would make, byte for byte."""
        value = self._private.sign(signed_payload(namespace, "sha512", message))
        return encode_armor(Signature(self._public, namespace, "sha512", self._public.algorithm, value))


def _last_line(err: bytes) -> str:
    lines = err.decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[-1][:200] if lines else ""
