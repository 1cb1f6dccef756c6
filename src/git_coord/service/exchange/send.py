"""What is said to others leaves with the command that says it, in one push; what did not is counted till a sync."""

from __future__ import annotations

from git_coord.domain.announcements import Posts
from git_coord.domain.ids import Agent
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.service.announce import read_fetched, read_live
from git_coord.service.beat import beat_if_due, note_pushed
from git_coord.service.context import Coord
from git_coord.service.remote_ledger import LEDGER_FAMILIES, fetch_and_adopt, own_updates
from git_coord.service.requests import read_requests
from git_coord.store import refnames
from git_coord.store.interface import PushStatus
from git_coord.store.refnames import Family

from .parts import push
from .refusal import host_refusal

SAID = (Family.POSTS, Family.PRESENCE)
NOT_SENT = "not sent, the next sync carries it"


def send(coord: Coord) -> str | None:
    """Push what the acting agent says of itself: its posts and its presence; return why that was not sent, if so.

    It is done here all the same. Without a remote everybody who can read it has it already. Raises CoordError for
    anything but a remote that gives no answer, or does not take it.
    """
    if coord.remote is None:
        return None
    beat_if_due(coord)
    try:
        return _send(coord)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN:
            raise
        return trouble.message


def _send(coord: Coord) -> str | None:
    for _ in range(2):
        mine = own_updates(coord, [coord.me.agent])
        updates = [update for update in mine if (name := refnames.parse(update.ref)) and name.family in SAID]
        if not updates:
            return None
        coord.reach("before push")
        results = push(coord, updates)
        coord.reach("after push")
        note_pushed(coord, results)
        refused = [result for result in results if result.status is PushStatus.REJECTED]
        if not refused:
            return None
        fetch_and_adopt(coord, (*LEDGER_FAMILIES, *SAID))  # another clone of the agent's pushed its own
    return host_refusal(coord, refused[0]).message


class Unsent(NamedTuple):
    """How much of this clone's agents the remote does not have yet; presence counts agents."""

    posts: int = 0
    presence: int = 0
    operations: int = 0

    def words(self) -> str:
        """Name what there is of it; nothing for nothing."""
        parts = [f"{self.posts} post{'s' * (self.posts != 1)}"] if self.posts else []
        parts += ["presence"] if self.presence else []
        parts += [f"{self.operations} operation{'s' * (self.operations != 1)}"] if self.operations else []
        return ", ".join(parts)


def unsent(coord: Coord) -> Unsent:
    """Count what a sync would carry: posts that are new, changed or removed, presence, operations."""
    if coord.remote is None or coord.head is None:
        return Unsent()
    moved = _moved(coord)
    families = {family for family, _ in moved}
    posts = presence = 0
    for family in families & {*SAID}:
        there = read_fetched(coord, family, coord.head)
        for agent, record in read_live(coord, family, coord.head).items():
            old = there.get(agent)
            if (family, agent) not in moved or (old is not None and old.seq >= record.seq):
                continue
            if isinstance(record, Posts):
                was = old.posts if isinstance(old, Posts) else ()
                posts += len({post.id for post in {*record.posts} ^ {*was}})
            else:
                presence += 1
    return Unsent(posts, presence, _operations(coord) if Family.REQUESTS in families else 0)


def _moved(coord: Coord) -> set[tuple[Family, Agent]]:
    """Return which records of this clone's own agents the remote had otherwise when it was asked last."""
    names = [refnames.parse(update.ref) for update in own_updates(coord)]
    return {(name.family, name.agent) for name in names if name is not None and name.agent is not None}


def _operations(coord: Coord) -> int:
    there = {oid for request in read_requests(coord, fetched=True) for oid in request.blobs.values()}
    return len({oid for each in read_requests(coord, fetched=False) for oid in each.blobs.values()} - there)
