"""Check a decoded signature, in process."""

from __future__ import annotations

from .sshsig import Signature, signed_payload
from .wire import untrusted


def verify(signature: Signature, message: bytes, namespace: str) -> None:
    """Return when the signature is that of the message in the namespace, raise UNTRUSTED otherwise."""
    if signature.namespace != namespace:
        raise untrusted(f"signature is for namespace {signature.namespace}, not {namespace}")
    payload = signed_payload(namespace, signature.hash_algorithm, message)
    from ._openssl import check  # noqa: PLC0415 - cold start: cryptography takes 30 ms to import

    check(signature, payload)
