"""Violations in words, for pre-push and for `git coord verify`: a row each, and how to clear them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from shlex import quote

from git_coord.domain.commits import Described
from git_coord.domain.evidence import Breach, Violation
from git_coord.domain.ids import Agent, Oid
from git_coord.lean import NamedTuple
from git_coord.service.query import Picture

WORDS = {
    Breach.NO_RECEIPT: "no receipt",
    Breach.HELD_NOW: "claimed since then",
    Breach.HELD_THEN: "held when it was committed",
    Breach.BYPASS: "bypassed",
    Breach.UNCLAIMED: "needs a claim",
}
SHORT = 7
MOST_ROWS = 20
MOST_STEPS = 5
MOST_WORDS = 60


def clock_time(stamp: int, now: int) -> str:
    """Return a local time, with the date when it is not today."""
    local = time.localtime(stamp)
    form = "%H:%M" if time.localtime(now)[:3] == local[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, local)


def rows(
    violations: Sequence[Violation],
    now: int,
    about: Mapping[Oid, Described],
    until: Callable[[Violation], str] = lambda _one: "",
) -> list[str]:
    """Return an aligned line for each violation: commit, path, who holds it since when, how it is one, whose it is."""
    cells = [
        (one.commit[:SHORT], one.path, _held(one, now), WORDS[one.kind] + until(one), _by(one, about))
        for one in violations
    ]
    widths = [max(len(cell[column]) for cell in cells) for column in (1, 2, 3)]
    return [
        f"  {commit}  {path:{widths[0]}}   {held:{widths[1]}}   {why:{widths[2]}}   {by}".rstrip()
        for commit, path, held, why, by in cells
    ]


def refusal(
    found: Sequence[Violation], total: int, now: Picture, about: Mapping[Oid, Described], *, warns: bool
) -> list[str]:
    """Return what a push is refused for, or warned of: the commits, and until when each claim is good."""
    count = len({one.commit for one in found})
    said = "warning" if warns else "push refused"
    head = f"git coord: {said}, {count} of {total} commit{'s' * (total != 1)} against a claim"
    shown = found[:MOST_ROWS]
    lines = rows(shown, now.now, about, lambda one: _until(one, now))
    return [head, *lines, *([f"  … and {len(found) - MOST_ROWS} more"] if len(found) > MOST_ROWS else [])]


def _until(one: Violation, now: Picture) -> str:
    if one.claim is None:
        return ""
    return f"   until {clock_time(now.held(one.claim).lease_until, now.now)}" if one.is_live else "   released since"


def _by(one: Violation, about: Mapping[Oid, Described]) -> str:
    found = about.get(one.commit)
    return "" if found is None else f'"{cut(found.subject)}" by {cut(found.author)}'


def cut(words: str) -> str:
    """Return the beginning of somebody's words."""
    return words if len(words) <= MOST_WORDS else f"{words[: MOST_WORDS - 1]}…"


def _held(one: Violation, now: int) -> str:
    if one.claim is None:
        return "held by nobody"
    return f"held by {one.claim.holder} #{one.claim.token} since {clock_time(one.claim.at, now)}"


class Reader(NamedTuple):
    """Who is to mend it, as far as it is known: an agent, what is checked out, and the branch to update from.

    `is_on_default` tells that the commits are on the default branch already, where nobody makes them anew.
    """

    me: Agent | None
    tip: Oid | None
    onto: str | None
    is_on_default: bool = False


def way_out(one: Violation, reader: Reader) -> str:
    """Return what to type to clear a violation, with what else there is to know of it."""
    path = quote(one.path) if not one.path.startswith("-") else quote(f"./{one.path}")
    anew = _anew(one, reader)
    holder = one.claim.holder if one.claim is not None else None
    if reader.is_on_default:
        return _on_default(one, holder, reader)
    if holder is None:
        return anew if one.kind is Breach.BYPASS else f"git coord claim {path} && {anew}"
    if holder == reader.me:
        return f"{anew}      (your claim, but the commit has no receipt)"
    if not one.is_live:
        return f"git coord claim {path} && {anew}      ({holder} has released it)"
    ask = f"git coord post --to {holder} {quote(f'need {one.path}')}"
    mine = f"; if you are {holder}: git coord sync" if one.kind is Breach.NO_RECEIPT and reader.me is None else ""
    return f"{ask}      (once it is yours: {anew}{mine})"


def _anew(one: Violation, reader: Reader) -> str:
    """Return what gives the commit another id: the newest by itself, others by bringing the branch up to date."""
    if one.commit == reader.tip:
        return "git commit --amend --no-edit"
    keep = " --rebase-merges" if one.delta.others else ""
    if reader.onto is None:
        return f"git rebase --no-ff{keep} {one.commit[:SHORT]}^"
    remote, _, _ = reader.onto.partition("/")
    return f"git fetch {quote(remote)} && git rebase --no-ff{keep} {quote(reader.onto)}"


def _on_default(one: Violation, holder: Agent | None, reader: Reader) -> str:
    text = f"{one.commit[:SHORT]} changed {one.path}"
    if holder is None or holder == reader.me:
        return f"git coord post {quote(f'{text} without a claim')}      (it has landed: say so, or revert it)"
    why = "it has landed: its holder can merge it and claim again; or revert it"
    return f"git coord post --to {holder} {quote(text)}      ({why})"


def steps(violations: Sequence[Violation], reader: Reader) -> list[str]:
    """Return the ways out of several violations, each once, the first ones."""
    return list(dict.fromkeys(way_out(one, reader) for one in violations))[:MOST_STEPS]
