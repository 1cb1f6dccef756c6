"""Walk a ledger from what was verified to a new tip, believing nothing: signatures, rules, and the commit's own id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_coord.domain import chain, layout
from git_coord.domain.chain import Extension, Head, OpId, Placed, Sealed
from git_coord.domain.ids import Oid
from git_coord.domain.loading import load_state
from git_coord.domain.merkle import GitObject, parse_tree, tree_of
from git_coord.domain.placing import MAX_PLACED, cut_fault, epoch_fault, fault, misplaced, root_fault
from git_coord.domain.state import State
from git_coord.domain.statements import CLAIM_LIMIT, Checkpoint
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.store.interface import Store

from .context import Coord
from .records import open_operation, opened_blobs

_DATE = re.compile(rb"^committer .* (\d{1,19}) [-+]\d{4}$", re.MULTILINE)
CHUNK = 128
"""Commits read at a time: enough to make process starts cheap, little enough to keep memory flat."""


OTHER_STATE = "its state is not the one that was signed"


class Fault(NamedTuple):
    """The first commit of a chain that does not follow from its parent, why, and the command that mends it."""

    commit: Oid
    reason: str
    next: str = "git coord doctor --repair-ledger"


class Walk(NamedTuple):
    """How far a chain verified: `head` is its last good commit, `fault` what stopped it."""

    head: Head | None
    placed: dict[OpId, Placed]
    commits: tuple[Oid, ...]
    fault: Fault | None


def load_head(store: Store, oid: Oid) -> Head:
    """Return a head that was verified before, read back from its commit and tree."""
    rows = store.listing(oid)
    blobs = [row for row in rows if row.type == "blob" and not row.path.startswith(layout.OPERATIONS + "/")]
    commit, *contents = store.read([oid, *(row.oid for row in blobs)])
    if commit is None or None in contents:
        raise CoordError(Kind.UNTRUSTED, f"the ledger at {oid[:10]} has missing objects", next="git coord doctor")
    files = {row.path: content.data for row, content in zip(blobs, contents, strict=True) if content}
    return Head(oid, commit_date(commit.data), load_state(files), tree_of(rows))


def commit_date(commit: bytes) -> int:
    """Return the committer date of a raw commit, seconds since the epoch; raises CoordError(UNTRUSTED)."""
    found = _DATE.search(commit)
    if found is None:
        raise CoordError(Kind.UNTRUSTED, "a commit of the ledger has no date", next="git coord doctor --repair-ledger")
    return int(found[1])


def walk(coord: Coord, known: Head | None, commits: Sequence[Oid], before: State | None = None) -> Walk:
    """Verify commits one after the other on top of `known`.

    None: the first must be a root; or begin an epoch that a policy key signed, one of `before` if that is known.
    """
    head, placed, good = known, dict[OpId, Placed](), list[Oid]()
    for oid, operations in _read(coord, commits):
        made = (
            _rebuild(coord, head, operations) if head or _is_root(operations) else _cut(coord, oid, operations, before)
        )
        if isinstance(made, str):
            return Walk(head, placed, tuple(good), Fault(oid, made))
        if made.head.oid != oid:
            reason = "it does not follow from its parent and its operations"
            return Walk(head, placed, tuple(good), Fault(oid, reason))
        head = made.head
        good.append(oid)
        placed.update((entry.sealed.id, entry) for entry in made.placed)
    return Walk(head, placed, tuple(good), None)


def operations_of(coord: Coord, commits: Sequence[Oid]) -> list[Sealed]:
    """Return every believable operation that these commits placed, in order."""
    return [sealed for _, found in operations_by_commit(coord, commits) for sealed in found]


def operations_by_commit(coord: Coord, commits: Sequence[Oid]) -> list[tuple[Oid, list[Sealed]]]:
    """Return each commit with the believable operations that it placed, in order."""
    return [(oid, [] if isinstance(found, str) else found) for oid, found in _read(coord, commits)]


def _read(coord: Coord, commits: Sequence[Oid]) -> Iterator[tuple[Oid, list[Sealed] | str]]:
    """Yield each commit with its operations, or with the reason why they cannot be read."""
    for start in range(0, len(commits), CHUNK):
        part = commits[start : start + CHUNK]
        if start:
            coord.progress(f"verifying the ledger, {start} of {len(commits)} commits")
        trees = coord.store.read([f"{oid}:{layout.OPERATIONS}" for oid in part])
        rows = [parse_tree(tree.data, coord.store.algorithm) if tree else [] for tree in trees]
        wanted = [oid for entries in rows for _, _, oid in entries[:MAX_PLACED]]
        blobs = coord.store.read(wanted, CLAIM_LIMIT)
        contents = dict(zip(wanted, zip(blobs, opened_blobs(coord, blobs), strict=True), strict=True))
        for oid, entries in zip(part, rows, strict=True):
            opened = [contents[blob][1] for _, _, blob in entries[:MAX_PLACED]]
            if entries and None not in opened:
                yield oid, [sealed for sealed in opened if sealed]
                continue
            blob = next((contents[blob][0] for _, _, blob in entries[:MAX_PLACED] if contents[blob][1] is None), None)
            yield oid, "it places no operation" if not entries else _why(blob)


def _why(blob: GitObject | None) -> str:
    """Return why an operation is not believed; only asked for when a chain is refused."""
    if blob is None:
        return "an operation of it is missing"
    if blob.type != "blob":
        return "an operation of it is too large" if blob.type == "oversized" else f"an operation of it is a {blob.type}"
    try:
        open_operation(blob.data)
    except CoordError as trouble:
        return trouble.message
    return "an operation of it is not a record"


def _rebuild(coord: Coord, head: Head | None, operations: list[Sealed] | str) -> Extension | str:
    """Return the commit that these operations make here, or why they make none."""
    if isinstance(operations, str):
        return operations
    first = operations[0]
    if head is not None and isinstance(first.op, Checkpoint):
        more = None if len(operations) == 1 else "it places more than its checkpoint"
        reason = more or epoch_fault(head.state, head.oid, first.op, first.key)
        return reason or chain.checkpoint(head, first, coord.store.algorithm) or OTHER_STATE
    if head is None:
        wrong = root_fault(operations[0].op, operations[0].key)
        return wrong or chain.root(operations[0], coord.store.algorithm)
    made = chain.extend(head, operations, coord.store.algorithm)
    if made is None or len(made.placed) != len(operations):
        return _refusal(head, operations)
    return made


def _is_root(operations: list[Sealed] | str) -> bool:
    return isinstance(operations, str) or not isinstance(operations[0].op, Checkpoint)


def _cut(coord: Coord, oid: Oid, operations: list[Sealed] | str, before: State | None) -> Extension | str:
    """Return the state that an epoch begins with, of which nothing older is kept, or why it is not believed."""
    assert not isinstance(operations, str)
    sealed = operations[0]
    assert isinstance(sealed.op, Checkpoint)
    if len(operations) != 1:
        return "it places more than its checkpoint"
    head = load_head(coord.store, oid)
    reason = cut_fault(head.state, sealed.op, sealed.key, before)
    return reason or chain.cut(head, sealed, coord.store.algorithm) or OTHER_STATE


def _refusal(head: Head, operations: list[Sealed]) -> str:
    """Name the first operation that may not be placed, as far as one can be told alone."""
    for sealed in operations:
        if reason := misplaced(head.oid, sealed.op) or fault(head.state, sealed.op, sealed.key):
            return f"{sealed.op.KIND} of {sealed.op.agent} cannot be placed: {reason}"
    return "an operation of it cannot be placed there"
