"""SHA-1 and SHA-256 from the interpreter itself: loading OpenSSL for a few short hashes costs a command 3 ms.

The modules are CPython's own fallback and may be missing from other builds; `hashlib` then serves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Digest(Protocol):
    """What a hash being computed offers."""

    def update(self, data: bytes, /) -> None:
        """Take more bytes."""

    def digest(self) -> bytes:
        """Return the hash so far."""

    def hexdigest(self) -> str:
        """Return the hash so far, in hex."""


def _own() -> dict[str, Callable[[bytes], Digest]]:
    try:
        import _sha1  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

        try:
            import _sha2  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - from Python 3.12 on
        except ImportError:
            import _sha256 as _sha2  # type: ignore[import-not-found,unused-ignore,no-redef]  # noqa: PLC0415
    except ImportError:
        import hashlib  # noqa: PLC0415

        return {"sha1": hashlib.sha1, "sha256": hashlib.sha256}
    return {"sha1": _sha1.sha1, "sha256": _sha2.sha256}


_HASHES = _own()


def new(algorithm: str, data: bytes = b"") -> Digest:
    """Return the hash of these bytes, to be continued or read; raises KeyError for another algorithm than git's two."""
    return _HASHES[algorithm](data)
