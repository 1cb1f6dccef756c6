"""The only module that imports `cryptography`; import it late, it takes longer than Python itself to start."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import assert_never

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from .sshsig import PublicKey, Signature, key_from_blob
from .wire import Reader, string, untrusted

_Native = Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey
_CURVES: dict[str, tuple[ec.EllipticCurve, hashes.HashAlgorithm]] = {
    "nistp256": (ec.SECP256R1(), hashes.SHA256()),
    "nistp384": (ec.SECP384R1(), hashes.SHA384()),
    "nistp521": (ec.SECP521R1(), hashes.SHA512()),
}
_HASH_OF_CURVE = {curve.name: digest for curve, digest in _CURVES.values()}
_HASH_OF_RSA = {"rsa-sha2-256": hashes.SHA256(), "rsa-sha2-512": hashes.SHA512()}
_USER_PRESENT = 0x01


def check(signature: Signature, payload: bytes) -> None:
    """Raise UNTRUSTED unless the key made this signature over the payload."""
    native, application = _native(signature.key)
    if application is not None:
        payload = _security_key_payload(application, signature.presence, payload)
    try:
        _check(native, signature, payload)
    except InvalidSignature:
        raise untrusted(f"signature does not fit: not made by {signature.key.fingerprint} over these bytes") from None


def _check(native: _Native, signature: Signature, payload: bytes) -> None:
    if isinstance(native, Ed25519PublicKey):
        native.verify(signature.signature, payload)
    elif isinstance(native, ec.EllipticCurvePublicKey):
        native.verify(_der(signature.signature), payload, ec.ECDSA(_HASH_OF_CURVE[native.curve.name]))
    elif isinstance(native, rsa.RSAPublicKey):
        digest = _HASH_OF_RSA[signature.signature_algorithm]
        native.verify(signature.signature, payload, padding.PKCS1v15(), digest)
    else:
        assert_never(native)


@lru_cache(maxsize=1024)
def _native(key: PublicKey) -> tuple[_Native, str | None]:
    """Return the key for OpenSSL, and the application when it lives in a security key."""
    fields = Reader(key.blob)
    kind = fields.text()
    try:
        native = _read(kind.removeprefix("sk-"), fields)
    except (ValueError, UnsupportedAlgorithm):
        raise untrusted(f"public key {key.fingerprint} is not a valid key of type {key.algorithm}") from None
    return native, fields.text() if kind.startswith("sk-") else None


def _read(kind: str, fields: Reader) -> _Native:
    if kind.startswith("ssh-ed25519"):
        return Ed25519PublicKey.from_public_bytes(fields.string())
    if kind.startswith("ecdsa-"):
        curve, _ = _CURVES[fields.text()]
        return ec.EllipticCurvePublicKey.from_encoded_point(curve, fields.string())
    exponent, modulus = fields.mpint(), fields.mpint()
    return rsa.RSAPublicNumbers(exponent, modulus).public_key()


def _der(signature: bytes) -> bytes:
    fields = Reader(signature)
    r, s = fields.mpint(), fields.mpint()
    fields.end()
    return encode_dss_signature(r, s)


def _security_key_payload(application: str, presence: bytes, payload: bytes) -> bytes:
    if not presence[0] & _USER_PRESENT:
        raise untrusted("security key signed without anybody touching it")
    return sha256(application.encode()).digest() + presence + sha256(payload).digest()


def new_private_file() -> tuple[bytes, PublicKey]:
    """Return a fresh ed25519 key as an OpenSSH private key file, with its public half."""
    private = Ed25519PrivateKey.generate()
    return private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()), _public(private)


def load_private(data: bytes) -> tuple[Ed25519PrivateKey, PublicKey]:
    """Read an unencrypted ed25519 private key file; raises ValueError with the reason."""
    try:
        private = load_ssh_private_key(data, password=None)
    except TypeError:
        raise ValueError("it is protected by a passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("it is not a valid OpenSSH private key") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise ValueError("it is not an ed25519 key")
    return private, _public(private)


def _public(private: Ed25519PrivateKey) -> PublicKey:
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return key_from_blob(string(b"ssh-ed25519") + string(raw))
