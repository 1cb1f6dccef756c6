"""What makes looking for unread posts cheap: one file says whether any list changed, one an agent what it has read."""

from __future__ import annotations

from git_coord.domain.digest import new
from git_coord.store import refnames
from git_coord.store.refnames import Family

from .context import Coord

NEWS = "posts.news"
"""Holds a digest of all lists as this clone last saw them change; without it there never was a post here."""
READ = "posts.read"
"""Folder with a file for each agent and session: the digest it was told about, then a mark for each post it read."""


def note_news(coord: Coord) -> None:
    """Write down which lists this clone has now; called by whoever fetches or changes them."""
    refs = coord.store.refs(refnames.prefix(Family.POSTS), refnames.prefix(Family.POSTS, fetched=True))
    if not refs:
        return
    digest = new("sha256", b"".join(f"{ref} {oid}\n".encode() for ref, oid in sorted(refs.items())))
    stamp = f"{digest.hexdigest()}\n".encode("ascii")
    if coord.files.read(NEWS) != stamp:
        coord.files.write(NEWS, stamp)


def news(coord: Coord) -> str | None:
    """Return the digest of the lists when the agent was not told about them yet; two small files are read."""
    stamp = coord.files.read(NEWS)
    if stamp is None:
        return None
    told = coord.files.read(_name(coord)) or b""
    return None if told.startswith(stamp) else stamp.decode("ascii", "replace").strip()


def marks(coord: Coord) -> set[str]:
    """Return the marks of what the agent has read in this session."""
    return set((coord.files.read(_name(coord)) or b"").decode("ascii", "replace").split("\n")[1:]) - {""}


def write_marks(coord: Coord, told: str | None, read: set[str]) -> None:
    """Remember what was read, and about which lists the agent was told (None: as before)."""
    if told is None:
        told = (coord.files.read(_name(coord)) or b"").decode("ascii", "replace").partition("\n")[0]
    text = "\n".join([told, *sorted(read), ""])
    coord.files.write(_name(coord), text.encode("ascii"))


def _name(coord: Coord) -> str:
    return f"{READ}/{coord.me.agent}.{coord.me.session}"
