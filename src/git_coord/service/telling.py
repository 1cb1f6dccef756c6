"""Tell an agent, once, what it has lost: read from the notes of whatever moved the ledger, crossed out when it is said.

One command tells at a time: the lock on the file is held until the words are out, so that two commands do not both say
it, and a killed one leaves it to the next. The lock is for correctness of nothing but "once".
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress

from git_coord.domain.ids import Agent, Nonce
from git_coord.errors import CoordError

from .context import Coord, Telling
from .ledger import open_ledger
from .lineage import lineage
from .losses import FOLDER, Loss, read_losses


def listed(coord: Coord) -> list[Loss]:
    """Return what the acting agent was not told yet, for an answer that lists it itself."""
    found = _untold(coord)
    if coord.telling is not None:
        coord.telling.listed |= {loss.op for loss in found}
    return found


def lines(coord: Coord) -> list[str]:
    """Return in words what the acting agent was not told yet, and what the answer does not list."""
    found = _untold(coord)
    own = coord.telling.listed if coord.telling is not None else set()
    return [loss.words for loss in found if loss.op not in own]


def tell(coord: Coord) -> None:
    """Say it beside what a hook has to say."""
    for line in lines(coord):
        coord.notice(line)
    told(coord)


def told(coord: Coord) -> None:
    """Cross out what was returned since: it has been said."""
    telling = coord.telling
    if telling is None:
        return
    with suppress(OSError):  # then it is said once more
        os.write(telling.handle, b"".join(json.dumps({"told": op}).encode() + b"\n" for op in sorted(telling.said)))
    put_off(coord)


def told_of(coord: Coord, ops: set[Nonce]) -> None:
    """Cross out these, which the agent hears of by another way, and leave the rest to its next command."""
    if coord.telling is not None:
        coord.telling.said &= ops
    told(coord)


def put_off(coord: Coord) -> None:
    """Leave it to the next command: the words did not reach anybody."""
    if coord.telling is not None:
        os.close(coord.telling.handle)
        coord.telling = None


def is_told(coord: Coord, agent: Agent) -> bool:
    """Tell whether nothing waits to be said to an agent."""
    return not read_losses(coord.files.read(f"{FOLDER}/{agent}") or b"")


def _untold(coord: Coord) -> list[Loss]:
    if coord.identity is None:
        return []
    name = f"{FOLDER}/{coord.me.agent}"
    if not read_losses(coord.files.read(name) or b""):
        return []
    if coord.telling is None:
        coord.telling = _begin(coord.files.path(name))
    if coord.telling is None:
        return []
    found = [loss for loss in read_losses(coord.files.read(name) or b"").values() if _is_true(coord, loss)]
    coord.telling.said |= {loss.op for loss in found}
    return found


def _begin(path: str) -> Telling | None:
    """Take the file to tell from it; None while another command is at it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return Telling(handle)


def _is_true(coord: Coord, loss: Loss) -> bool:
    """Tell whether the ledger has come to what was noted before it moved: whoever noted it may have been overtaken."""
    try:
        if coord.head is None and open_ledger(coord) is None:
            return False
        member = coord.known.state.agents.get(loss.agent)
        if member is None or member.seq < loss.seq:
            return False
        # With a remote only what it has is taken over; here two processes may place the same operation differently.
        return coord.remote is not None or loss.commit in lineage(coord.store, coord.known.oid, None)
    except CoordError:
        return False
