"""What a hook says: who holds what until when, and what can be typed next; no decisions here."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from git_coord.domain.durations import show_age
from git_coord.domain.items import ItemKind, show_name
from git_coord.domain.text import escape_for_display, is_clean_line
from git_coord.lean import NamedTuple

from .judge import Judgement, Obstacle

if TYPE_CHECKING:
    from git_coord.service.leases import Gone
    from git_coord.service.sessions import Nobody

MOST_ROWS = 20
BYPASS = "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)"
_PLAIN = re.compile(r"[A-Za-z0-9_./@+,%-]+")


class Commit(NamedTuple):
    """What is known of the commit: `kind` as in guard.changes; how its index is called; where the user stands.

    `during` is the command of git in the middle of which it is made, None for none.
    """

    kind: str
    has_parents: bool
    index_file: str
    prefix: str
    during: str | None = None


def refusal(
    judged: Judgement, commit: Commit, *, warns: bool, as_of: int | None, nobody: Nobody | None, now: int
) -> list[str]:
    """Return the lines that explain a refusal (or a warning); `as_of` is the age of the picture, None for "now"."""
    lines = [f"git coord: {'warning' if warns else 'commit refused'}, {_count(judged)}", *_rows(judged, now)]
    if commit.kind == "amend":
        lines.append("  (an amend is judged with the paths of the commit that it replaces)")
    if nobody is not None:
        lines.append(nobody.line)
    if as_of is not None:
        lines.append(f"as of {show_age(as_of)} ago")
    steps = [nobody.step] if nobody is not None else []
    steps += [_step(judged.claimed, commit)] if judged.claimed else []
    if judged.unclaimed:
        steps.append(f"git coord claim {_arguments(judged.unclaimed, commit.prefix)}")
    lines += [f"{'next' if n == 0 else '':4}    {step}" for n, step in enumerate(steps)]
    return lines if warns else [*lines, BYPASS]


def lapsed(judged: Judgement, commit: Commit, now: int, *, has_remote: bool, warns: bool) -> list[str]:
    """Return the lines that tell an agent that nobody vouches for its own claim any more."""
    rows = [
        f"  {escape_for_display(one.path)}   #{one.held.claim.token}   {_over(one, now)}"
        for one in judged.lapsed[:MOST_ROWS]
    ]
    names = _arguments([one.path for one in judged.lapsed], commit.prefix)
    step = "git coord sync" if has_remote else f"git coord renew {names}"
    said = "warning" if warns else "commit refused"
    what = "counts as lost until a sync says otherwise" if has_remote else "has ended"
    lines = [f"git coord: {said}, your claim {what}", *rows, f"next    {step}"]
    return lines if warns else [*lines, BYPASS]


def _over(one: Obstacle, now: int) -> str:
    end = one.held.lease_until if one.held.vouched_until is None else one.held.vouched_until
    return f"good until {_clock(end, now)}, no sign of life has arrived since {_clock(_last_sign(one), now)}"


def _last_sign(one: Obstacle) -> int:
    return one.held.lease_until - one.held.claim.ttl


def gone(lost: Sequence[Gone], commit: Commit, now: int, *, warns: bool) -> list[str]:
    """Return the lines for a commit of what was taken from its author: what, by whom, when and why."""
    said = "warning, " if warns else ""
    anew = claim_anew(lost, commit.prefix)
    step = f"git stash; {anew}" if anew else "git coord status"
    lines = [f"git coord: {said}your claim is gone", *gone_rows(lost, now), f"next    {step}"]
    return lines if warns else [*lines, BYPASS]


def claim_anew(lost: Sequence[Gone], prefix: str) -> str | None:
    """Return the command that claims again what was taken, from the folder `prefix`; None where no path was."""
    paths = [item.name for each in lost for item in each.items if item.kind is ItemKind.PATH]
    return f"git coord claim {_arguments(paths, prefix)}" if paths else None


def gone_rows(lost: Sequence[Gone], now: int) -> list[str]:
    """Return a line for each claim that was taken."""
    return [
        f"  #{each.token} {_named(each)}   {each.ended.words_at(_clock(each.ended.at or now, now))}"
        for each in lost[:MOST_ROWS]
    ]


def _named(each: Gone) -> str:
    names = [escape_for_display(show_name(item.kind, item.name)) for item in each.items]
    return "  ".join(names[:5]) + (f"  +{len(names) - 5}" if len(names) > 5 else "")


def _count(judged: Judgement) -> str:
    claimed, unclaimed = len(judged.claimed), len(judged.unclaimed)
    parts = [f"{claimed} of {judged.total} paths {'is' if claimed == 1 else 'are'} claimed"] if claimed else []
    if unclaimed:
        needs = "needs" if unclaimed == 1 else "need"
        parts.append(
            f"{unclaimed} {needs} a claim" if claimed else f"{unclaimed} of {judged.total} paths {needs} a claim"
        )
    return ", ".join(parts)


def _rows(judged: Judgement, now: int) -> list[str]:
    table = [_cells(one, now) for one in judged.claimed]
    table += [[escape_for_display(path), "free, but to be claimed first: .coord.toml"] for path in judged.unclaimed]
    shown = table[:MOST_ROWS]
    # The last cell of a row needs no width: nothing stands behind it.
    widths = [max((len(row[n]) for row in shown if n < len(row) - 1), default=0) for n in range(4)]
    lines = [f"  {'   '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))}" for row in shown]
    more = [f"  … and {len(table) - MOST_ROWS} more"] if len(table) > MOST_ROWS else []
    return [*(line.rstrip() for line in lines), *more]


def _cells(one: Obstacle, now: int) -> list[str]:
    held = one.held
    name = f"#{held.claim.token}" if held.is_confirmed else "(unconfirmed)"
    if not held.claim.token:
        name = "waiting"
    until = _clock(held.lease_until, now)
    purpose = f'"{escape_for_display(held.claim.purpose)}"' if held.claim.purpose else "-"
    lease = f"stale since {until}" if held.is_stale else f"until {until}"
    return [escape_for_display(one.path), f"{held.claim.holder} {name}", purpose, lease]


def _clock(stamp: int, now: int) -> str:
    local = time.localtime(stamp)
    return time.strftime("%H:%M" if time.localtime(now)[:3] == local[:3] else "%Y-%m-%d %H:%M", local)


def _step(claimed: Sequence[Obstacle], commit: Commit) -> str:
    """Return what takes the paths out of the commit and leaves the files as they are.

    In the middle of a rebase, a merge and the like that would throw away work of those who made it.
    """
    if commit.during:
        ask = f"git coord post --to {claimed[0].held.claim.holder} {_quoted(f'need {claimed[0].path}')}"
        return f"{ask}      (once it is yours: git {commit.during} --continue; to give up: git {commit.during} --abort)"
    specs = " ".join(_pathspec(one.path, commit.prefix) for one in claimed) if len(claimed) <= MOST_ROWS else ":/"
    if commit.index_file.startswith("next-index"):
        # `git commit -- PATHS` names what it wants: the index itself has nothing to take back.
        return f"git coord post --to {claimed[0].held.claim.holder} {_quoted(f'need {claimed[0].path}')}"
    if not commit.has_parents:
        return f"git rm --cached {'-r -q ' if specs == ':/' else ''}{specs}"
    if commit.kind == "amend":
        return f"git restore --staged --source=HEAD^ {specs}"
    if commit.index_file == "index.lock":
        # `git commit -a` stages in a temporary index, so there is nothing to take back yet.
        return f"git add -u && git restore --staged {specs}      (then commit without -a)"
    return f"git restore --staged {specs}"


def _pathspec(path: str, prefix: str) -> str:
    """Return the path as an argument of git that means this file only, wherever one stands."""
    if _PLAIN.fullmatch(path) and not path.startswith("-"):
        return f":/{path}" if prefix else path
    return _quoted(f":(top,literal){path}")


def _arguments(paths: Sequence[str], prefix: str) -> str:
    """Return paths as arguments of git coord, which takes them from where one stands."""
    from os.path import relpath

    if len(paths) > MOST_ROWS:
        return "…"
    names = [relpath(path, prefix) if prefix else path for path in paths]
    return " ".join(_quoted(_argument(name)) for name in names)


def _argument(name: str) -> str:
    """Return a name so spelled that it is taken for no option, kind of resource or pattern."""
    if not set("*?:").isdisjoint(name):
        return f"path:{name}"
    return name if _PLAIN.fullmatch(name) and name[0] != "-" else f"./{name}"


def _quoted(text: str) -> str:
    """Quote for the shell; what a terminal would not show as it is goes into `$'…'`."""
    if is_clean_line(text):
        return quote(text)
    raw = text.encode(errors="surrogateescape")
    return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\{b:03o}" for b in raw) + "'"
