"""A worktree that gets another agent: what the one before it holds is handed over, and it is seen to have gone."""

from __future__ import annotations

from contextlib import suppress

from git_coord.domain.ids import Agent
from git_coord.domain.state import LiveClaim
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Identity
from git_coord.service.handover import hand_over
from git_coord.service.leases import named, remember
from git_coord.service.ledger import view
from git_coord.service.presence import Wish, set_presence
from git_coord.service.selection import Selection
from git_coord.service.sync import sync

from .root import App, agent_signer, worktrees_own

WORD = "replaced by {} in its worktree"


def leaving_agent(app: App, wanted: str | None, *, hands_over: bool) -> Agent | None:
    """Return the worktree's agent when `wanted` is another one and this is its session, else None.

    Raises CoordError(CONFLICT) with both ways on when it holds something that it does not hand over.
    """
    own = worktrees_own(app.config, app.location)
    if wanted is None or own in (None, wanted) or app.env.get("GIT_COORD_AGENT") or app.coord.head is None:
        return None
    member = app.coord.known.state.agents.get(Agent(own or ""))
    if member is None or member.session != app.coord.me.session:
        return None
    old = Agent(own or "")
    if not hands_over and (held := view(app.coord)[0].held_by(old)):
        again = f"git coord init --agent {wanted}"
        raise CoordError(
            Kind.CONFLICT,
            f"this worktree is {old}'s, who holds {_named(held)}: hand it over, or give it back first"
            f" (git coord release --all && {again})",
            next=f"{again} --hand-over",
            data={"agent": old, "tokens": [int(claim.token) for claim in held]},
        )
    return old


def _named(held: list[LiveClaim]) -> str:
    first = held[0]
    return named(first.token, (item for _, item in first.live())) + (f" and {len(held) - 1} more" if held[1:] else "")


def replace_agent(app: App, old: Agent, new: Agent) -> tuple[int, ...]:
    """Let the old agent hand over what it holds, sign what it committed, and say goodbye; return the new tokens.

    The new one has joined, and acts again afterwards. Raises CoordError as `hand_over` does; then nothing has changed
    but what was handed over.
    """
    coord = app.coord
    acting = coord.identity, coord.signer
    coord.identity = Identity(old, coord.me.session)
    coord.signer = agent_signer(app, coord.known.state.repo, old)
    try:
        chosen = Selection(tuple((claim, None) for claim in view(coord)[0].held_by(old)))
        done = hand_over(coord, chosen, new, WORD.format(new)) if chosen.claims else []
        app.settle_receipts()  # nobody else will sign for its commits
        set_presence(coord, Wish("offline", note=WORD.format(new), will=""))
        remember(coord, view(coord)[0], shows=False)
        with suppress(CoordError):  # a remote that does not answer learns it later
            sync(coord)
    finally:
        coord.identity, coord.signer = acting
    return tuple(int(each.moved.token) for each in done if each.moved is not None)
