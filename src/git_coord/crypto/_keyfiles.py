"""Key files on disk: read the public half, make a new pair.

`generate_key` is safe against races and kills at any instruction because the key appears under its name in one step
(a hard link of a complete, synced file, which fails if the name is taken), and the `.pub` file is only ever derived
from it. Whoever comes second, or again, adopts the key that is there. What a kill can leave behind is a stray
`.tmp` file that nothing reads.
"""

from __future__ import annotations

import binascii
import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..domain.ids import KeyText
from ..errors import CoordError, Kind
from ._files import quoted, read_small_file
from .sshsig import PublicKey, key_from_blob, parse_public_line
from .wire import Reader

if TYPE_CHECKING:
    from pathlib import Path  # cold start: its import takes 4 ms

    StrPath = str | os.PathLike[str]

_LIMIT = 64 * 1024
_PRIVATE = b"-----BEGIN "
_HEADER = b"-----BEGIN OPENSSH PRIVATE KEY-----\n"
_FOOTER = b"-----END OPENSSH PRIVATE KEY-----\n"
_MAGIC = b"openssh-key-v1\0"


def load_public_key(path: StrPath) -> KeyText:
    """Return the public key of a `.pub` file or of a private key file, locked or not; raises ERROR."""
    data = read_key_file(path)
    if not data.startswith(_PRIVATE):
        return _public_line(path, data).text
    if data.startswith(_HEADER):
        return _open_envelope(path, data)[1].text
    public = f"{os.fspath(path)}.pub"  # older formats do not show the public half without the passphrase
    if not os.path.exists(public):
        command = f"ssh-keygen -y -f {quoted(str(path))} > {quoted(str(public))}"
        raise CoordError(Kind.ERROR, f"key file {path} needs its public half in {public}", next=command)
    return _public_line(public, read_key_file(public)).text


def generate_key(path: Path, comment: str) -> KeyText:
    """Make an ed25519 key pair unless there is one, and return the public key that all racers agree on; raises ERROR.

    The private key is `path`, mode 0600; the public one is `path` with `.pub`. Missing folders are made, mode 0700.
    """
    if not comment.isprintable():
        raise CoordError(Kind.USAGE, "the comment of a key is one line of printable text")
    try:
        return _generate(path, comment)
    except OSError as error:
        raise CoordError(Kind.ERROR, f"cannot make key file {path}: {error.strerror}") from error


def is_locked(path: StrPath) -> bool:
    """Tell whether a private key file is known to need a passphrase; raises ERROR."""
    data = read_key_file(path)
    return data.startswith(_HEADER) and _open_envelope(path, data)[0] != b"none"


def read_key_file(path: StrPath) -> bytes:
    """Return the bytes of a key file, refusing a private one that others can read; raises ERROR."""
    try:
        data, mode = read_small_file(path, _LIMIT)
    except OSError as error:
        raise CoordError(Kind.ERROR, f"cannot read key file {path}: {error.strerror}") from error
    if data.startswith(_PRIVATE) and mode & 0o077:
        command = f"chmod 600 {quoted(str(path))}"
        raise CoordError(Kind.ERROR, f"private key file {path} is open to other users (mode {mode:04o})", next=command)
    return data


def public_path(path: Path) -> Path:
    """Return where the public half of a key file is."""
    return path.with_name(path.name + ".pub")


def _generate(path: Path, comment: str) -> KeyText:
    from ._openssl import new_private_file  # noqa: PLC0415 - cold start

    _make_folders(path.parent)
    public_seen = public_path(path).exists()  # looked at first: a racer makes the public file last
    if not os.path.lexists(path):
        if public_seen:
            raise CoordError(Kind.ERROR, f"{public_path(path)} belongs to a key that is elsewhere; use another name")
        data, _ = new_private_file()
        with contextlib.suppress(FileExistsError):  # a racer was first: its key is the key
            _create(path, data)
    key = load_public_key(path)
    _complete_pair(path, key, comment)
    return key


def _complete_pair(path: Path, key: KeyText, comment: str) -> None:
    public = public_path(path)
    if not public.exists():
        with _temporary(public, f"{key} {comment}".rstrip().encode() + b"\n", 0o644) as temporary:
            temporary.replace(public)  # racers write the same key, so it does not matter who is last
    elif load_public_key(public) != key:
        raise CoordError(Kind.ERROR, f"{public} is not the public half of {path}")


def _create(path: Path, data: bytes) -> None:
    """Put a complete file under a name that must be free, in one step; raises FileExistsError."""
    with _temporary(path, data, 0o600) as temporary:
        path.hardlink_to(temporary)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # a key that signed something must not vanish with the power
    finally:
        os.close(folder)


@contextlib.contextmanager
def _temporary(target: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Write and sync a file next to its target; what is still there at the end is removed."""
    path = target.with_name(f".{target.name}.{os.urandom(8).hex()}.tmp")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)


def _make_folders(folder: Path) -> None:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)


def _public_line(path: StrPath, data: bytes) -> PublicKey:
    try:
        return parse_public_line(data.decode("utf-8", "replace"))
    except CoordError as error:
        raise CoordError(Kind.ERROR, f"key file {path}: {error.message}") from error


def _open_envelope(path: StrPath, data: bytes) -> tuple[bytes, PublicKey]:
    """Read what an OpenSSH private key file holds in the clear: the cipher of the rest, and the public key."""
    body = data.removeprefix(_HEADER).partition(_FOOTER)[0]
    try:
        fields = Reader(binascii.a2b_base64(body))
        if fields.take(len(_MAGIC)) != _MAGIC:
            raise CoordError(Kind.ERROR, "not an OpenSSH private key")
        cipher, _kdf, _options, count = fields.string(), fields.string(), fields.string(), fields.uint32()
        if count != 1:
            raise CoordError(Kind.ERROR, "holds more than one key")
        return cipher, key_from_blob(fields.string())
    except binascii.Error as error:
        raise CoordError(Kind.ERROR, f"key file {path}: not base64") from error
    except CoordError as error:
        raise CoordError(Kind.ERROR, f"key file {path}: {error.message}") from error
