"""Ledger commits that were lost, as receipts and heartbeats still name them, and where the ledger has what they had."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from git_coord.domain.chain import OpId
from git_coord.domain.ids import Oid
from git_coord.domain.statements import LostCommit, Replay
from git_coord.service.adopt import operations_by_commit
from git_coord.service.context import Coord


def stand_ins(coord: Coord, chain: Sequence[Oid], wanted: Collection[Oid] | None = None) -> dict[Oid, Oid]:
    """Return for each lost commit that a replay lists the commit of this chain by which all it had is placed again.

    What could not be placed again is in none. Nothing is read when the ledger was never restored, or nothing `wanted`
    is missing from the chain.
    """
    if coord.known.state.restored is None or (wanted is not None and set(wanted) <= set(chain)):
        return {}
    found: dict[Oid, Oid] = {}
    open_: list[tuple[LostCommit, set[OpId]]] = []
    for commit, operations in operations_by_commit(coord, chain):
        ids = {sealed.id for sealed in operations}
        for sealed in operations:
            if isinstance(sealed.op, Replay):
                open_ += [(lost, {(op.agent, op.nonce) for op in lost.ops}) for lost in sealed.op.lost]
        for lost, left in open_:
            # Of one that is not whole yet, what is there counts: the next commits only add to it.
            if lost.commit not in found or ids & left:
                found[lost.commit] = commit
            left.difference_update(ids)
    return found
