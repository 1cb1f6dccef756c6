"""The postboard: one signed list an agent, which only its author changes; who takes a post says so in its own list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from git_coord.domain.announcements import MAX_POSTS, Post, Posts, Taken
from git_coord.domain.ids import Agent, Nonce
from git_coord.errors import CoordError, Kind
from git_coord.store.refnames import Family

from .announce import read_all, replace_own
from .context import Coord
from .unread_marks import note_news

LIVE = ("open", "taken")
"""What is not over yet."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A post with its author, and the entry of who took it on; `token` is that of the claim it is about, while live."""

    agent: Agent
    post: Post
    taker: Agent | None = None
    taking: Post | None = None
    token: int | None = None
    about: Agent | None = None
    """Who holds that claim."""

    @property
    def status(self) -> str:
        """The author's word; an open post that somebody took is taken, and only its author calls it done."""
        return "taken" if self.post.status == "open" and self.taker is not None else self.post.status

    def is_for(self, agent: Agent) -> bool:
        """Tell whether it is addressed to an agent: by name, through a claim it holds, or as one of everybody."""
        if self.agent == agent:
            return False
        if self.post.to is not None:
            return self.post.to == agent
        return self.post.claim is None or self.about == agent


def board(coord: Coord) -> list[Posted]:
    """Return everybody's posts, the oldest first, each with the first who took it."""
    found = [
        (agent, post)
        for agent, record in read_all(coord, Family.POSTS).items()
        if isinstance(record, Posts)
        for post in record.posts
    ]
    found.sort(key=lambda pair: (pair[1].at, pair[0], pair[1].id))
    taken: dict[Taken, tuple[Agent, Post]] = {}
    for agent, post in found:
        if post.takes is not None and post.takes.agent != agent and post.status in ("taken", "done"):
            taken.setdefault(post.takes, (agent, post))
    return [_posted(coord, agent, post, taken) for agent, post in found if post.takes is None]


def _posted(coord: Coord, agent: Agent, post: Post, taken: dict[Taken, tuple[Agent, Post]]) -> Posted:
    taker, taking = taken.get(Taken(agent, post.id), (None, None))
    claim = coord.known.state.claims.get(post.claim) if post.claim else None
    return Posted(agent, post, taker, taking, claim.token if claim else None, claim.holder if claim else None)


def add_post(coord: Coord, text: str, to: Agent | None, claim: Nonce | None) -> Posted:
    """Append a post. Raises CoordError(USAGE) when the list is full: remove or finish some first."""
    post = Post(coord.nonce()[:8], coord.clock.now(), "open", text, to, claim)
    _change(coord, lambda posts: _added(posts, post))
    return _posted(coord, coord.me.agent, post, {})


def _added(posts: tuple[Post, ...], post: Post) -> tuple[Post, ...]:
    kept = posts
    if len(kept) >= MAX_POSTS:
        kept = tuple(p for p in posts if p.status in LIVE)
    if len(kept) >= MAX_POSTS:
        raise CoordError(Kind.USAGE, f"{MAX_POSTS} posts are open already", next="git coord posts")
    return (*kept, post)


def take_post(coord: Coord, post_id: str, note: str) -> Posted:
    """Take on somebody's post, in one's own list: only its author may change the post.

    With a remote it is asked before and told after. Raises CoordError(CONFLICT) when another took it first, LOST for
    an own or unknown post or one that is over, UNKNOWN when the remote cannot be asked.
    """
    if coord.remote is not None:
        from .remote_ledger import fetch_and_adopt  # noqa: PLC0415 - only a taker asks before it writes

        fetch_and_adopt(coord)
    wanted = _takeable(coord, post_id)
    if wanted.taker != coord.me.agent:
        entry = Post(
            coord.nonce()[:8], coord.clock.now(), "taken", note, wanted.agent, None, Taken(wanted.agent, post_id)
        )
        _change(coord, lambda posts: _added(posts, entry))
    return _told(coord, post_id)


def _takeable(coord: Coord, post_id: str) -> Posted:
    wanted = _find(coord, post_id)
    if wanted.agent == coord.me.agent:
        step = f"git coord post update {post_id} --status taken"
        raise CoordError(Kind.LOST, f"post {post_id} is your own", next=step)
    if wanted.post.status not in LIVE:
        raise CoordError(
            Kind.LOST, f"{wanted.agent} says that post {post_id} is {wanted.post.status}", next="git coord posts"
        )
    if wanted.taker not in (None, coord.me.agent):
        raise _taken_first(wanted)
    return wanted


def _told(coord: Coord, post_id: str) -> Posted:
    """Let others know, and look again: of two who take at once the later one gives way."""
    if coord.remote is not None:
        from .sync import sync  # noqa: PLC0415 - as above

        try:
            sync(coord)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN:
                raise
            text = f"{trouble.message}; that you take {post_id} is noted here, the next sync carries it"
            raise CoordError(Kind.UNKNOWN, text, next="git coord sync", data=trouble.data) from None
    made = _find(coord, post_id)
    if made.taker != coord.me.agent:
        _change(coord, lambda posts: tuple(p for p in posts if p.takes != Taken(made.agent, post_id)))
        raise _taken_first(made)
    return made


def _taken_first(posted: Posted) -> CoordError:
    return CoordError(
        Kind.CONFLICT,
        f"post {posted.post.id} is taken by {posted.taker}",
        next="git coord posts",
        data={"holder": posted.taker},
    )


def update_post(coord: Coord, post_id: str, status: str | None, text: str | None) -> Posted:
    """Change an own post, or one's own word about a post one took; raises CoordError(LOST) for any other."""

    def changed(posts: tuple[Post, ...]) -> tuple[Post, ...]:
        own = _own(coord, posts, post_id)
        return tuple(p._replace(status=status or p.status, text=text or p.text) if p.id == own.id else p for p in posts)

    _change(coord, changed)
    return _find(coord, post_id)


def remove_post(coord: Coord, post_id: str) -> Posted:
    """Remove an own post, or give back one that one took; raises CoordError(LOST) for any other."""
    before = next((posted for posted in board(coord) if posted.post.id == post_id), None)

    def changed(posts: tuple[Post, ...]) -> tuple[Post, ...]:
        own = _own(coord, posts, post_id)
        return tuple(post for post in posts if post.id != own.id)

    _change(coord, changed)
    return before or _find(coord, post_id)


def _find(coord: Coord, post_id: str) -> Posted:
    for posted in board(coord):
        if posted.post.id == post_id:
            return posted
    raise CoordError(Kind.LOST, f"there is no post {post_id}", next="git coord posts")


def _own(coord: Coord, posts: Iterable[Post], post_id: str) -> Post:
    """Return one's own post of this id, or the entry with which one took it."""
    for post in posts:
        if post_id == (post.takes.id if post.takes else post.id):
            return post
    found = _find(coord, post_id)
    raise CoordError(Kind.LOST, f"post {post_id} is {found.agent}'s", next=f"git coord post take {post_id}")


def _change(coord: Coord, change: Callable[[tuple[Post, ...]], tuple[Post, ...]]) -> None:
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

    replace_own(coord, Family.POSTS, make)
    note_news(coord)
