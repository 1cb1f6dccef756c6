"""Signers: who can turn a message into an armored signature, and the key files behind them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from ..domain.ids import KeyText
from ..errors import CoordError, Kind
from ..process import Process, found
from ._files import quoted
from ._keyfiles import generate_key, is_locked, load_public_key, read_key_file
from .sshsig import NAMESPACE, ROTATE_NAMESPACE, Signature, decode_armor, encode_armor, signed_payload

if TYPE_CHECKING:
    import os

    StrPath = str | os.PathLike[str]

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


class SshKeygenSigner:
    """Signs with `ssh-keygen`: any key file, also one whose private half is in an ssh-agent or a security key.

    `env` is the whole environment of the child. ssh-keygen asks the agent of `SSH_AUTH_SOCK` before it looks into the
    file; leave the variable out for a key that needs no agent, then a hanging agent cannot get in the way.
    """

    __slots__ = ("_ahead", "_env", "_path", "_timeout_seconds", "key", "meanwhile")

    def __init__(self, path: StrPath, key: KeyText, timeout_seconds: float, env: Mapping[str, str]) -> None:
        """Run nothing yet."""
        self._path = path
        self.key = key
        self._timeout_seconds = timeout_seconds
        # No terminal (a session of its own), no askpass window: whoever would have to be asked, the answer is no.
        self._env = {**env, "SSH_ASKPASS_REQUIRE": "never"}
        self._ahead: tuple[str, Process] | None = None
        self.meanwhile: Callable[[], None] = lambda: None
        """Called while ssh-keygen signs, for work that is needed soon."""

    def warm(self, namespace: str = NAMESPACE) -> None:
        """Start ssh-keygen ahead, so that it starts while Python works on; trouble shows when it is asked to sign."""
        with contextlib.suppress(OSError):
            self._ahead = namespace, self._start(namespace)

    def _start(self, namespace: str) -> Process:
        command = ["ssh-keygen", "-Y", "sign", "-f", str(self._path), "-n", namespace]
        return Process(found("ssh-keygen", self._env), command, self._env)

    def sign(self, message: bytes, namespace: str) -> bytes:
        """Return an armored signature; raises ERROR naming the key file."""
        if load_public_key(self._path) != self.key:
            raise CoordError(Kind.ERROR, f"key file {self._path} holds another key than {self.key}")
        armor = self._run(namespace, message)
        try:
            signature = decode_armor(armor)
        except CoordError as error:
            raise self._trouble(f"ssh-keygen returned no signature ({error.message})") from error
        if (signature.key.text, signature.namespace) != (self.key, namespace):
            raise self._trouble("ssh-keygen signed with another key or namespace")
        return armor

    def _run(self, namespace: str, message: bytes) -> bytes:
        ahead, self._ahead = self._ahead, None
        try:
            process = ahead[1] if ahead and ahead[0] == namespace else self._start(namespace)
        except OSError as error:
            raise self._trouble(f"cannot run ssh-keygen: {error.strerror}") from error
        process.send(message)
        process.end()
        self.meanwhile()
        try:
            done = process.communicate(self._timeout_seconds)
        except TimeoutError:
            raise self._trouble(
                f"ssh-keygen gave no answer within {self._timeout_seconds:g} s;"
                " it waits for an ssh-agent, a passphrase or a touch"
            ) from None
        if done.code:
            raise self._trouble(_last_line(done.err) or f"ssh-keygen ended with status {done.code}")
        return done.out

    def _trouble(self, what: str) -> CoordError:
        path = quoted(str(self._path))
        command = (
            f"ssh-add {path}" if is_locked(self._path) else f"ssh-keygen -Y sign -n {NAMESPACE} -f {path} < /dev/null"
        )
        return CoordError(Kind.ERROR, f"cannot sign with key file {self._path}: {what}", next=command)


class InProcessSigner:
    """Signs with an ed25519 key file that has no passphrase, without a process; for programs that live longer."""

    def __init__(self, path: StrPath) -> None:
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
