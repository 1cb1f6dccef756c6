"""One agent posts in two clones: what each has said meanwhile is kept when the list of the other arrives."""

from __future__ import annotations

from git_coord.domain.announcements import MAX_POSTS, Post, Posts
from git_coord.domain.ids import Oid
from git_coord.domain.statements import RECORD_LIMIT
from git_coord.store import refnames
from git_coord.store.refnames import Family

from ..announce import FILES, believed, replace_own
from ..context import Coord
from ..exchange.own_refs import own_live


def merge_lists(coord: Coord, before: Oid | None) -> None:
    """Put what this clone has not sent yet on top of the agent's list that was just fetched.

    `before` is what was known of the remote until then. Without it whatever is in either list is kept.
    """
    if coord.head is None or coord.actor is None or coord.signer is None:
        return
    ref = refnames.owned(Family.POSTS, coord.me.agent)
    live, there = own_live(coord, ref).get(ref), coord.store.refs(refnames.fetched(ref)).get(refnames.fetched(ref))
    if live is None or there is None or there in (live, before) or live == before:
        return
    ours, theirs, base = (_list(coord, oid) for oid in (live, there, before))
    if ours is None or theirs is None or ours.nonce == theirs.nonce:
        return
    was = base.posts if base is not None else ()
    replace_own(coord, Family.POSTS, lambda _old, seq: _made(coord, merged(was, ours.posts, theirs.posts), seq))


def merged(was: tuple[Post, ...], ours: tuple[Post, ...], theirs: tuple[Post, ...]) -> tuple[Post, ...]:
    """Return their list with what we added, changed and removed since both were as it `was`; the newest of many."""
    mine, base = {post.id: post for post in ours}, {post.id: post for post in was}
    gone = base.keys() - mine.keys()
    changed = {name: post for name, post in mine.items() if base.get(name) not in (None, post)}
    kept = [changed.get(post.id, post) for post in theirs if post.id not in gone]
    names = {post.id for post in kept}
    added = [post for post in ours if post.id not in base and post.id not in names]
    return tuple(sorted([*kept, *added], key=lambda post: post.at)[-MAX_POSTS:])


def _list(coord: Coord, oid: Oid | None) -> Posts | None:
    if oid is None:
        return None
    (blob,) = coord.store.read([f"{oid}:{FILES[Family.POSTS]}"], RECORD_LIMIT)
    found = blob and believed(coord, coord.known, coord.me.agent, blob.data, Posts)
    return found if isinstance(found, Posts) else None


def _made(coord: Coord, posts: tuple[Post, ...], seq: int) -> Posts:
    return Posts(
        repo=coord.known.state.repo,
        agent=coord.me.agent,
        session=coord.me.session,
        seq=seq,
        at=coord.clock.now(),
        nonce=coord.nonce(),
        head=coord.known.oid,
        posts=posts,
    )
