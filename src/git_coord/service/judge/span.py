"""Which commits are to be judged: the range, and as much of a shallow history as it takes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from git_coord.domain.commits import UserCommit
from git_coord.domain.ids import Oid, is_oid
from git_coord.errors import CoordError, Kind
from git_coord.service.commits import UserHistory
from git_coord.service.context import Coord
from git_coord.store.interface import Remote

DEEPER = (50, 500, 5000)
"""How many more commits are fetched at a time, until a shallow history has what is to be judged."""
ASK_SECONDS = 10
NEWEST_ONLY = (
    "the default branch itself is checked out: only what its newest commit brought is judged; of a push of more,"
    " give the range: git coord verify BEFORE..HEAD"
)
"""Said where nothing tells which commits of the default branch are new."""


@dataclass(frozen=True, slots=True)
class Span:
    """What is to be judged: everything `tip` contains and `base` does not (None: everything)."""

    base: Oid | None
    tip: Oid


def find_span(coord: Coord, history: UserHistory, asked: str | None, *, is_local: bool) -> Span:
    """Return what is to be judged: `A..B`, else what is checked out.

    Raises CoordError: USAGE for a range that names nothing, UNKNOWN without an answer.
    """
    if asked is not None:
        return _named_span(coord, history, asked, is_local=is_local)
    tip = history.resolve(["HEAD"])[0]
    if tip is None:
        raise CoordError(Kind.USAGE, "nothing is checked out", next="git coord verify HEAD~1..HEAD")
    parents = _parents(coord, tip)
    if len(parents) > 1 and not _took_default_in(coord, history, tip, parents, is_local=is_local):
        return Span(parents[0], tip)
    return _since_default(coord, history, tip, is_local=is_local)


def _took_default_in(coord: Coord, history: UserHistory, tip: Oid, parents: Sequence[Oid], *, is_local: bool) -> bool:
    """Tell whether a merge is a branch that took the default branch in, and not what a host builds to test a branch."""
    base = history.default_tip(ASK_SECONDS)
    if base is None or parents[0] == base:
        return False
    try:
        complete(coord, history, Span(base, tip), is_local=is_local)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN:
            raise
        return False
    return not history.is_on_default(parents[0]) and any(map(history.is_on_default, parents[1:]))


def _since_default(coord: Coord, history: UserHistory, tip: Oid, *, is_local: bool) -> Span:
    """Return what a commit has beyond the default branch; of that branch itself what its newest commit brought."""
    base = history.default_tip(ASK_SECONDS)
    if base is None:
        raise CoordError(Kind.USAGE, "no default branch to compare with", next="git coord verify HEAD~1..HEAD")
    span = Span(base, tip)
    if complete(coord, history, span, is_local=is_local):
        return span
    parents = _parents(coord, tip)
    if parents:
        coord.notice(NEWEST_ONLY)
    return Span(parents[0] if parents else None, tip)


def _named_span(coord: Coord, history: UserHistory, asked: str, *, is_local: bool) -> Span:
    start, dots, end = asked.partition("..")
    if not dots or end.startswith("."):
        head = history.resolve(["HEAD"])[0]
        is_first = head is not None and not _parents(coord, head)
        example = "git coord verify" if is_first else "git coord verify HEAD~1..HEAD"
        raise CoordError(Kind.USAGE, f"{asked!r} is not a range A..B", next=example)
    names = [start or "HEAD", end or "HEAD"]
    remote = None if is_local else coord.remote
    _bring_named(remote, history, names)
    base, tip = history.resolve(names)
    if tip is not None and base is None and is_oid(names[0]):
        # What a host calls "before": zeros for a new branch, a commit that is nowhere any more after a forced push.
        if names[0].strip("0"):
            coord.notice(f"{names[0][:10]} is nowhere any more; judged from where the branch left the default branch")
        return _since_default(coord, history, tip, is_local=is_local)
    if base is None or tip is None:
        lost = names[0] if base is None else names[1]
        raise CoordError(Kind.USAGE, f"{lost!r} names no commit here", next="git fetch")
    return Span(base, tip)


def _bring_named(remote: Remote | None, history: UserHistory, names: list[str]) -> None:
    """Fetch what a range names and this clone lacks, as far as it is to be had."""
    if remote is None:
        return
    for name in names:
        if is_oid(name) and name.strip("0") and history.resolve([name]) == [None]:
            with suppress(CoordError):  # then it is nowhere, or the remote gives no answer to what is asked next
                _bring(remote, history, Oid(name), [names[1], "HEAD"])
    _bring_behind(remote, history, names)


def _bring_behind(remote: Remote, history: UserHistory, names: list[str]) -> None:
    """Deepen a shallow history until names like `HEAD~3` are here, as far as it goes."""
    for step in DEEPER:
        lost = [name for name, oid in zip(names, history.resolve(names), strict=True) if oid is None]
        head = history.resolve(["HEAD"])[0]
        if head is None or not any(sign in name for name in lost for sign in "~^"):
            return
        try:
            remote.deepen(step, head)
        except CoordError:
            return  # the name is then reported as lost


def _bring(remote: Remote, history: UserHistory, commit: Oid, names: list[str]) -> None:
    """Fetch a commit by its id; from a server that gives only tips, go back to it from one that is here."""
    try:
        remote.deepen(1, commit)
    except CoordError as refused:
        tip = next((found for found in history.resolve(names) if found), None)
        if refused.kind is not Kind.UNKNOWN or tip is None:
            raise
        for step in DEEPER:
            remote.deepen(step, tip)
            if history.resolve([commit]) != [None]:
                return
        raise


def _parents(coord: Coord, commit: Oid) -> list[Oid]:
    """Return the parents that the commit itself names, which git hides at the end of a shallow history."""
    found = coord.store.read([commit])[0]
    header = found.data.partition(b"\n\n")[0].split(b"\n") if found else []
    return [Oid(line[7:].decode("ascii")) for line in header if line.startswith(b"parent ")]


def complete(coord: Coord, history: UserHistory, span: Span, *, is_local: bool) -> list[UserCommit]:
    """Return the commits of the span, fetching more of a shallow history until all of it is here."""
    ends = [end for end in (span.tip, span.base) if end is not None]
    for step in (*DEEPER, None):
        commits = _commits(history, span, ends)
        if commits is not None:
            return commits
        if step is None or is_local or coord.remote is None:
            break
        for end in ends:
            coord.remote.deepen(step, end)
    raise CoordError(
        Kind.UNKNOWN, "history too shallow: not all that is to be judged is here", next="git fetch --unshallow"
    )


def _commits(history: UserHistory, span: Span, ends: Sequence[Oid]) -> list[UserCommit] | None:
    if None in history.resolve(ends):
        return None
    commits = history.commits([span.tip], [] if span.base is None else [span.base])
    return None if history.is_cut_off(commits, ends[-1], span.tip) else commits
