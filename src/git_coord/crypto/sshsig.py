"""A strict codec for SSH public keys and armored SSH signatures.

What it accepts is exactly what `ssh-keygen` writes: one text for one key, one armor for one signature. So nobody but
the signer can make a second blob out of a valid record by changing how its signature is spelled. (The one exception
is ECDSA itself: r and n - s verify as well as r and s.)
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from functools import lru_cache, partial

from git_coord.lean import NamedTuple

from ..domain.ids import KeyText
from .wire import Reader, string, untrusted

NAMESPACE = "git-coord"
"""The namespace of record signatures."""
ROTATE_NAMESPACE = "git-coord-rotate"
"""The namespace in which an old key vouches for its successor."""
HASHES = ("sha256", "sha512")
"""The message digests SSHSIG allows."""
_MAGIC = b"SSHSIG"
_VERSION = 1
_HEADER = b"-----BEGIN SSH SIGNATURE-----\n"
_FOOTER = b"-----END SSH SIGNATURE-----\n"
_LINE = 70
_MAX_ARMOR = 16 * 1024  # RSA with 16,384 bits needs 6 KiB
_POINT = {"nistp256": 65, "nistp384": 97, "nistp521": 133}
_RSA_BITS = range(2048, 16384 + 1)
_RSA_EXPONENTS = range(3, 1 << 32, 2)  # a huge exponent makes one check take seconds
_PRESENCE = 5  # flags and counter of a security key


class PublicKey(NamedTuple):
    """A key in the wire form of RFC 4253; only `parse_public_key` and `key_from_blob` make one that was checked."""

    algorithm: str
    blob: bytes

    @property
    def text(self) -> KeyText:
        """The key as records carry it, without a comment."""
        return KeyText(f"{self.algorithm} {_b64(self.blob)}")

    @property
    def fingerprint(self) -> str:
        """The key as `ssh-keygen -l` shows it."""
        from hashlib import sha256  # noqa: PLC0415 - cold start

        return "SHA256:" + _b64(sha256(self.blob).digest()).rstrip("=")


class Signature(NamedTuple):
    """A decoded signature; nothing in it has been verified yet."""

    key: PublicKey
    namespace: str
    hash_algorithm: str
    signature_algorithm: str
    signature: bytes
    presence: bytes = b""
    """Flags and counter of a security key (5 bytes), empty for other keys."""


def parse_public_key(text: str) -> PublicKey:
    """Read `<algorithm> <base64>`, nothing before, between or after; raises UNTRUSTED."""
    algorithm, _, encoded = text.partition(" ")
    key = key_from_blob(_unb64(encoded.encode("ascii", "replace")))
    if key.algorithm != algorithm:
        raise untrusted("public key is not what its first word says")
    return key


def parse_public_line(line: str) -> PublicKey:
    """Read a line of a `.pub` file: a public key, then perhaps a comment; raises UNTRUSTED."""
    words = line.split(maxsplit=2)
    if len(words) < 2 or "\n" in line.strip():
        raise untrusted("not one public key on one line")
    return parse_public_key(" ".join(words[:2]))


@lru_cache(maxsize=1024)
def key_from_blob(blob: bytes) -> PublicKey:
    """Read the wire form of a key, to the last byte; raises UNTRUSTED."""
    fields = Reader(blob)
    algorithm = fields.text()
    if algorithm not in _KEYS:
        raise untrusted(f"key type {algorithm} is not supported")
    _KEYS[algorithm].check(fields)
    fields.end()
    return PublicKey(algorithm, blob)


def decode_armor(data: bytes) -> Signature:
    """Read one armored signature exactly as `ssh-keygen -Y sign` writes it; raises UNTRUSTED."""
    if len(data) > _MAX_ARMOR:
        raise untrusted("signature is larger than any real one")
    if not (data.startswith(_HEADER) and data.endswith(_FOOTER)):
        raise untrusted("not an armored SSH signature")
    signature = _decode_blob(_unb64(data[len(_HEADER) : -len(_FOOTER)].replace(b"\n", b"")))
    if encode_armor(signature) != data:
        raise untrusted("signature is not spelled as ssh-keygen writes it")
    return signature


def encode_armor(signature: Signature) -> bytes:
    """Return the bytes `ssh-keygen -Y sign` would have written."""
    value = string(signature.signature_algorithm.encode()) + string(signature.signature) + signature.presence
    blob = b"".join(
        (
            _MAGIC,
            _VERSION.to_bytes(4, "big"),
            string(signature.key.blob),
            string(signature.namespace.encode()),
            string(b""),
            string(signature.hash_algorithm.encode()),
            string(value),
        )
    )
    encoded = binascii.b2a_base64(blob, newline=False)
    lines = [encoded[at : at + _LINE] + b"\n" for at in range(0, len(encoded), _LINE)]
    return _HEADER + b"".join(lines) + _FOOTER


def signed_payload(namespace: str, hash_alg: str, message: bytes) -> bytes:
    """Return the bytes a key really signs for a message."""
    import hashlib  # noqa: PLC0415 - cold start

    if hash_alg not in HASHES:
        raise untrusted(f"hash {hash_alg} is not allowed in a signature")
    digest = hashlib.new(hash_alg, message).digest()
    return _MAGIC + b"".join(map(string, (namespace.encode(), b"", hash_alg.encode(), digest)))


def _decode_blob(blob: bytes) -> Signature:
    fields = Reader(blob)
    if fields.take(len(_MAGIC)) != _MAGIC or fields.uint32() != _VERSION:
        raise untrusted("not an SSHSIG signature of version 1")
    key = key_from_blob(fields.string())
    namespace = fields.text()
    if fields.string():
        raise untrusted("reserved field of the signature is not empty")
    hash_algorithm = fields.text()
    value = Reader(fields.string())
    fields.end()
    if hash_algorithm not in HASHES:
        raise untrusted(f"hash {hash_algorithm} is not allowed in a signature")
    return _decode_value(key, namespace, hash_algorithm, value)


def _decode_value(key: PublicKey, namespace: str, hash_algorithm: str, value: Reader) -> Signature:
    algorithm = value.text()
    if algorithm not in _KEYS[key.algorithm].signatures:
        raise untrusted(f"signature type {algorithm} is not allowed for a key of type {key.algorithm}")
    signature = value.string()
    presence = value.take(_PRESENCE) if key.algorithm.startswith("sk-") else b""
    value.end()
    return Signature(key, namespace, hash_algorithm, algorithm, signature, presence)


def _check_ed25519(fields: Reader) -> None:
    if len(fields.string()) != 32:
        raise untrusted("ed25519 key is not 32 bytes long")


def _check_point(curve: str, fields: Reader) -> None:
    if fields.text() != curve:
        raise untrusted("ECDSA key is not on the curve its type says")
    point = fields.string()
    if len(point) != _POINT[curve] or point[0] != 4:
        raise untrusted("ECDSA key is not an uncompressed point of its curve")


def _check_rsa(fields: Reader) -> None:
    if fields.mpint() not in _RSA_EXPONENTS:
        raise untrusted("RSA key has an exponent outside 3 to 2^32")
    if fields.mpint().bit_length() not in _RSA_BITS:
        raise untrusted("RSA key is outside 2048 to 16384 bits")


def _with_application(check: Callable[[Reader], None], fields: Reader) -> None:
    check(fields)
    fields.text()


class _Algorithm(NamedTuple):
    check: Callable[[Reader], None]
    signatures: tuple[str, ...]


_P256 = partial(_check_point, "nistp256")
_SK_ED25519 = "sk-ssh-ed25519@openssh.com"
_SK_P256 = "sk-ecdsa-sha2-nistp256@openssh.com"
_KEYS = {
    "ssh-ed25519": _Algorithm(_check_ed25519, ("ssh-ed25519",)),
    "ssh-rsa": _Algorithm(_check_rsa, ("rsa-sha2-256", "rsa-sha2-512")),  # never ssh-rsa: that is SHA-1
    _SK_ED25519: _Algorithm(partial(_with_application, _check_ed25519), (_SK_ED25519,)),
    _SK_P256: _Algorithm(partial(_with_application, _P256), (_SK_P256,)),
} | {f"ecdsa-sha2-{curve}": _Algorithm(partial(_check_point, curve), (f"ecdsa-sha2-{curve}",)) for curve in _POINT}


def _b64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _unb64(encoded: bytes) -> bytes:
    """Decode base64 that has exactly one spelling: padded, no stray bits, no other characters."""
    try:
        data = binascii.a2b_base64(encoded, strict_mode=True)
    except binascii.Error:
        data = b""
    if not data or binascii.b2a_base64(data, newline=False) != encoded:
        raise untrusted("not canonical base64")
    return data
