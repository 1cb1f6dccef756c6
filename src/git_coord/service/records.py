"""Signed bytes to believed values: open, verify, validate, and remember, so that no record is checked twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from git_coord.crypto.keys import Signer
from git_coord.crypto.record import OpenedRecord, open_record, seal
from git_coord.crypto.sshsig import ROTATE_NAMESPACE, decode_armor
from git_coord.crypto.verify import verify
from git_coord.domain.chain import Sealed
from git_coord.domain.merkle import GitObject
from git_coord.domain.statements import CLAIM_LIMIT, Operation, Rotate, parse_operation, rotation_challenge, to_bytes
from git_coord.errors import CoordError, Kind

from .context import Coord

Opener = Callable[[bytes, int], OpenedRecord]
"""How a record is opened: verified, or remembered from when it was."""


def open_operation(record: bytes, opener: Opener = open_record) -> Sealed:
    """Return the operation of a record whose signature verifies.

    Whether the key may sign for the agent is decided at a ledger position (`domain.placing.fault`). Raises
    CoordError(UNTRUSTED) for anything else.
    """
    opened = opener(record, CLAIM_LIMIT)
    op = parse_operation(opened.statement)
    if len(record) > op.LIMIT:
        raise CoordError(Kind.UNTRUSTED, f"{op.KIND} of {len(record)} bytes is larger than {op.LIMIT}")
    if isinstance(op, Rotate):
        _check_proof(op)
    return Sealed(record, op, opened.key)


def _check_proof(op: Rotate) -> None:
    signature = decode_armor(_armored(op.proof))
    if signature.key.text != op.key:
        raise CoordError(Kind.UNTRUSTED, "the proof of a rotation is not signed by the new key")
    verify(signature, rotation_challenge(op.repo, op.agent, op.nonce), ROTATE_NAMESPACE)


def _armored(proof: str) -> bytes:
    lines = [proof[i : i + 70] for i in range(0, len(proof), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode("ascii")


def rotation_proof(signer: Signer, challenge: bytes) -> str:
    """Return the new key's signature over the challenge as one line of base64, the way `rotate` carries it."""
    armored = signer.sign(challenge, ROTATE_NAMESPACE).decode("ascii")
    return "".join(armored.splitlines()[1:-1])


def seal_operation(op: Operation, signer: Signer) -> Sealed:
    """Return the operation signed; raises CoordError(ERROR) when the signer fails or takes too long.

    The proof in a rotation is another signer's: one that does not hold would make a ledger that nobody else accepts.
    """
    if isinstance(op, Rotate):
        _check_proof(op)
    statement = to_bytes(op)
    try:
        parse_operation(statement)
    except CoordError as trouble:
        # Signed and placed it would make a ledger that nobody reads again, this clone neither.
        raise CoordError(Kind.USAGE, f"this {op.KIND} cannot be made: {trouble.message}") from None
    record = seal(statement, signer)
    if len(record) > op.LIMIT:
        raise CoordError(Kind.USAGE, f"too much for one {op.KIND}: {len(record)} bytes, at most {op.LIMIT}")
    return Sealed(record, op, signer.key)


def opened_blobs(coord: Coord, blobs: Iterable[GitObject | None], opener: Opener = open_record) -> list[Sealed | None]:
    """Return each blob's operation, None for one that cannot be believed; remembered by blob id for this process."""
    return [None if blob is None else _opened(coord, blob, opener) for blob in blobs]


def _opened(coord: Coord, blob: GitObject, opener: Opener) -> Sealed | None:
    if blob.oid not in coord.opened:
        try:
            coord.opened[blob.oid] = open_operation(blob.data, opener) if blob.type == "blob" else None
        except CoordError:
            coord.opened[blob.oid] = None
    return coord.opened[blob.oid]
