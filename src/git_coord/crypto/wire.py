"""The fields of RFC 4251, read so that every value has exactly one spelling."""

from __future__ import annotations

from ..errors import CoordError, Kind


def untrusted(message: str) -> CoordError:
    """Return the error for bytes that prove nothing."""
    return CoordError(Kind.UNTRUSTED, message)


class Reader:
    """Takes fields off the front of a byte string; raises UNTRUSTED when they are not there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes, exactly as many as asked for."""
        end = self._at + count
        if end > len(self._data):
            raise untrusted("key or signature is cut short")
        piece = self._data[self._at : end]
        self._at = end
        return piece

    def rest(self) -> bytes:
        """Return everything not taken yet."""
        return self.take(len(self._data) - self._at)

    def uint32(self) -> int:
        """Return a 32-bit number."""
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        """Return a length-prefixed byte string."""
        return self.take(self.uint32())

    def text(self) -> str:
        """Return a length-prefixed name: printable ASCII, not empty."""
        raw = self.string()
        if not raw or min(raw) < 0x21 or max(raw) > 0x7E:
            raise untrusted("a name inside a key or signature is empty or not printable ASCII")
        return raw.decode("ascii")

    def mpint(self) -> int:
        """Return a number above zero that has no leading byte too many."""
        raw = self.string()
        value = int.from_bytes(raw, "big")
        if value == 0 or mpint(value) != len(raw).to_bytes(4, "big") + raw:
            raise untrusted("a number inside a key or signature is zero, negative or padded")
        return value

    def end(self) -> None:
        """Refuse bytes that nobody asked for."""
        if self._at != len(self._data):
            raise untrusted("bytes follow the end of a key or signature")


def string(data: bytes) -> bytes:
    """Return the bytes behind their length."""
    return len(data).to_bytes(4, "big") + data


def mpint(value: int) -> bytes:
    """Return a positive number in its shortest form; a zero byte keeps the sign bit clear."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big"))
