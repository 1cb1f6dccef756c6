"""Receipts as evidence: read the notes of all agents, believe what verifies, find the ledger as each one names it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from git_coord.crypto.record import open_record
from git_coord.domain import canonical, fields
from git_coord.domain.announcements import Receipt, parse_announcement
from git_coord.domain.chain import Head
from git_coord.domain.evidence import Attested
from git_coord.domain.ids import Agent, KeyText, Oid
from git_coord.domain.merkle import TREE_MODE, oid_bytes_of, parse_tree
from git_coord.domain.receipts import noted_commit, records_in
from git_coord.domain.restoring import hold_end
from git_coord.domain.state import State
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.refnames import Family

from .adopt import load_head, walk
from .context import Coord
from .exchange.lost_heads import stand_ins
from .exchange.own_refs import own_live

NOTE_LIMIT = 4 * Receipt.LIMIT
"""Bytes of a note, at most: a record and the words somebody put around it."""
WALKED = 100
"""Ledger commits that are walked to the next head asked for; beyond that its tree is read instead."""
_PATHS = re.compile(rb'"path":("(?:[^"\\]|\\.)*"|\{[^}]*\})')
_HEADS = re.compile(rb'"head":"([0-9a-f]{40,64})"')


@dataclass(frozen=True, slots=True)
class Signed:
    """A receipt whose signature verifies, by a key that its agent has or had."""

    receipt: Receipt
    key: KeyText


@dataclass(slots=True)
class Notes:
    """The notes of all agents, the fetched and the own ones; a note is only opened when it is asked for."""

    coord: Coord
    rows: set[tuple[Agent, Oid, Oid]]
    """Agent, commit, blob of the note."""
    _raw: dict[Oid, list[bytes]] = field(default_factory=dict)
    _signed: dict[bytes, Signed | None] = field(default_factory=dict)

    def naming(self, commits: Collection[Oid]) -> dict[Oid, list[Signed]]:
        """Return the believed receipts of each of these commits."""
        wanted = [row for row in sorted(self.rows) if row[1] in commits]
        self._load({blob for _, _, blob in wanted})
        found: dict[Oid, list[Signed]] = {}
        for agent, commit, blob in wanted:
            for signed in self._opened(agent, self._raw[blob]):
                if any(entry.commit == commit for entry in signed.receipt.commits):
                    found.setdefault(commit, []).append(signed)
        return found

    def listing(self, paths: Collection[str]) -> list[Signed]:
        """Return the believed receipts that list any of these paths."""
        self._load({blob for _, _, blob in self.rows})
        needles = {canonical.dumps(fields.path.write(path)) for path in paths}
        found: dict[bytes, Signed] = {}
        for agent, blob in sorted({(agent, blob) for agent, _, blob in self.rows}):
            likely = [record for record in self._raw[blob] if not needles.isdisjoint(_PATHS.findall(record))]
            found |= {record: signed for record in likely for signed in self._opened(agent, [record])}
        return list(found.values())

    def check_anchors(self, chain: Collection[Oid], since: int) -> None:
        """Raise CoordError(UNTRUSTED) when a believed receipt of after `since` names a head neither there nor void."""
        self._load({blob for _, _, blob in self.rows})
        state = self.coord.known.state
        known = set(chain) | set(state.policy.void) | stand_ins(self.coord, list(chain)).keys()
        since = max(since, hold_end(state) or 0)
        for agent, blob in sorted({(agent, blob) for agent, _, blob in self.rows}):
            odd = [record for record in self._raw[blob] if _heads_named(record) - known]
            for signed in self._opened(agent, odd):
                if signed.receipt.at <= since:
                    continue
                entries = (entry.head for entry in signed.receipt.commits)
                lacking = next(head for head in (signed.receipt.head, *entries) if head and head not in known)
                raise CoordError(
                    Kind.UNTRUSTED,
                    f"the ledger has gone back: {agent} signed that it contained {lacking[:10]}",
                    next="git coord doctor",
                    data={"agent": agent, "head": lacking},
                )

    def _load(self, blobs: Collection[Oid]) -> None:
        wanted = sorted(blob for blob in blobs if blob not in self._raw)
        contents = self.coord.store.read(wanted, NOTE_LIMIT) if wanted else []
        for blob, content in zip(wanted, contents, strict=True):
            self._raw[blob] = records_in(content.data) if content and content.type == "blob" else []

    def _opened(self, agent: Agent, records: Iterable[bytes]) -> list[Signed]:
        for record in records:
            if record not in self._signed:
                self._signed[record] = open_receipt(self.coord.known, record)
        opened = [self._signed[record] for record in records]
        return [signed for signed in opened if signed and signed.receipt.agent == agent]


def _heads_named(record: bytes) -> set[Oid]:
    return {Oid(head.decode("ascii")) for head in _HEADS.findall(record.partition(b"\n")[0])}


def open_receipt(head: Head, record: bytes) -> Signed | None:
    """Return the receipt of a record that a member's key, present or past, has signed; None for anything else."""
    try:
        opened = open_record(record, Receipt.LIMIT)
        receipt = parse_announcement(opened.statement, Receipt)
    except CoordError:
        return None
    assert isinstance(receipt, Receipt)
    if receipt.repo != head.state.repo or opened.key not in head.state.keys_of(receipt.agent):
        return None
    return Signed(receipt, opened.key)


def read_notes(coord: Coord) -> Notes:
    """Return what all notes refs of this clone list; trees are read level by level, whatever their fan-out."""
    tips: set[tuple[Agent, Oid]] = set()
    for is_fetched in (True, False):
        prefix = refnames.prefix(Family.NOTES, fetched=is_fetched)
        refs = coord.store.refs(prefix) if is_fetched else own_live(coord, prefix)
        tips |= {(name.agent, oid) for ref, oid in refs.items() if (name := refnames.parse(ref)) and name.agent}
    return Notes(coord, set(_rows(coord, sorted(tips))))


def _rows(coord: Coord, tips: list[tuple[Agent, Oid]]) -> Iterator[tuple[Agent, Oid, Oid]]:
    for agent, path, oid in tree_files(coord, tips):
        if commit := noted_commit(path):
            yield agent, commit, oid


def tree_files(coord: Coord, tips: Iterable[tuple[Agent, Oid]]) -> Iterator[tuple[Agent, str, Oid]]:
    """Yield agent, path and id of the files in trees that anybody may have pushed, level by level.

    A tree that occurs twice is looked into once, and nothing below the depth of a note: otherwise forty small trees
    that hold each other twice would list 2^40 files.
    """
    deepest = oid_bytes_of(coord.store.algorithm)
    level = [(agent, "", f"{oid}:") for agent, oid in tips]
    seen: set[tuple[Agent, Oid]] = set()
    while level:
        trees = coord.store.read([spec for _, _, spec in level])
        below = []
        for (agent, above, _), tree in zip(level, trees, strict=True):
            if tree is None or tree.type != "tree" or (agent, tree.oid) in seen:
                continue
            seen.add((agent, tree.oid))
            for mode, name, oid in parse_tree(tree.data, coord.store.algorithm):
                path = f"{above}/{name}" if above else name
                if mode != TREE_MODE:
                    yield agent, path, oid
                elif path.count("/") < deepest and (agent, oid) not in seen:
                    below.append((agent, path, str(oid)))
        level = list({(agent, spec): (agent, path, spec) for agent, path, spec in below}.values())


def states_at(coord: Coord, heads: Collection[Oid], chain: Callable[[], list[Oid]]) -> dict[Oid, State]:
    """Return the ledger as it stood at each of these heads that is in it, or was lost and is placed again.

    Walks once from the oldest to the newest: states share what they have in common, so keeping many is cheap.
    `chain` lists the ledger's commits and is asked only when other heads than the present one are wanted.
    """
    known = coord.known
    if set(heads) <= {known.oid}:
        return dict.fromkeys(heads, known.state)
    commits = chain()
    places = {oid: place for place, oid in enumerate(commits)}
    found: dict[Oid, State] = {}
    at: Head | None = None
    standing = stand_ins(coord, commits, heads)
    wanted = {standing.get(head, head) for head in heads}
    for place in sorted(places[head] for head in wanted if head in places):
        at = _head_at(coord, commits, places, at, place)
        found[at.oid] = at.state
    return {head: found[standing.get(head, head)] for head in heads if standing.get(head, head) in found}


def _head_at(coord: Coord, commits: list[Oid], places: dict[Oid, int], before: Head | None, place: int) -> Head:
    oid = commits[place]
    if oid == coord.known.oid:
        return coord.known
    if before is None or place - places[before.oid] > WALKED:
        return load_head(coord.store, oid)
    done = walk(coord, before, commits[places[before.oid] + 1 : place + 1])
    if done.head is None or done.fault is not None:
        raise CoordError(Kind.UNTRUSTED, f"the ledger cannot be read again up to {oid[:10]}", next="git coord doctor")
    return done.head


def attested(
    coord: Coord, receipts: Iterable[Signed], chain: Callable[[], list[Oid]], wanted: Collection[Oid] | None = None
) -> dict[Oid, list[Attested]]:
    """Return by commit the entries (of `wanted` commits, None for all) that name a head of this ledger.

    An entry counts only when its key had not been replaced yet at that head.
    """
    entries = [
        (signed, index, entry)
        for signed in receipts
        for index, entry in enumerate(signed.receipt.commits)
        if wanted is None or entry.commit in wanted
    ]
    states = states_at(coord, {entry.head for _, _, entry in entries}, chain)
    found: dict[Oid, dict[tuple[Agent, tuple[int, int]], Attested]] = {}
    for signed, index, entry in entries:
        agent, order = signed.receipt.agent, (signed.receipt.seq, index)
        if entry.head in states and _may_sign(states[entry.head], agent, signed.key):
            found.setdefault(entry.commit, {})[agent, order] = Attested(agent, entry, states[entry.head], order)
    return {commit: list(entries.values()) for commit, entries in found.items()}


def _may_sign(state: State, agent: Agent, key: KeyText) -> bool:
    """Tell whether the key was the agent's at that position or became so later; one that ended before is out."""
    member = state.agents.get(agent)
    return key not in state.keys_of(agent) or (member is not None and key == member.key)
