"""Judge commits by the ledger and the receipts, as `git coord verify` and pre-push do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from git_coord.domain.commits import Described, UserCommit
from git_coord.domain.evidence import Attested, Evidence, Rules, Violation
from git_coord.domain.ids import Oid
from git_coord.domain.team import NO_RULES, Reach, Team
from git_coord.domain.verdict import judge
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.refnames import Family

from .commits import UserHistory
from .context import Coord
from .evidence import Notes, attested, read_notes
from .judge.means import GitMeans
from .judge.span import complete, find_span
from .ledger import open_ledger
from .lineage import kept_since, lineage
from .remote_ledger import fetch_and_adopt
from .sync import Age, picture_age
from .team import MAX_BYTES, RULES_FILE, parse_team

FAMILIES = (Family.CLAIMS, Family.REQUESTS, Family.NOTES)


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of it; `age` in seconds is how old the picture was (None: never synced)."""

    commits: int
    violations: tuple[Violation, ...]
    age: Age | None
    about: Mapping[Oid, Described]
    """Author and subject of the commits against a claim."""
    onto: str | None
    """The default branch, as in `origin/main`, to bring a branch up to date."""
    is_on_default: bool
    """Whether what was judged is on the default branch."""


def verify(coord: Coord, history: UserHistory, asked: str | None, *, is_local: bool) -> Verified:
    """Judge `A..B`, or what is checked out; fetches user history and receipts as far as needed unless `is_local`.

    Raises CoordError: USAGE for a range that names nothing, UNKNOWN without an answer or with too shallow a history,
    UNTRUSTED for a ledger that does not verify or is not the one that the base branch pins.
    """
    span = find_span(coord, history, asked, is_local=is_local)
    commits = complete(coord, history, span, is_local=is_local)
    team = _team(coord, span.base)
    _pin(coord, team)
    is_new = open_ledger(coord) is None
    if is_new and coord.remote is not None and team.prefix and coord.remote.place.prefix == refnames.DEFAULT_PREFIX:
        coord.remote = coord.remote.at(coord.remote.place._replace(prefix=team.prefix))
    if coord.remote is not None and not is_local:
        fetch_and_adopt(coord, FAMILIES)
    _check_ledger(coord, team)
    notes = read_notes(coord)
    if is_new:
        ledger = lineage(coord.store, coord.known.oid, None)
        notes.check_anchors(ledger, kept_since(coord.store, ledger))
    found = judged(coord, history, commits, team, notes, fetches=not is_local)
    age = picture_age(coord)
    if not found:
        return Verified(len(commits), (), age, {}, None, is_on_default=False)
    about = history.described({one.commit for one in found})
    default = history.default_name(), history.is_on_default(span.tip)
    return Verified(len(commits), tuple(found), age, about, *default)


def judged(
    coord: Coord,
    history: UserHistory,
    commits: Sequence[UserCommit],
    team: Team,
    notes: Notes | None = None,
    *,
    fetches: bool,
    needed: set[Oid] | None = None,
) -> list[Violation]:
    """Return what of these commits, listed parents first, goes against the claims this clone knows of.

    Receipts for other commits, and git's merges, are only looked at when something is left that they might excuse;
    what is not here for that is fetched when `fetches` is set. The blobs that were merged to let something pass are
    added to `needed`: whoever judges the same elsewhere needs them too.
    """
    notes = notes or read_notes(coord)
    head = coord.known
    chain = cache(lambda: lineage(coord.store, head.oid, None))
    own = {commit.oid for commit in commits}
    # One receipt names many commits: each is looked at once.
    named = {id(signed): signed for found in notes.naming(own).values() for signed in found}.values()
    evidence = Evidence(head.state, attested(coord, named, chain, own), rules=_rules(coord, team))
    found = judge(commits, evidence)
    if not found:
        return found
    paths = {one.path for one in found}
    means = GitMeans(coord, history.merges(), chain, paths, fetches=fetches)
    left = judge(commits, replace(evidence, listed=listed(coord, notes, paths, chain), means=means))
    if needed is not None:
        needed |= means.merged_from({one.delta.new.blob for one in found if one.delta.new and one not in left})
    return left


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
    return any(index.covering(path) for path in {delta.path for commit in commits for delta in commit.judged})


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
