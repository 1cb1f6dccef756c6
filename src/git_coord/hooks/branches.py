"""Branches that a push would move, make or delete, and another agent's claims on them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.text import escape_for_display
from git_coord.lean import NamedTuple

from .breaches import clock_time

if TYPE_CHECKING:
    from git_coord.app import App
    from git_coord.domain.ids import Agent
    from git_coord.service.query import Held, Picture
    from git_coord.service.sessions import Nobody

MOST_ROWS = 20
BYPASS = "bypass  GIT_COORD_BYPASS=1 git push …      (recorded: a post tells the holder)"


class Taken(NamedTuple):
    """A branch of the push, the claim in its way and the item of it: the branch, or what it lies below."""

    branch: str
    held: Held
    item: Item


def taken(now: Picture, me: Agent | None, names: Iterable[str]) -> list[Taken]:
    """Return the edit claims of others on these branches; without a name of one's own every claim is somebody else's.

    A read claim keeps others from claiming the branch for edit, and nobody from pushing.
    """
    found = []
    for name in names:
        for nonce, position in now.state.index.overlapping(Item(ItemKind.BRANCH, name, Intent.EDIT)):
            claim = now.state.claims[nonce]
            item = claim.items[position]
            if claim.holder != me and item.intent is Intent.EDIT:
                found.append(Taken(name, now.held(claim), item))
    return found


def refusal(found: Sequence[Taken], total: int, now: int, *, nobody: Nobody | None, warns: bool) -> list[str]:
    """Return the lines that explain why a push of `total` branches is refused, or warned of."""
    count = len({one.branch for one in found})
    said = "warning" if warns else "push refused"
    branches = "branch" if total == 1 else "branches"
    head = f"git coord: {said}, {count} of {total} {branches} {'is' if count == 1 else 'are'} claimed"
    shown = found[:MOST_ROWS]
    width = max(len(escape_for_display(one.branch)) for one in shown)
    rows = [f"  {escape_for_display(one.branch):{width}}   {_claim(one, now)}" for one in shown]
    more = [f"  … and {len(found) - MOST_ROWS} more"] if len(found) > MOST_ROWS else []
    return [head, *rows, *more, *([nobody.line] if nobody is not None else [])]


def _claim(one: Taken, now: int) -> str:
    claim = one.held.claim
    token = f"#{claim.token}" if one.held.is_confirmed else "(unconfirmed)"
    above = "" if one.item.name == one.branch else f" branch:{one.item.name}"
    purpose = f'   "{claim.purpose}"' if claim.purpose else ""
    until = "stale since" if one.held.is_stale else "until"
    return f"{claim.holder} {token}{above}{purpose}   {until} {clock_time(one.held.lease_until, now)}"


def way_out(one: Taken) -> str:
    """Return the next command for the first of several branches."""
    return f"git coord post --to {one.held.claim.holder} {quote(f'need branch:{one.branch}')}"


def note_bypass(app: App, names: Iterable[str]) -> None:
    """Tell each holder, by a post that is sent at once, that a push went past its claim on a branch.

    Nothing else would show it: CI judges commits, and a bypassed push leaves none of its own.
    """
    from git_coord.errors import CoordError, Kind
    from git_coord.service.exchange.send import NOT_SENT, send
    from git_coord.service.posts import add_post
    from git_coord.service.query import picture
    from git_coord.service.sync import freshen

    if app.coord.identity is None:
        return
    try:
        freshen(app.coord, is_local=False)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN or app.coord.head is None:
            raise  # else by the picture there is: the holder is to be told all the same
    told = []
    for one in taken(picture(app.coord), app.coord.me.agent, names):
        claim = one.held.claim
        text = f"pushed to branch:{escape_for_display(one.branch)[:400]} past #{claim.token} (GIT_COORD_BYPASS)"
        add_post(app.coord, text, claim.holder, claim.op)
        told.append((text, claim.holder))
    is_sent = bool(told) and send(app.coord) is None
    for text, holder in told:
        sys.stderr.write(
            f"git coord: {text}; {f'{holder} is told' if is_sent else f'the word to {holder} is {NOT_SENT}'}\n"
        )
