"""The ledger's commits across its epochs: where one begins with a checkpoint, what is kept goes before it."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.ids import Oid
from git_coord.domain.layout import EPOCH
from git_coord.domain.loading import read_epoch
from git_coord.domain.state import Epoch, State
from git_coord.errors import CoordError, Kind
from git_coord.store.interface import ABSENT, RefUpdate, Store
from git_coord.store.refnames import BEFORE, epoch, fetched

from .adopt import commit_date
from .context import Coord


def lineage(store: Store, tip: Oid, since: Oid | None) -> list[Oid]:
    """Return the ledger from after `since` to `tip`, oldest first; all that is kept when that is not on it.

    Raises CoordError(UNTRUSTED) when an object of the present epoch is missing.
    """
    commits = store.history(tip, since)
    while commits and (begun := begun_by(store, commits[0])) and begun.old != since:
        try:
            before = store.history(begun.old, since)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNTRUSTED:
                raise
            return commits
        commits = before + commits
    return commits


def shared(ours: Sequence[Oid], theirs: Sequence[Oid]) -> int:
    """Return how many commits two chains have in common from their root on."""
    return next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))


def begun_by(store: Store, commit: Oid) -> Epoch | None:
    """Return the epoch that this commit, one without a parent, begins; None for any other commit."""
    found, written = store.read([commit, f"{commit}:{EPOCH}"])
    if found is None or written is None or b"\nparent " in found.data.partition(b"\n\n")[0]:
        return None
    try:
        return read_epoch(written.data)
    except (CoordError, LookupError, ValueError, TypeError):
        return None  # whoever walks it finds out what is wrong


def is_continued_by(store: Store, head: Oid, commit: Oid) -> bool:
    """Tell whether a commit names this one as its parent, or begins an epoch on it."""
    found = store.read([commit])[0]
    if found is None:
        return False
    header = found.data.partition(b"\n\n")[0].split(b"\n")
    if any(line.startswith(b"parent ") for line in header):
        return f"parent {head}".encode("ascii") in header
    begun = begun_by(store, commit)
    return begun is not None and begun.old == head


def kept_since(store: Store, commits: Sequence[Oid]) -> int:
    """Return from when on these commits are the whole ledger, seconds since the epoch; 0 when they begin at its root.

    A head named before may lie in an epoch that is not kept any more.
    """
    first = store.read([commits[0]])[0] if begun_by(store, commits[0]) else None
    return commit_date(first.data) if first else 0


def keep_before(coord: Coord, state: State) -> list[RefUpdate]:
    """Return what makes this clone keep the ledger as it was before the present epoch, as far as it has that."""
    if state.epoch is None:
        return []
    kept = coord.store.refs(BEFORE).get(BEFORE)
    if kept == state.epoch.old or coord.store.read([state.epoch.old])[0] is None:
        return []
    return [RefUpdate(BEFORE, state.epoch.old, kept or ABSENT)]


def give_back(coord: Coord, state: State) -> None:
    """Push the ledger from before the present epoch where the remote has lost it; who comes anew verifies from it."""
    if state.epoch is None or coord.remote is None:
        return
    there, kept = epoch(state.epoch.number), coord.store.refs(BEFORE).get(BEFORE)
    if kept == state.epoch.old and fetched(there) not in coord.store.refs(fetched(there)):
        coord.remote.push([RefUpdate(there, kept, ABSENT)])
