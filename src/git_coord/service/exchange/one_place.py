"""One ledger, one place: a clone remembers where its ledger lives, and takes no other place for it.

Whatever is configured later (another remote, URL or `coord.refPrefix`), a clone with a verified ledger founds nothing
there and pushes nothing there, unless what it finds is this very ledger: then it is the same place spelled anew.
"""

from __future__ import annotations

import os
import shlex

from git_coord.domain.ids import Oid
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Coord
from git_coord.service.files import CoordFiles
from git_coord.service.ledger import fetched_ledger, verified
from git_coord.service.lineage import lineage
from git_coord.store.interface import Place

from .moved import goes_to

FILE = "place"
"""Where the ledger was last seen: the folder this is written in, for a clone that was copied is another one; then
name, setting, URL and prefix of the place, a line each."""


def is_elsewhere(coord: Coord) -> bool:
    """Tell whether another place is configured than the one where this clone's verified ledger was last seen."""
    if coord.remote is None or coord.head is None:
        return False
    kept = _kept(coord)
    return kept is not None and not _is_same(kept, coord.remote.place)


def known_remote(files: CoordFiles) -> str | None:
    """Return the name of the remote at which this clone last saw its ledger."""
    kept = _read(files)
    return kept.name if kept else None


def remember_place(coord: Coord) -> None:
    """Write down where the ledger is, once it was seen there."""
    if coord.remote is None or coord.head is None or fetched_ledger(coord) is None:
        return
    here = coord.remote.place
    if _kept(coord) != here:
        lines = [coord.files.common, *here]
        coord.files.note(FILE, "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape"))


def judge_place(coord: Coord) -> None:
    """Compare what was just fetched from another place with the ledger that is known; raise where it is not that one.

    1. None there, or another one: CoordError(UNKNOWN). 2. Under another prefix: likewise, since the old one goes on,
    unless the ledger itself says that it moved there. 3. It goes on from ours: the same, by another URL. 4. It is
    older: so is every mirror; only a URL that plainly names the same repository is one that lost something.
    """
    if not is_elsewhere(coord):
        return
    assert coord.remote is not None
    kept, here, tip = _kept(coord), coord.remote.place, fetched_ledger(coord)
    assert kept is not None
    if tip is None:
        raise _refusal(kept, here, "has no ledger")
    known = coord.known.oid
    if known != tip and known not in lineage(coord.store, tip, None):
        is_older = tip in lineage(coord.store, known, None)
        if not is_older:
            raise _refusal(kept, here, "has another ledger")
        if kept.prefix != here.prefix or not same_repository(kept.url, here.url):
            raise _refusal(kept, here, "has an older copy of it")
    elif kept.prefix != here.prefix and not _has_moved(coord, tip, here):
        raise _refusal(kept, here, "has a copy of it")


def _has_moved(coord: Coord, tip: Oid, here: Place) -> bool:
    """Tell whether the chain that is there says, verified, that it went on at this place."""
    found = coord.head if coord.known.oid == tip else verified(coord, tip).head
    return found is not None and found.state.moved is not None and goes_to(found.state.moved, here)


def same_repository(one: str, other: str) -> bool:
    """Tell whether two URLs plainly name one repository, by whatever transport."""
    return _plain(one) == _plain(other)


def _plain(url: str) -> str:
    scheme, found, rest = url.partition("://")
    if not found:
        head, colon, path = url.partition(":")
        if not colon or "/" in head:
            return os.path.realpath(url).removesuffix("/.git").removesuffix(".git")
        rest = f"{head}/{path}"
    elif scheme == "file":
        return _plain(rest)
    host, _, path = rest.partition("/")
    name = host.rpartition("@")[2].lower()
    name = name if name.endswith("]") else name.partition(":")[0]
    return f"{name}/{path.strip('/').removesuffix('.git')}"


def _is_same(one: Place, other: Place) -> bool:
    return (one.url, one.prefix) == (other.url, other.prefix)


def _kept(coord: Coord) -> Place | None:
    return _read(coord.files)


def _read(files: CoordFiles) -> Place | None:
    lines = (files.read(FILE) or b"").decode(errors="surrogateescape").split("\n")
    is_whole = len(lines) == len(Place._fields) + 2 and lines[0] == files.common
    return Place(*lines[1:-1]) if is_whole else None


def _refusal(kept: Place, here: Place, what: str) -> CoordError:
    """Return the error that names both places, with the line that sets back what was changed."""
    text = f"this clone's ledger is at {kept.shown()}, and {here.shown()}, which is configured now, {what}"
    advice = "; nothing was pushed. To move the whole team, set it back first: git coord move"
    data = {"ledger_at": kept.shown(), "configured": here.shown()}
    return CoordError(Kind.UNKNOWN, escape_for_display(text) + advice, next=_set_back(kept, here), data=data)


def _set_back(kept: Place, here: Place) -> str:
    """Return the command that undoes the change; a value set in this clone wins over one of the user or system."""
    if kept.url != here.url:
        if kept.name != here.name:
            return f"git config coord.remote {shlex.quote(kept.name)}"
        return f"git config --replace-all remote.{shlex.quote(here.name)}.{here.setting} {shlex.quote(kept.url)}"
    return f"git config --replace-all coord.refPrefix {shlex.quote(kept.prefix)}"
