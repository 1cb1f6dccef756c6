"""Violations in words, for pre-push and for `git coord verify`: a row each, and how to clear them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from shlex import quote

from git_coord.domain.ids import Agent
from git_coord.domain.verdict import Breach, Violation

WORDS = {
    Breach.NO_RECEIPT: "no receipt",
    Breach.HELD_NOW: "claimed since then",
    Breach.HELD_THEN: "held when it was committed",
    Breach.BYPASS: "bypassed",
    Breach.UNCLAIMED: "needs a claim",
}
SHORT = 7


def clock_time(stamp: int, now: int) -> str:
    """Return a local time, with the date when it is not today."""
    local = time.localtime(stamp)
    form = "%H:%M" if time.localtime(now)[:3] == local[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, local)


def rows(violations: Sequence[Violation], now: int) -> list[str]:
    """Return an aligned line for each violation: commit, path, who holds it since when, and how it is one."""
    cells = [(one.commit[:SHORT], one.path, _held(one, now), WORDS[one.kind]) for one in violations]
    widths = [max(len(cell[column]) for cell in cells) for column in (1, 2)]
    return [f"  {commit}  {path:{widths[0]}}   {held:{widths[1]}}   {why}" for commit, path, held, why in cells]


def _held(one: Violation, now: int) -> str:
    if one.claim is None:
        return "held by nobody"
    return f"held by {one.claim.holder} #{one.claim.token} since {clock_time(one.claim.at, now)}"


def way_out(one: Violation, me: Agent | None) -> str:
    """Return the next command for the first of several violations."""
    again = f"git rebase --no-ff {one.commit[:SHORT]}^"
    path = quote(one.path) if not one.path.startswith("-") else quote(f"./{one.path}")
    if one.claim is None:
        return again if one.kind is Breach.BYPASS else f"git coord claim {path}; then commit it anew: {again}"
    if one.claim.holder == me:
        return f"{again}      (your claim, but the commit has no receipt)"
    return (
        f"git coord post --to {one.claim.holder} {quote(f'need {one.path}')}; once it is yours, commit it anew: {again}"
    )
