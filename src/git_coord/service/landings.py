"""What was landed where, by path: a cache in this clone that says whether somebody starts from an old version."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from git_coord.domain.fields import path
from git_coord.domain.ids import is_agent, is_oid
from git_coord.domain.items import ItemKind, is_canonical, show_name
from git_coord.domain.ledger import Done
from git_coord.domain.statements import Release
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

if TYPE_CHECKING:
    from git_coord.domain.chain import OpId, Placed
    from git_coord.domain.ids import Agent, Oid
    from git_coord.domain.items import Item

    from .context import Coord
    from .landing import Branches

FILE = "landed"
HEAD = b"git-coord-landed 1\n"
"""A file that is this line alone says that nothing was landed; without a file it is made from the ledger's history."""
MAX_BYTES = 4_000_000
"""Beyond, the file keeps the newer half."""
MAX_LOOKED = 50
"""Paths whose history is looked through; more are taken as what they seem to be."""


class StaleBase(NamedTuple):
    """Work that somebody landed and this checkout lacks; `branch` is where it is to be had, None when not known."""

    agent: Agent
    branch: str | None
    commit: Oid
    paths: tuple[str, ...]
    is_here: bool
    """The commit is in this clone already."""


def note_landings(coord: Coord, placed: Mapping[OpId, Placed]) -> None:
    """Add what was released lately to the file; one that is missing stays so, since it would claim to be whole.

    Trouble with it costs a warning later, and nothing else.
    """
    found = [
        _row(op.agent, op.landed.branch, op.landed.until, op.landed.commit, op.landed.paths)
        for each in placed.values()
        if isinstance(op := each.sealed.op, Release) and op.landed is not None and isinstance(each.outcome, Done)
    ]
    if not found:
        return
    try:
        size = coord.files.extend(FILE, b"".join(found))
        if size is not None and size > MAX_BYTES:
            old = coord.files.read(FILE) or HEAD
            coord.files.write(FILE, HEAD + old[-MAX_BYTES // 2 :].partition(b"\n")[2])
    except OSError:
        coord.files.remove(FILE)


def _row(agent: str, branch: str | None, until: str | None, commit: str, paths: Iterable[Any]) -> bytes:
    row = [agent, until or branch, commit, [[name, blob] for name, blob in paths]]
    return json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"


def _rows(coord: Coord) -> Iterator[list[Any]]:
    """Yield every row, the oldest first; what is no row of ours is passed over."""
    data = coord.files.read(FILE)
    if data is None or not data.startswith(HEAD):
        data = _rebuilt(coord)
    if data == HEAD:
        return
    for line in data[len(HEAD) :].split(b"\n"):
        try:
            agent, branch, commit, paths = json.loads(line)
            pairs = [(str(name), blob) for name, blob in paths]
            is_row = is_agent(agent) and is_oid(commit)
        except (ValueError, TypeError):
            continue
        if is_row:
            # What another agent calls its branch is its own word; one that is none must not end up in a command line.
            yield [agent, branch if is_canonical(ItemKind.BRANCH, branch or "") else None, commit, pairs]


def _rebuilt(coord: Coord) -> bytes:
    """Make the file from the history of the ledger."""
    from .history import done_since  # noqa: PLC0415 - as above

    rows, size = [], 0
    for op in done_since(coord, None):
        work = op.get("landed") if op["kind"] == Release.KIND else None
        if work is None:
            continue
        paths = [(path.read(entry["path"]), entry["blob"]) for entry in work["paths"]]
        rows.append(_row(op["agent"], work["branch"], work["until"], work["commit"], paths))
        size += len(rows[-1])
        if size > MAX_BYTES // 2:
            break
    data = HEAD + b"".join(reversed(rows))
    with contextlib.suppress(OSError):  # a disk that is full: it is made again next time
        coord.files.write(FILE, data)
    return data


def stale_bases(coord: Coord, user_branches: Callable[[], Branches], items: Sequence[Item]) -> list[StaleBase]:
    """Return work on these items that was landed last and that HEAD lacks, by commit.

    HEAD has it when the commit is in its history, or the content is, or was, at that path there. Nothing is asked of
    git while nothing landed on these items.
    """
    newest = _newest(coord, items)
    if not newest:
        return []
    from .landing import beyond  # noqa: PLC0415 - only once something has landed

    branches = user_branches()
    head = branches.commit("HEAD")
    commits = {row[2] for row, _ in newest.values()}
    lacking = branches.missing(commits, head) if head is not None else commits
    suspects = {name: found for name, found in newest.items() if found[0][2] in lacking}
    here = branches.blobs(head, list(suspects)) if head is not None and suspects else {}
    stale: dict[str, tuple[list[Any], list[tuple[str, Oid | None]]]] = {}
    for number, (name, (row, blob)) in enumerate(sorted(suspects.items())):
        known = here.get(name) == blob
        if not known and head is not None and blob is not None and number < MAX_LOOKED:
            known = branches.had(head, name, blob, None)
        if not known:
            stale.setdefault(row[2], (row, []))[1].append((name, blob))
    found = []
    for row, paths in stale.values():
        is_here = branches.commit(row[2]) is not None
        left = beyond(branches, paths, row[2], head, None) if head is not None and is_here else paths
        if left:
            found.append(StaleBase(row[0], row[1], row[2], tuple(name for name, _ in left), is_here))
    return found


def _newest(coord: Coord, items: Sequence[Item]) -> dict[str, tuple[list[Any], Oid | None]]:
    """Return for each path within the items the row that landed it last, and what it had there then."""
    rows = _rows(coord)
    first = next(rows, None)
    rules = [(item.kind, item.name) for item in items if item.kind.is_file]
    if first is None or not rules:
        return {}
    from git_coord.domain.team import Reach  # noqa: PLC0415 - only once something has landed

    reach = Reach(rules, coord.known.state.fold)
    found: dict[str, tuple[list[Any], Oid | None]] = {}
    for row in (first, *rows):
        found |= {name: (row, blob) for name, blob in row[3] if reach.covers(name)}
    return found


def refuse_stale(coord: Coord, user_branches: Callable[[], Branches], items: Sequence[Item]) -> None:
    """Raise CoordError(STALE) when HEAD lacks work that was landed on these items, by the remote's ledger of now.

    Raises CoordError(UNKNOWN) when the remote cannot be asked and `offline` is not "allow".
    """
    from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt  # noqa: PLC0415 - which imports this module

    if coord.remote is not None:
        try:
            fetch_and_adopt(coord, LEDGER_FAMILIES)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN or coord.settings.offline != "allow":
                raise
    if stale := stale_bases(coord, user_branches, items):
        raise stale_error(stale, coord.remote.name if coord.remote else None)


def stale_error(stale: Sequence[StaleBase], remote: str | None) -> CoordError:
    """Return the refusal of a claim whose author lacks work on what it asks for."""
    more = f", and of {len(stale) - 1} more commits" if len(stale) > 1 else ""
    warnings = [stale_object(one, remote) for one in stale]
    first = stale_object(stale[0], remote)
    return CoordError(
        Kind.STALE,
        f"nothing claimed: {stale_text(stale[0])}{more}",
        next=way_to_fresh(stale[0], remote),
        data={"commit": first["commit"], "branch": first["branch"], "holder": None, "warnings": warnings},
    )


def stale_object(one: StaleBase, remote: str | None) -> dict[str, Any]:
    """Return one warning as `--json` shows it."""
    paths = [path.write(name) for name in one.paths]
    where = {"agent": one.agent, "branch": one.branch, "commit": one.commit, "paths": paths}
    return {"code": "stale_base", **where, "next": way_to_fresh(one, remote)}


def stale_text(one: StaleBase) -> str:
    """Return what HEAD lacks, in words."""
    more = f" and {len(one.paths) - 1} more" if len(one.paths) > 1 else ""
    where = f" on {one.branch}" if one.branch else ""
    name = show_name(ItemKind.PATH, one.paths[0])
    return f"your HEAD lacks what {one.agent} landed in {name}{more}: {one.commit[:10]}{where}"


def way_to_fresh(one: StaleBase, remote: str | None) -> str:
    """Return the line that brings the work here: a fetch, unless the commit is in this clone already, and a merge."""
    merge = f"git merge {one.commit[:10]}"
    if one.is_here or remote is None:
        return merge
    from shlex import quote  # noqa: PLC0415 - only who must fetch pays for it

    return f"git fetch {' '.join(map(quote, [remote, *([one.branch] if one.branch else [])]))} && {merge}"
