"""What agents sign: every kind of operation, and how one is read from its bytes (`docs/format.md`)."""

from __future__ import annotations

from git_coord.errors import CoordError, Kind

from .claim_statements import Break, Cancel, Claim, Release, Renew, Settle, Takeover
from .envelope import CLAIM_LIMIT, COMMON, RECORD_LIMIT, Operation, Statement, build, load_object, to_bytes
from .ids import Agent, Nonce
from .member_statements import BlockTasks, Checkpoint, Expel, Join, Move, Policy, Rejoin, Rotate, Unblock
from .restore_statements import MAX_LOST, LostCommit, Replay, ReplayedOp, Restore
from .terms import MAX_GLOBS, MAX_ITEMS, Base, Evidence, Landed, LandedPath, Listed, Renewal, Stamp, Target

OPERATIONS: dict[str, type[Operation]] = {
    cls.KIND: cls
    for cls in (
        *(Policy, Join, Rejoin, Claim, Renew, Release, Break, Cancel, Rotate),
        *(Takeover, BlockTasks, Unblock, Settle, Checkpoint, Restore, Replay, Move, Expel),
    )
}


def rotation_challenge(repo: str, agent: Agent, nonce: Nonce) -> bytes:
    """Return what the new key of a rotation signs, so that nobody rotates to a key that is not theirs."""
    return f"git-coord rotate {repo} {agent} {nonce}\n".encode("ascii")


def parse_operation(data: bytes) -> Operation:
    """Return the ledger operation in these canonical bytes.

    Raises CoordError(UNTRUSTED) for anything malformed, of an unknown version, kind or field.
    """
    obj = load_object(data)
    cls = OPERATIONS.get(obj["kind"])
    if cls is None:
        raise CoordError(Kind.UNTRUSTED, f"operation kind {obj['kind'][:40]!r} needs a newer git coord")
    unknown = obj.keys() - COMMON.keys() - cls.FIELDS.keys() - {"v", "kind"}
    if unknown:
        raise CoordError(Kind.UNTRUSTED, f"field {min(unknown)[:40]!r} of {cls.KIND} needs a newer git coord")
    return build(cls, obj)


__all__ = [
    "CLAIM_LIMIT",
    "MAX_GLOBS",
    "MAX_ITEMS",
    "MAX_LOST",
    "OPERATIONS",
    "RECORD_LIMIT",
    "Base",
    "BlockTasks",
    "Break",
    "Cancel",
    "Checkpoint",
    "Claim",
    "Evidence",
    "Expel",
    "Join",
    "Landed",
    "LandedPath",
    "Listed",
    "LostCommit",
    "Move",
    "Operation",
    "Policy",
    "Rejoin",
    "Release",
    "Renew",
    "Renewal",
    "Replay",
    "ReplayedOp",
    "Restore",
    "Rotate",
    "Settle",
    "Stamp",
    "Statement",
    "Takeover",
    "Target",
    "Unblock",
    "build",
    "load_object",
    "parse_operation",
    "rotation_challenge",
    "to_bytes",
]
