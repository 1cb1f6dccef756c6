"""A ledger whose last operation says that it goes on elsewhere: nothing is placed any more where it was."""

from __future__ import annotations

from git_coord.domain.statements import Move
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.service.adopt import operations_of
from git_coord.service.context import Coord
from git_coord.store.interface import Place

FOLLOW = "git coord move --follow"


def is_plain_url(url: str) -> bool:
    """Tell whether a URL names a repository and cannot start a program: no option, no remote helper (`ext::…`)."""
    scheme, found, _ = url.partition("://")
    if found:
        return scheme in ("https", "http", "ssh", "git", "file")
    return not url.startswith("-") and "::" not in url


def moved_away(coord: Coord) -> Move | None:
    """Return where the ledger went, when what is known of it ends with that, and another place is configured."""
    move = coord.head.state.moved if coord.head is not None else None
    if move is None or coord.remote is None or goes_to(move, coord.remote.place):
        return None
    last = operations_of(coord, [coord.known.oid])
    return move if any(isinstance(sealed.op, Move) for sealed in last) else None


def goes_to(move: Move, place: Place) -> bool:
    """Tell whether a place is the one that the move names, as far as their spellings tell."""
    from .one_place import same_repository  # noqa: PLC0415 - which asks here where the ledger went

    return move.prefix == place.prefix and (move.url is None or same_repository(move.url, place.url))


def check_moved(coord: Coord) -> None:
    """Raise CoordError(UNKNOWN) where the ledger went on elsewhere, with the command that follows it."""
    move = moved_away(coord)
    if move is None:
        return
    assert coord.remote is not None
    where = move.prefix if move.url is None else f"{move.url}, {move.prefix}"
    why = f', "{move.reason}"' if move.reason else ""
    text = (
        f"{move.agent} moved the ledger from {coord.remote.place.shown()} to {where}{why}; nothing counts here any more"
    )
    data = {"moved": {"by": move.agent, "prefix": move.prefix, "url": move.url, "reason": move.reason}}
    raise CoordError(Kind.UNKNOWN, escape_for_display(text), next=FOLLOW, data=data)
