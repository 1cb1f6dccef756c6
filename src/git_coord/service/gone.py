"""Claims that were taken from an agent, kept until something it guards has stopped because of them, a day at most."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Sequence
from typing import Any

from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.state import State
from git_coord.guard import beats as files

from .context import Coord
from .endings import Ended
from .leases import Gone

FOLDER = files.GONE
"""A file an agent, a line of JSON a claim. An empty one has the guard look what became of what the agent holds."""
SAID = "gone.said"
"""The same, of claims for which something has stopped: whoever asks for their tokens is told again."""
KEPT_SECONDS = 86400


def keep(coord: Coord, gone: Sequence[Gone]) -> None:
    """Add claims that were found gone, for the next commit of what they held."""
    rows = [_row(coord.clock.now(), each) for each in gone if each.ended.is_loss]
    if rows:
        coord.files.append(_name(coord), "".join(rows).encode("ascii"))


def kept(coord: Coord) -> list[Gone]:
    """Return the claims that nothing has stopped for yet."""
    return [each for at, each in _read(coord, FOLDER) if 0 <= coord.clock.now() - at < KEPT_SECONDS]


def known(coord: Coord) -> list[Gone]:
    """Return the claims that were taken within a day, also those that something has stopped for."""
    return [*kept(coord), *(each for _, each in _read(coord, SAID))]


def forget(coord: Coord, tokens: Collection[int]) -> None:
    """Let claims stop nothing any more, and forget those kept for long enough; no rest, no file."""
    rows = _read(coord, FOLDER)
    said = [row for row in rows if row[1].token in tokens]
    _write(coord, FOLDER, [row for row in rows if row not in said])
    if said:
        _write(coord, SAID, [*_read(coord, SAID), *said])


def _write(coord: Coord, folder: str, rows: Sequence[tuple[int, Gone]]) -> None:
    now, name = coord.clock.now(), f"{folder}/{coord.me.agent}"
    fresh = [_row(at, each) for at, each in rows if 0 <= now - at < KEPT_SECONDS]
    if fresh:
        coord.files.write(name, "".join(fresh).encode("ascii"))
    else:
        coord.files.remove(name)


def note_others(coord: Coord, state: State) -> None:
    """Have the guard ask for each other agent of this clone that does not hold any more what it held.

    Their next command finds out why; a claim that is free again would not stop a commit of theirs before that.
    """
    me = coord.identity.agent if coord.identity else None
    with contextlib.suppress(OSError):
        for agent in os.listdir(coord.files.path(files.LEASES)):
            rows = (coord.files.read(f"{files.LEASES}/{agent}") or b"").decode("ascii", "replace").split("\n")[3:]
            if agent != me and any(row and row.split(" ")[0] not in state.claims for row in rows):
                coord.files.append(f"{FOLDER}/{agent}", b"")


def _name(coord: Coord) -> str:
    return f"{FOLDER}/{coord.me.agent}"


def _row(at: int, gone: Gone) -> str:
    items = [[item.kind.value, item.name, item.intent.value] for item in gone.ended.items]
    ended = gone.ended._asdict() | {"items": items}
    return json.dumps({"noted": at, "token": gone.token, "ended": ended}) + "\n"


def _read(coord: Coord, folder: str) -> list[tuple[int, Gone]]:
    found = []
    for line in (coord.files.read(f"{folder}/{coord.me.agent}") or b"").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row: dict[str, Any] = json.loads(line)
            items = tuple(Item(ItemKind(kind), name, Intent(intent)) for kind, name, intent in row["ended"]["items"])
            found.append((int(row["noted"]), Gone(int(row["token"]), Ended(**row["ended"] | {"items": items}))))
    return found
