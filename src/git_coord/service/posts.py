"""The postboard: one signed list an agent, which only its author changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from git_coord.domain.announcements import MAX_POSTS, Post, Posts
from git_coord.domain.ids import Agent, Nonce
from git_coord.errors import CoordError, Kind
from git_coord.store.refnames import Family

from .announce import read_all, replace_own
from .context import Coord


@dataclass(frozen=True, slots=True)
class Posted:
    """A post with its author."""

    agent: Agent
    post: Post


def board(coord: Coord) -> list[Posted]:
    """Return everybody's posts, the oldest first."""
    found = [
        Posted(agent, post)
        for agent, record in read_all(coord, Family.POSTS).items()
        if isinstance(record, Posts)
        for post in record.posts
    ]
    return sorted(found, key=lambda posted: (posted.post.at, posted.agent, posted.post.id))


def add_post(coord: Coord, text: str, to: Agent | None, claim: Nonce | None) -> Posted:
    """Append a post. Raises CoordError(USAGE) when the list is full: remove or finish some first."""
    post = Post(coord.nonce()[:8], coord.clock.now(), "open", text, to, claim)

    def added(posts: tuple[Post, ...]) -> tuple[Post, ...]:
        kept = posts
        if len(kept) >= MAX_POSTS:
            kept = tuple(p for p in posts if p.status in ("open", "taken"))
        if len(kept) >= MAX_POSTS:
            raise CoordError(Kind.USAGE, f"{MAX_POSTS} posts are open already", next="git coord posts")
        return (*kept, post)

    _change(coord, added)
    return Posted(coord.me.agent, post)


def update_post(coord: Coord, post_id: str, status: str | None, text: str | None) -> Posted:
    """Change an own post; raises CoordError(LOST) for another's or an unknown one."""

    def changed(posts: tuple[Post, ...]) -> tuple[Post, ...]:
        _own(coord, posts, post_id)
        return tuple(
            p._replace(status=status or p.status, text=text or p.text) if p.id == post_id else p for p in posts
        )

    made = _change(coord, changed)
    return Posted(coord.me.agent, next(post for post in made.posts if post.id == post_id))


def remove_post(coord: Coord, post_id: str) -> Posted:
    """Remove an own post; raises CoordError(LOST) for another's or an unknown one."""
    gone: list[Post] = []

    def changed(posts: tuple[Post, ...]) -> tuple[Post, ...]:
        gone[:] = [_own(coord, posts, post_id)]
        return tuple(post for post in posts if post.id != post_id)

    _change(coord, changed)
    return Posted(coord.me.agent, gone[0])


def _own(coord: Coord, posts: tuple[Post, ...], post_id: str) -> Post:
    for post in posts:
        if post.id == post_id:
            return post
    author = next((posted.agent for posted in board(coord) if posted.post.id == post_id), None)
    message = f"post {post_id} is {author}'s" if author else f"there is no post {post_id}"
    raise CoordError(Kind.LOST, message, next="git coord posts")


def _change(coord: Coord, change: Callable[[tuple[Post, ...]], tuple[Post, ...]]) -> Posts:
    def make(old: Posts | None, seq: int) -> Posts:
        return Posts(
            repo=coord.known.state.repo,
            agent=coord.me.agent,
            session=coord.me.session,
            seq=seq,
            at=coord.clock.now(),
            nonce=coord.nonce(),
            head=coord.known.oid,
            posts=change(old.posts if old else ()),
        )

    made = replace_own(coord, Family.POSTS, make)
    assert isinstance(made, Posts)
    return made
