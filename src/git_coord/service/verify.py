"""Judge commits by the ledger and the receipts, as `git coord verify` and pre-push do; find the range to judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from git_coord.domain.ids import Oid, is_oid
from git_coord.domain.team import NO_RULES, Reach, Team
from git_coord.domain.verdict import Attested, Evidence, Rules, UserCommit, Violation, judge
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import Remote
from git_coord.store.refnames import Family

from .commits import UserHistory
from .context import Coord
from .evidence import Notes, attested, read_notes
from .judge.means import GitMeans
from .ledger import open_ledger
from .lineage import kept_since, lineage
from .remote_ledger import fetch_and_adopt
from .sync import picture_age
from .team import MAX_BYTES, RULES_FILE, parse_team

FAMILIES = (Family.CLAIMS, Family.REQUESTS, Family.NOTES)
DEEPER = (50, 500, 5000)
"""How many more commits are fetched at a time, until a shallow history has what is to be judged."""
ASK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Span:
    """What is to be judged: everything `tip` contains and `base` does not (None: everything)."""

    base: Oid | None
    tip: Oid


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of it; `age` in seconds is how old the picture was (None: never synced)."""

    commits: int
    violations: tuple[Violation, ...]
    age: int | None


def verify(coord: Coord, history: UserHistory, asked: str | None, *, is_local: bool) -> Verified:
    """Judge `A..B`, or what is checked out; fetches user history and receipts as far as needed unless `is_local`.

    Raises CoordError: USAGE for a range that names nothing, UNKNOWN without an answer or with too shallow a history,
    UNTRUSTED for a ledger that does not verify or is not the one that the base branch pins.
    """
    span = _span(coord, history, asked, is_local=is_local)
    commits = _complete(coord, history, span, is_local=is_local)
    team = _team(coord, span.base)
    _pin(coord, team)
    is_new = open_ledger(coord) is None
    if coord.remote is not None and not is_local:
        fetch_and_adopt(coord, FAMILIES)
    _check_ledger(coord, team)
    notes = read_notes(coord)
    if is_new:
        ledger = lineage(coord.store, coord.known.oid, None)
        notes.check_anchors(ledger, kept_since(coord.store, ledger))
    found = judged(coord, history, commits, team, notes, fetches=not is_local)
    return Verified(len(commits), tuple(found), picture_age(coord))


def judged(
    coord: Coord,
    history: UserHistory,
    commits: Sequence[UserCommit],
    team: Team,
    notes: Notes | None = None,
    *,
    fetches: bool,
) -> list[Violation]:
    """Return what of these commits, listed parents first, goes against the claims this clone knows of.

    Receipts for other commits, and git's merges, are only looked at when something is left that they might excuse;
    what is not here for that is fetched when `fetches` is set.
    """
    notes = notes or read_notes(coord)
    head = coord.known
    chain = cache(lambda: lineage(coord.store, head.oid, None))
    own = {commit.oid for commit in commits}
    named = [signed for found in notes.naming(own).values() for signed in found]
    evidence = Evidence(head.state, attested(coord, named, chain, own), rules=_rules(coord, team))
    found = judge(commits, evidence)
    if not found:
        return found
    paths = {one.path for one in found}
    means = GitMeans(coord, history.merges(), chain, paths, fetches=fetches)
    return judge(commits, replace(evidence, listed=listed(coord, notes, paths, chain), means=means))


def listed(coord: Coord, notes: Notes, paths: set[str], chain: Callable[[], list[Oid]]) -> dict[str, list[Attested]]:
    """Return the receipts that list any of these paths, by path."""
    signed = notes.listing(paths)
    likely = {
        entry.commit
        for one in signed
        for entry in one.receipt.commits
        if any(touched.path in paths for touched in entry.paths)
    }
    found: dict[str, list[Attested]] = {}
    for entries in attested(coord, signed, chain, likely).values():
        for one in entries:
            for path in {touched.path for touched in one.entry.paths} & paths:
                found.setdefault(path, []).append(one)
    return found


def _rules(coord: Coord, team: Team) -> Rules:
    fold = coord.known.state.fold
    return Rules(Reach(team.exempt, fold).covers, Reach(team.required, fold).covers)


def touches_a_claim(coord: Coord, commits: Sequence[UserCommit]) -> bool:
    """Tell whether any path of these commits is under a live claim, whoever holds it."""
    index = coord.known.state.index
    return any(index.covering(path) for path in {delta.path for commit in commits for delta in commit.changes})


def _span(coord: Coord, history: UserHistory, asked: str | None, *, is_local: bool) -> Span:
    if asked is not None:
        return _named_span(coord, history, asked, is_local=is_local)
    tip = history.resolve(["HEAD"])[0]
    if tip is None:
        raise CoordError(Kind.USAGE, "nothing is checked out", next="git coord verify HEAD~1..HEAD")
    parents = _parents(coord, tip)
    if len(parents) > 1:
        return Span(parents[0], tip)
    base = history.default_tip(ASK_SECONDS)
    if base is None:
        raise CoordError(Kind.USAGE, "no default branch to compare with", next="git coord verify HEAD~1..HEAD")
    span = Span(base, tip)
    if _complete(coord, history, span, is_local=is_local):
        return span
    # The default branch itself: what its newest commit brought.
    return Span(parents[0] if parents else None, tip)


def _named_span(coord: Coord, history: UserHistory, asked: str, *, is_local: bool) -> Span:
    start, dots, end = asked.partition("..")
    if not dots or end.startswith("."):
        raise CoordError(Kind.USAGE, f"{asked!r} is not a range A..B", next="git coord verify HEAD~1..HEAD")
    names = [start or "HEAD", end or "HEAD"]
    for name in names:
        if is_oid(name) and not is_local and coord.remote is not None and history.resolve([name]) == [None]:
            _bring(coord.remote, history, Oid(name), [end or "HEAD", "HEAD"])
    if not is_local and coord.remote is not None:
        _bring_behind(coord.remote, history, names)
    base, tip = history.resolve(names)
    if base is None or tip is None:
        lost = names[0] if base is None else names[1]
        raise CoordError(Kind.USAGE, f"{lost!r} names no commit here", next="git fetch")
    return Span(base, tip)


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


def _complete(coord: Coord, history: UserHistory, span: Span, *, is_local: bool) -> list[UserCommit]:
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


def _team(coord: Coord, base: Oid | None) -> Team:
    """Return the rules of the base branch: what is judged may not rewrite the rules it is judged by."""
    if base is None:
        return NO_RULES
    tree, found = coord.store.read([f"{base}:", f"{base}:{RULES_FILE}"], MAX_BYTES)
    if found is None and tree is not None and f" {RULES_FILE}\0".encode() not in tree.data:
        return NO_RULES
    if found is None or found.type != "blob":
        raise CoordError(Kind.ERROR, f"{RULES_FILE} of the base branch cannot be read here, or is too large")
    return parse_team(found.data)


def _pin(coord: Coord, team: Team) -> None:
    settings = coord.settings
    repo, root = team.repo or settings.pinned_repo, team.root or settings.pinned_root
    coord.settings = settings._replace(pinned_repo=repo, pinned_root=root)


def _check_ledger(coord: Coord, team: Team) -> None:
    """Refuse a ledger that is gone while other refs of ours are there, or is not the one that is pinned."""
    if coord.head is None:
        if team.repo or team.root or coord.store.refs(refnames.FETCHED, refnames.prefix(Family.NOTES, fetched=True)):
            raise CoordError(Kind.UNTRUSTED, "the ledger is gone, but not what refers to it", next="git coord doctor")
        return
    repo = coord.known.state.repo
    if team.repo not in (None, repo):
        raise CoordError(
            Kind.UNTRUSTED, f"{RULES_FILE} of the base branch means the ledger {team.repo}, here is {repo}"
        )
    epoch = coord.known.state.epoch
    if team.root is not None and (epoch.root if epoch else lineage(coord.store, coord.known.oid, None)[0]) != team.root:
        raise CoordError(Kind.UNTRUSTED, f"{RULES_FILE} of the base branch means another ledger: {team.root[:10]}")
