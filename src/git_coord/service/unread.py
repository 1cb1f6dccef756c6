"""Posts that the agent has not read: said once, inside the output of a command that it runs anyway."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from git_coord.domain.digest import new
from git_coord.domain.ids import Agent
from git_coord.errors import CoordError
from git_coord.lean import NamedTuple

from .context import Coord
from .ledger import open_ledger
from .posts import LIVE, Posted, board
from .unread_marks import marks, news, write_marks

AT_ONCE = 5
"""Notices in one command, at most; the rest is one line."""


class Notice(NamedTuple):
    """What an agent is told of a post: that it is there, or that somebody took its own."""

    posted: Posted
    mark: str
    line: str


def unread(coord: Coord, shown: Iterable[Posted] | None = None) -> list[Notice]:
    """Return what the agent was not told yet in this session, of the whole board or of these posts."""
    read = marks(coord)
    return [notice for notice in _notices(coord, board(coord) if shown is None else shown) if notice.mark not in read]


def mark_read(coord: Coord, shown: Iterable[Posted]) -> None:
    """Remember that these posts were shown to the agent; where nothing can be written they are told once more."""
    if coord.identity is None:
        return
    fresh = {notice.mark for notice in unread(coord, shown)}
    if fresh:
        with contextlib.suppress(OSError):
            write_marks(coord, None, marks(coord) | fresh)


def tell(coord: Coord) -> list[str]:
    """Return what the agent is to be told now, and remember that it was; nothing changed since costs next to nothing.

    A board that cannot be read is no reason for the command to fail: it is looked at again next time.
    """
    if coord.identity is None or (stamp := news(coord)) is None:
        return []
    try:
        if coord.head is None and open_ledger(coord) is None:
            return []
        everything = list(_notices(coord, board(coord)))
        read = marks(coord)
        write_marks(coord, stamp, {notice.mark for notice in everything})
    except (CoordError, OSError):
        return []
    lines = [notice.line for notice in everything if notice.mark not in read]
    more = [f"{len(lines) - AT_ONCE} more posts: git coord posts --for me"] if len(lines) > AT_ONCE else []
    return [*lines[:AT_ONCE], *more]


def _notices(coord: Coord, posts: Iterable[Posted]) -> Iterable[Notice]:
    me = coord.me.agent
    for posted in posts:
        post = posted.post
        if post.status not in LIVE:
            continue
        if posted.agent == me and posted.taker is not None and posted.taking is not None:
            words = f': "{posted.taking.text}"' if posted.taking.text else ""
            said = "is done with" if posted.taking.status == "done" else "took"
            line = f'{posted.taker} {said} your post {post.id} "{post.text}"{words}'
            yield Notice(posted, _mark(posted.agent, post.id, f"{posted.taker} {said} {words}"), line)
        elif posted.is_for(me) and posted.taker is None:
            about = f" about #{posted.token}" if posted.token is not None else ""
            line = f'post {post.id} from {posted.agent}{about}: "{post.text}"   git coord post take {post.id}'
            yield Notice(posted, _mark(posted.agent, post.id, post.text), line)


def _mark(agent: Agent, post_id: str, words: str) -> str:
    return f"{agent}/{post_id}/{new('sha256', words.encode()).hexdigest()[:8]}"
