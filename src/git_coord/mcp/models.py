"""The objects of the tools, as clients are told them; the fields are those of `--json`, where more may be added."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

Path = str | dict[str, str]
"""A path, `{"b64": …}` for one that is not UTF-8."""


class Shape(BaseModel):
    """An object that may have more fields than are named."""

    model_config = ConfigDict(extra="allow")


class Answer(Shape):
    """What every answer has; refusals have `ok` false, and say why and what to do next."""

    ok: bool = Field(description="Whether it is so: granted, done, free. False is a refusal, not a broken tool.")
    code: str | None = Field(None, description="conflict, lost, unknown, stale, blocked, timeout, usage, error, …")
    message: str | None = None
    next: str | None = Field(None, description="The command to try next, as typed at a shell.")
    notices: list[str] | None = Field(None, description="What you are to know besides: posts for you, claims lost.")


class Item(Shape):
    """What is claimed; `blob` is its content when it was claimed."""

    path: Path
    intent: str
    match: str
    blob: str | None = None


class Claim(Shape):
    """A live claim; `token` is null while the remote has not confirmed it."""

    token: int | None
    agent: str
    items: list[Item]
    purpose: str
    lease_until: str
    holder_stale: bool


class Conflict(Shape):
    """Who is in the way of what."""

    holder: str | None = None
    path: Path | None = None
    intent: str | None = None
    purpose: str | None = None
    claimed_at: str | None = None
    lease_until: str | None = None
    holder_stale: bool | None = None
    token: int | None = None


class ClaimAnswer(Answer, Conflict):
    """A grant, or a refusal: flat fields describe the first conflict, `conflicts` all of them."""

    agent: str | None = None
    confirmed: bool | None = None
    items: list[Item] | None = None
    conflicts: list[Conflict] | None = None


class ChangeAnswer(Answer):
    """What was given back."""

    confirmed: bool | None = None
    claims: list[Claim] | None = None


class Checked(Shape):
    """One resource: free, mine, held, stale, blocked or unknown."""

    path: Path
    status: str
    holder: str | None


class CheckAnswer(Answer):
    """What was found of each resource, and as of when."""

    resources: list[Checked] | None = None
    as_of: str | None = None


class Waiter(Shape):
    """A claim in the queue, and who is in its way."""

    agent: str
    items: list[Item]
    behind: list[Conflict]


class ClaimsAnswer(Answer):
    """The live claims."""

    claims: list[Claim] | None = None
    waiting: list[Waiter] | None = None
    as_of: str | None = None


class Member(Shape):
    """One agent, and how to reach it: send, queue or hold."""

    agent: str
    state: str
    advice: str


class Post(Shape):
    """One post of the board."""

    id: str
    agent: str
    status: str
    text: str
    to: str | None = None


class PostAnswer(Answer):
    """The post as it is now."""

    id: str | None = None
    agent: str | None = None
    status: str | None = None
    text: str | None = None


class PostsAnswer(Answer):
    """The board, the oldest post first."""

    posts: list[Post] | None = None
    as_of: str | None = None


class StatusAnswer(ClaimsAnswer):
    """Agents, claims and posts."""

    agents: list[Member] | None = None
    posts: list[Post] | None = None
    warnings: list[str] | None = None


class WhoAnswer(Answer):
    """Who acts here, in which ledger."""

    agent: str | None = None
    session: str | None = None
    repo: str | None = None
    remote: str | None = None


class Lost(Shape):
    """What the agent held and does not any more: how it ended, and by whom."""

    token: int | None = None
    how: str | None = None
    by: str | None = None


class RejoinAnswer(Answer):
    """What the agent still holds, what it lost, and which posts are not over."""

    agent: str | None = None
    session: str | None = None
    claims: list[Claim] | None = None
    lost: list[Lost] | None = None
    posts: list[Post] | None = None


class PresenceAnswer(Answer):
    """How the agent is now."""

    agent: str | None = None
    state: str | None = None
    since: str | None = None
