"""Which of a commit's paths are new work, and which only carry on what was made under a claim before.

Asked when a claim is in the way, which a rebase, an amend or a clean merge of one's own work may well meet: by then
somebody else may hold the file. Reads only what is here.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from git_coord.domain.announcements import ReceiptEntry
from git_coord.domain.commits import UserCommit, of_sides
from git_coord.domain.evidence import Attested, Evidence, Rules
from git_coord.domain.ids import Oid
from git_coord.domain.team import Reach, Team
from git_coord.domain.verdict import judge
from git_coord.errors import CoordError, Kind
from git_coord.guard.git import EMPTY_TREES, Process
from git_coord.service.context import Coord
from git_coord.service.evidence import read_notes
from git_coord.service.judge.means import GitMeans
from git_coord.service.judge.noted import noted
from git_coord.service.lineage import lineage
from git_coord.service.query import Picture
from git_coord.service.verify import listed

if TYPE_CHECKING:
    from git_coord.app import App
    from git_coord.guard.changes import Changes

_RAW = ("diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
_MADE = Oid("0" * 40)
"""For the commit that is not made yet."""


def new_work(app: App, changes: Changes, now: Picture, team: Team, paths: Collection[str]) -> set[str]:
    """Return which of these paths the commit in the making changes in a way of its own."""
    commit = _in_the_making(app, changes, set(paths))
    coord, history = app.coord, app.history()
    chain = cache(lambda: lineage(coord.store, coord.known.oid, None))
    receipts = listed(coord, read_notes(coord), set(paths), chain)
    for one in noted(coord, history):
        for path in {touched.path for touched in one.entry.paths} & set(paths):
            receipts.setdefault(path, []).append(one)
    needs = Reach(team.required, now.state.fold)
    means = GitMeans(coord, history.merges(), chain, set(paths), fetches=False)
    evidence = Evidence(now.state, _signed(coord), receipts, Rules(needs_claim=needs.covers), means)
    carried = {delta.path for delta in commit.judged} - _found(commit, evidence)
    return set(paths) - carried


def _signed(coord: Coord) -> dict[Oid, list[Attested]]:
    """Return what the receipt of the commit would say: whose it is, and as the ledger stands now."""
    if coord.actor is None:
        return {}
    entry = ReceiptEntry(_MADE, coord.known.oid, bypass=False, paths=())
    return {_MADE: [Attested(coord.actor, entry, coord.known.state, (0, 0))]}


def _found(commit: UserCommit, evidence: Evidence) -> set[str]:
    """Return the paths that are new work; a history too shallow to merge is for the push, which may fetch more."""
    try:
        return {one.path for one in judge([commit], evidence)}
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN or not commit.kept:
            raise
        return {one.path for one in judge([commit._replace(kept=())], evidence)}


def _in_the_making(app: App, changes: Changes, paths: set[str]) -> UserCommit:
    """Return the commit that the index would make, with what it changes at some paths."""
    parents = [oid for oid in app.history().resolve(changes.parents) if oid is not None]
    if len(parents) != len(changes.parents):
        return UserCommit(_MADE, (), ())
    empty = Oid(EMPTY_TREES[len(app.coord.known.oid) > 40])
    sides = [{delta.path: delta for delta in app.deltas(_diff(parent))} for parent in parents or [empty]]
    asked = [(path, [side.get(path) for side in sides]) for path in sorted(paths)]
    own = [of_sides(path, found) for path, found in asked if all(found)]
    kept = [of_sides(path, found) for path, found in asked if any(found) and not all(found)]
    return UserCommit(_MADE, tuple(parents), tuple(own), tuple(kept))


def _diff(parent: Oid) -> bytes:
    return Process("--no-replace-objects", *_RAW, parent).output()
