"""What a release leaves behind, and claims that wait until a branch has it: landed, seen there, settled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from git_coord.domain.carried import TreeEntry, is_contained
from git_coord.domain.ids import Oid
from git_coord.domain.items import ItemKind, is_canonical, normalise_branch
from git_coord.domain.ledger import Change, Done
from git_coord.domain.state import LiveClaim, State
from git_coord.domain.statements import Landed, LandedPath, Settle
from git_coord.domain.team import Reach
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .commits import Merges
from .context import Coord
from .operations import operation
from .place import submit
from .selection import Selection

MAX_PATHS = 5000
MAX_MERGED = 200
"""Paths of one landing whose work is looked for in merged contents, and how many contents of each."""
MAX_CONTENTS = 50
MAX_BYTES = 500_000
"""Of the paths that one release names; beyond, it names the commit alone: a record may not be larger than 1 MiB."""


class Branches(Protocol):
    """The user's branches, only ever read. Every method raises CoordError(ERROR) when git cannot read what is here."""

    def commit(self, name: str) -> Oid | None:
        """Return the commit that a name stands for here, None for none."""

    def tip(self, branch: str) -> Oid | None:
        """Return where a branch of the remote was when it was last fetched, None for one that never was."""

    def changed(self, base: Oid | None, tip: Oid) -> Mapping[str, Oid | None]:
        """Return what `tip` has at each path that differs from `base`; None is gone, no base is nothing at all."""

    def missing(self, commits: Collection[Oid], tip: Oid) -> set[Oid]:
        """Return the commits that are not in the history of `tip`; those that are not here at all count as missing."""

    def blobs(self, tip: Oid, paths: Sequence[str]) -> Mapping[str, Oid | None]:
        """Return what a commit has at these paths; those it does not have are left out."""

    def had(self, tip: Oid, path: str, blob: Oid, since: Oid | None) -> bool:
        """Tell whether a path had this content somewhere in the history of `tip` (after `since`, if that is here)."""

    def fork(self, commit: Oid, tip: Oid) -> Oid | None:
        """Return where two commits parted, None where that, or one of them, is not here."""

    def merges(self) -> Merges:
        """Return git's own merges of what is here."""


class Landing(NamedTuple):
    """What a release says of its work: a commit by name (None: HEAD), the branch it waits for, or nothing at all."""

    commit: str | None = None
    until: str | None = None
    is_told: bool = True


def landed(
    branches: Branches,
    state: State,
    chosen: Selection,
    asked: Landing,
    dirty: Collection[str],
    branch: Callable[[], str | None],
) -> Landed | None:
    """Return what the claims chosen leave behind; None when no commit since they were made touched what they cover.

    Paths with uncommitted changes (`dirty`) are left out, unless the commit is named: HEAD does not have them as they
    are. Raises CoordError: USAGE for a name that is no commit or branch, ERROR for changes that no branch will have.
    """
    if asked.until is not None:
        _check_until(chosen, asked.until, dirty if asked.commit is None else ())
    if not asked.is_told:
        return None
    commit = branches.commit(asked.commit or "HEAD")
    if commit is None and (asked.commit or asked.until):
        raise CoordError(Kind.USAGE, f"{asked.commit or 'HEAD'} is no commit here", next="git log --oneline")
    if commit is None:
        return None
    paths = _touched(branches, state, chosen, commit)
    if asked.commit is None:
        paths = {path: blob for path, blob in paths.items() if path not in dirty}
    if not paths and not asked.commit and not asked.until:
        return None
    is_small = len(paths) <= MAX_PATHS and sum(len(path.encode("utf-8", "replace")) + 80 for path in paths) <= MAX_BYTES
    rows = tuple(LandedPath(path, blob) for path, blob in sorted(paths.items())) if is_small else ()
    return Landed(branch() if asked.commit is None else None, commit, rows, asked.until)


def _check_until(chosen: Selection, until: str, dirty: Collection[str]) -> None:
    normalise_branch(until)
    for claim, positions in chosen.claims:
        if positions is not None:
            text = f"#{claim.token} can only wait for {until} as a whole"
            raise CoordError(Kind.USAGE, text, next=f"git coord release '#{claim.token}' --when-merged {until}")
    if dirty:
        text = f"{len(dirty)} files are not committed, and {until} can never have them so"
        raise CoordError(Kind.ERROR, text, next="git commit")


def _touched(branches: Branches, state: State, chosen: Selection, commit: Oid) -> dict[str, Oid | None]:
    """Return what the commit has at the released paths that differ from where the claims began."""
    found: dict[str, Oid | None] = {}
    changed: dict[Oid | None, Mapping[str, Oid | None]] = {}
    for claim, positions in chosen.claims:
        rules = [(item.kind, item.name) for i, item in claim.live() if positions is None or i in positions]
        base = claim.base.head
        if base == commit or not any(kind.is_file for kind, _ in rules):
            continue
        if base not in changed:
            changed[base] = branches.changed(base, commit)
        reach = Reach(rules, state.fold)
        found |= {path: blob for path, blob in changed[base].items() if reach.covers(path)}
    return found


def settle_landed(coord: Coord, branches: Branches) -> tuple[Change, ...]:
    """End the claims, whoever's, that wait for a branch which has their work now, as far as this clone can tell.

    Costs nothing while no claim waits. Of several who see it at once the first settles it; the others find nothing.
    """
    if coord.head is None or coord.identity is None or coord.signer is None:
        return ()
    member = coord.known.state.agents.get(coord.me.agent)
    if member is None or member.key != coord.signer.key or member.session != coord.me.session:
        return ()
    done: list[Change] = []
    for until in sorted({until for claim in coord.known.state.claims.values() if (until := waits_for(claim))}):
        tip = branches.tip(until) if is_canonical(ItemKind.BRANCH, until) else None
        waiting = [claim for claim in coord.known.state.claims.values() if waits_for(claim) == until]
        nonces = tuple(claim.op for claim in waiting if tip is not None and _has_arrived(branches, claim, tip))
        if nonces and tip is not None:
            done += _settle(coord, nonces, tip)
    return tuple(done)


def waits_for(claim: LiveClaim) -> str | None:
    """Return the branch for which a claim only waits any more, None when it is held."""
    return claim.settling.until if claim.settling is not None else None


def _settle(coord: Coord, nonces: tuple[str, ...], tip: Oid) -> tuple[Change, ...]:
    try:
        outcome = submit(coord, lambda seq: operation(coord, Settle, seq, claims=nonces, commit=tip)).outcome
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN:
            raise
        coord.notice(f"what has landed is not settled yet: {trouble.message}")
        return ()
    return outcome.changes if isinstance(outcome, Done) else ()


def _has_arrived(branches: Branches, claim: LiveClaim, tip: Oid) -> bool:
    """Tell whether a branch has what a claim landed.

    1. The commit itself is in it. 2. It has the same at every path, now or since the claim was made, or what git's own
    merge makes of the work and what else was done there: a squash, a rebase or the host's own merge made other commits
    of the same work.
    """
    work = claim.settling
    assert work is not None
    if work.commit not in branches.missing([work.commit], tip):
        return True
    here = branches.blobs(tip, [path for path, _ in work.paths])
    left = [(path, blob) for path, blob in work.paths if here.get(path) != blob]
    left = [one for one in left if one[1] is None or not branches.had(tip, one[0], one[1], claim.base.head)]
    return bool(work.paths) and not beyond(branches, left, work.commit, tip, claim.base.head)


def beyond(
    branches: Branches,
    paths: Sequence[tuple[str, Oid | None]],
    commit: Oid,
    tip: Oid,
    since: Oid | None,
) -> list[tuple[str, Oid | None]]:
    """Return which of these contents of a commit a branch lacks also when what else was done there is merged in.

    The work at a path is the way from where it began, at `since` or where the two parted, to what the commit has.
    """
    if not paths:
        return []
    base = since if since is not None and branches.commit(since) else branches.fork(commit, tip)
    if base is None:
        return list(paths)
    names = [path for path, _ in paths[:MAX_MERGED]]
    began, merges = branches.blobs(base, names), branches.merges()
    past = merges.past([tip], names, base)
    return [
        (path, blob)
        for path, blob in paths
        if path not in past
        or not is_contained(past[path].contents[-MAX_CONTENTS:], (_file(began.get(path)), _file(blob)), merges.blobs)
    ]


def _file(blob: Oid | None) -> TreeEntry | None:
    """Return a file with this content, whatever its mode: a release names contents only."""
    return None if blob is None else TreeEntry("100644", blob)
