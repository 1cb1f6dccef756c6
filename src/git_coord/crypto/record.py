"""Records: one line of JSON, then an armored signature of exactly that line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from git_coord.lean import NamedTuple

from ..domain.ids import KeyText
from .sshsig import NAMESPACE, decode_armor
from .verify import verify
from .wire import untrusted

if TYPE_CHECKING:
    from .keys import Signer

_LINE_BYTES = bytes(range(0x20, 0x80))  # what a line of JSON can hold, and DEL; canonical JSON then refuses a raw one


class SplitRecord(NamedTuple):
    """The two parts of a record; `statement` keeps its newline, because the newline is signed."""

    statement: bytes
    armor: bytes


class OpenedRecord(NamedTuple):
    """A statement, without its newline, and the key that was proven to have signed it."""

    statement: bytes
    key: KeyText


def split_record(blob: bytes, limit: int) -> SplitRecord:
    """Cut a record after its first line; raises UNTRUSTED when it is too large or has no such line."""
    if len(blob) > limit:
        raise untrusted(f"record has {len(blob)} bytes, at most {limit} are allowed")
    statement, newline, armor = blob.partition(b"\n")
    if not newline or not _is_line(statement):
        raise untrusted("record does not start with one line of plain ASCII")
    return SplitRecord(statement + newline, armor)


def open_record(blob: bytes, limit: int, key: KeyText | None = None) -> OpenedRecord:
    """Verify a record, as signed by `key` if one is given; raises UNTRUSTED."""
    record = split_record(blob, limit)
    signature = decode_armor(record.armor)
    signer = signature.key.text
    if key is not None and signer != key:
        raise untrusted(f"record is signed by another key: {signature.key.fingerprint}")
    verify(signature, record.statement, NAMESPACE)
    return OpenedRecord(record.statement[:-1], signer)


def reopen_record(blob: bytes, limit: int) -> OpenedRecord:
    """Take a record apart whose signature the caller knows to be good, these very bytes; raises UNTRUSTED."""
    record = split_record(blob, limit)
    return OpenedRecord(record.statement[:-1], decode_armor(record.armor).key.text)


def seal(statement: bytes, signer: Signer) -> bytes:
    """Build a record from a statement without its newline; raises what the signer raises."""
    if not _is_line(statement):
        raise ValueError("a statement is one line of plain ASCII, without the newline")
    line = statement + b"\n"
    return line + signer.sign(line, NAMESPACE)


def _is_line(statement: bytes) -> bool:
    return bool(statement) and not statement.translate(None, _LINE_BYTES)
