"""What an edit hook says of a refusal: who is in the way, until when, and the next command; no decisions here."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from git_coord.domain.durations import show_age
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError
from git_coord.lean import NamedTuple

if TYPE_CHECKING:
    from git_coord.hooks.judge import Judgement, Obstacle

MOST_ROWS = 10


class Speller(NamedTuple):
    """How a command is typed where the agent stands: `git coord` there, paths against its folder."""

    command: str
    prefix: str

    def path(self, path: str) -> str:
        """Return a path as an argument that is no option."""
        name = os.path.relpath(path, self.prefix) if self.prefix else path
        return quote(escape_for_display(f"./{name}" if name.startswith("-") else name))

    def paths(self, paths: Sequence[str]) -> str:
        """Return the first of several as arguments."""
        return " ".join(self.path(path) for path in paths[:MOST_ROWS])


def speller(top: str, cwd: str) -> Speller:
    """Return how to spell for somebody who stands in `cwd`, inside the worktree or not."""
    here = os.path.realpath(cwd)
    if here == top or here.startswith(f"{top.rstrip('/')}/"):
        return Speller("git coord", "" if here == top else os.path.relpath(here, top))
    return Speller(f"git -C {quote(escape_for_display(top))} coord", "")


def held(judged: Judgement, spell: Speller, now: int, as_of: int | None, *, may_write: bool = True) -> str:
    """Return the text for files that somebody else holds; `as_of` is the picture's age in seconds.

    Who may not write at the remote is not told to ask there.
    """
    first = judged.claimed[0].held.claim
    rows = [_row(one, now) for one in judged.claimed[:MOST_ROWS]]
    more = [f"  … and {len(judged.claimed) - MOST_ROWS} more"] if len(judged.claimed) > MOST_ROWS else []
    age = [] if as_of is None else [f"as of {show_age(as_of)} ago"]
    path = spell.path(judged.claimed[0].path)
    need = quote(f"need {escape_for_display(judged.claimed[0].path)}"[:400])
    steps = [
        f"next   {spell.command} check {path}      (wait, try again at most three times, then do something else)",
        f"       {spell.command} post --to {first.holder} {need}",
    ]
    return "\n".join(["git coord: not yours to change", *rows, *more, *age, *(steps if may_write else steps[:1])])


def _row(one: Obstacle, now: int) -> str:
    claim, seen = one.held.claim, one.held
    name = f"#{claim.token}" if seen.is_confirmed else "(unconfirmed)"
    if not claim.token:
        until = clock_time(seen.lease_until, now)
        return f"  {escape_for_display(one.path)}   {claim.holder} waits for it, nobody else may begin until {until}"
    purpose = f'   "{escape_for_display(claim.purpose)}"' if claim.purpose else ""
    until = clock_time(seen.lease_until, now)
    lease = f"its lease is over since {until}" if seen.is_stale else f"until {until}"
    return f"  {escape_for_display(one.path)}   held by {claim.holder} {name}   {lease}{purpose}"


def lapsed(judged: Judgement, spell: Speller, *, has_remote: bool) -> str:
    """Return the text for files under a claim of one's own that nobody vouches for any more."""
    names = spell.paths([one.path for one in judged.lapsed])
    step = f"{spell.command} sync" if has_remote else f"{spell.command} renew {names}"
    return f"git coord: your claim of {names} has ended, somebody may have it by now\nnext   {step}"


def unclaimed(paths: Sequence[str], spell: Speller) -> str:
    """Return the text for files that the team wants claimed first."""
    names = spell.paths(paths)
    return f"git coord: .coord.toml wants a claim before this is changed: {names}\nnext   {spell.command} claim {names}"


def changed(paths: Sequence[str], spell: Speller) -> str:
    """Return the text for files that somebody changed under the agent's own claim."""
    names = spell.paths(paths)
    return (
        f"git coord: changed under your claim, by something else than your own edits: {names}\n"
        f"next   read it again, then: {spell.command} claim {names}"
    )


def trouble(found: CoordError) -> str:
    """Return the text for not being able to find out, which is never a yes."""
    lines = [f"git coord: cannot tell whether this is free: {escape_for_display(found.message)}"]
    lines += [f"next   {escape_for_display(found.next)}"] if found.next else []
    return "\n".join([*lines, "       (GIT_COORD_MODE=warn, or git config coord.mode warn, only warns)"])


def clock_time(stamp: int, now: int) -> str:
    """Return a local time, with the date when it is not today."""
    local = time.localtime(stamp)
    return time.strftime("%H:%M" if time.localtime(now)[:3] == local[:3] else "%Y-%m-%d %H:%M", local)
