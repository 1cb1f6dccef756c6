"""From the lines that post-commit and post-rewrite leave to signed receipts, attached as git notes.

Nothing is lost by a crash at any instruction: the file is renamed away before it is read and removed after the notes
ref has moved; what a killed run leaves behind is taken by the next one, and doing it twice adds nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from git_coord.crypto.record import seal
from git_coord.domain.announcements import Receipt, ReceiptEntry
from git_coord.domain.canonical import MAX_INTEGER
from git_coord.domain.chain import AUTHOR
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.merkle import GitObject, Tree, hash_object
from git_coord.domain.receipts import Noted, batches, note_paths, noted_commit, parse_line, records_in
from git_coord.domain.statements import to_bytes
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, PushedRef, PushStatus, RefUpdate, Swap
from git_coord.store.refnames import Family

from .commits import UserHistory
from .context import Coord
from .evidence import NOTE_LIMIT, open_receipt, tree_files
from .exchange.own_refs import note_own
from .exchange.parts import push
from .ledger import open_ledger
from .receipt_entries import entries_of
from .remote_ledger import own_updates
from .retry import attempts

FILE = "commits"
CONTENTS = "contents"
"""The folder of a notes tree with blobs that receipts need and no branch may have any more."""
TAKEN = "commits.taken-"
"""How the names begin of files that a run has renamed away."""
_SEQ = re.compile(rb"\nreceipts up to (\d{1,16})\n")
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
"""Paths that are kept though they are no notes; hosts refuse trees with others, and anybody may push one."""


def settle(coord: Coord, history: Callable[[], UserHistory], also: Collection[Oid] = (), *, asks: bool = True) -> int:
    """Make receipts of the acting agent's lines; returns for how many commits. Others' lines stay for them.

    `also` are commits that the agent vouches for now, at the present head; `asks` lets the first receipt of a clone ask
    the remote for those that other clones of the agent pushed. Does nothing without an agent that can sign.
    Raises CoordError(UNTRUSTED) for a bad ledger, CoordError(ERROR) when the notes ref stays locked.
    """
    names = waiting(coord)
    if not (names or also) or coord.identity is None or coord.signer is None or open_ledger(coord) is None:
        return 0
    member = coord.known.state.agents.get(coord.me.agent)
    if member is None or member.key != coord.own_signer.key:
        return 0
    if asks:
        _learn(coord)
    head = coord.known.oid
    count = _attach(coord, history(), [Noted(oid, None, head, False, coord.me.agent) for oid in also]) if also else 0
    return count + sum(_settle_file(coord, history, name) for name in names)


def waiting(coord: Coord) -> list[str]:
    """Return the files with lines: one look at a small folder, which is all that most calls cost."""
    try:
        names = os.listdir(coord.files.common)
    except FileNotFoundError:
        return []
    return sorted(name for name in names if name == FILE or name.startswith(TAKEN))


def _settle_file(coord: Coord, history: Callable[[], UserHistory], name: str) -> int:
    if name == FILE:
        if not _is_mine(coord, coord.files.read(FILE) or b""):
            return 0
        name = f"{TAKEN}{coord.nonce()}"
        try:
            os.rename(coord.files.path(FILE), coord.files.path(name))
        except FileNotFoundError:  # another process was first
            return 0
    count = done = 0
    # A hook that had opened the file before it was renamed writes into it now: what has been added is taken too.
    while len(data := coord.files.read(name) or b"") > done:
        count += _settle_lines(coord, history, data[done:].split(b"\n"))
        done = len(data)
    coord.files.remove(name)
    return count


def _is_mine(coord: Coord, data: bytes) -> bool:
    tail = f" {coord.me.agent}\n".encode("ascii")
    return tail in data or b" -\n" in data


def _settle_lines(coord: Coord, history: Callable[[], UserHistory], lines: Sequence[bytes]) -> int:
    noted = [(line, parsed) for line in lines if (parsed := parse_line(line)) is not None and parsed.agent]
    own = [parsed for _, parsed in noted if parsed.agent == coord.me.agent]
    count = _attach(coord, history(), own) if own else 0
    others = b"".join(line + b"\n" for line, parsed in noted if parsed.agent != coord.me.agent)
    if others:
        with open(coord.files.path(FILE), "ab") as file:
            file.write(others)
    return count


def _attach(coord: Coord, history: UserHistory, lines: Sequence[Noted]) -> int:
    """Make receipts of the commits that are still there, and put them into the agent's notes."""
    found = [one.entry for one in entries_of(coord, history, lines, coord.me.agent)]
    return append(coord, found) if found else 0


@dataclass(frozen=True, slots=True)
class _Base:
    """What a notes commit is built on: parents, the last `seq` used, notes by commit, everything else in the tree."""

    parents: tuple[Oid, ...]
    live: Oid | None
    seq: int
    notes: dict[Oid, Oid]
    others: dict[str, Oid]
    is_whole: bool
    """Whether the first parent has all the notes; somebody else may have replaced ours there."""


def append(coord: Coord, entries: Sequence[ReceiptEntry], contents: Collection[Oid] = ()) -> int:
    """Sign the entries of commits that have no receipt of the agent's yet and move its notes ref; returns how many.

    Also joins what this clone and another one of the same agent noted apart from each other. `contents` are blobs that
    the ref is to bring along: CI merges with them, and after a rebase no branch may have them.
    """
    ref = refnames.owned(Family.NOTES, coord.me.agent)
    for _ in attempts(coord.clock, coord.jitter, seconds=10):
        base = _base(coord)
        fresh = _without_receipt(coord, base, entries)
        new = {f"{CONTENTS}/{oid}": oid for oid in contents} if base.parents or fresh else {}
        has_new = not new.keys() <= base.others.keys()
        base.others.update(new)
        if not fresh and not has_new and base.parents in ((), (base.live,)):
            return 0
        # What was fetched has all that is here.
        is_ahead = not fresh and not has_new and len(base.parents) == 1 and base.is_whole
        commit, objects = (base.parents[0], []) if is_ahead else _notes_commit(coord, base, fresh)
        coord.store.write(objects)
        note_own(coord, [RefUpdate(ref, commit, ABSENT)])
        moved = coord.store.swap([RefUpdate(ref, commit, base.live or ABSENT)], "receipts")
        if moved is Swap.MOVED:
            return len(fresh)
    raise CoordError(Kind.ERROR, f"{ref} stays locked", next="git coord doctor")


def _learn(coord: Coord) -> None:
    """Ask the remote, once in a clone's life, for the notes that another clone of this agent may have pushed."""
    ref = refnames.owned(Family.NOTES, coord.me.agent)
    if coord.remote is not None and not coord.store.refs(ref, refnames.fetched(ref)) and coord.fetched_at is None:
        with contextlib.suppress(CoordError):  # then the push is refused, and they are joined after that
            coord.remote.fetch([Family.NOTES])


def _base(coord: Coord) -> _Base:
    ref = refnames.owned(Family.NOTES, coord.me.agent)
    values = coord.store.refs(ref, refnames.fetched(ref))
    live, there = values.get(ref), values.get(refnames.fetched(ref))
    parents = _heads(coord, live, there)
    notes: dict[Oid, Oid] = {}
    others: dict[str, Oid] = {}
    found: dict[Oid, dict[Oid, Oid]] = {}
    for tip in dict.fromkeys([*([live] if live else []), *parents]):  # what was made here before what anybody can push
        mine = found[tip] = {}
        for _, path, oid in tree_files(coord, [(coord.me.agent, tip)]):
            if commit := noted_commit(path):
                mine.setdefault(commit, oid)
            elif _PLAIN.fullmatch(path):
                others.setdefault(path, oid)
        notes = mine | notes
    is_whole = bool(parents) and found[parents[0]] == notes
    return _Base(parents, live, _last_seq(coord, parents, notes), notes, others, is_whole)


def _heads(coord: Coord, live: Oid | None, there: Oid | None) -> tuple[Oid, ...]:
    """Return which of the two tips contain everything: one that contains the other, or both."""
    if live is None or there is None or live == there:
        return tuple(dict.fromkeys(tip for tip in (live, there) if tip))
    if there in coord.store.history(live, None):
        return (live,)
    return (there,) if live in coord.store.history(there, None) else (there, live)


def _last_seq(coord: Coord, parents: Iterable[Oid], notes: dict[Oid, Oid]) -> int:
    """Return the agent's highest `seq`: our commits say it, after one by git itself the notes are looked through."""
    commits = coord.store.read(list(parents))
    said = [_SEQ.search(commit.data) if commit else None for commit in commits]
    if None not in said:
        return min(max((int(match[1]) for match in said if match), default=0), MAX_INTEGER)
    blobs = coord.store.read(sorted(set(notes.values())), NOTE_LIMIT)
    records = [record for blob in blobs if blob for record in records_in(blob.data)]
    found = [re.search(rb'"seq":(\d{1,15}),', record.partition(b"\n")[0]) for record in records]
    return max((int(match[1]) for match in found if match), default=0)


def _without_receipt(coord: Coord, base: _Base, entries: Sequence[ReceiptEntry]) -> list[ReceiptEntry]:
    """Return the entries whose commit has none of ours: the first receipt of a commit stands, what others wrote not."""
    noted = [entry for entry in entries if entry.commit in base.notes]
    blobs = coord.store.read([base.notes[entry.commit] for entry in noted], NOTE_LIMIT) if noted else []
    has = {
        entry.commit
        for entry, blob in zip(noted, blobs, strict=True)
        if blob and any(_is_ours(coord, record, entry.commit) for record in records_in(blob.data))
    }
    return [entry for entry in entries if entry.commit not in has]


def _is_ours(coord: Coord, record: bytes, commit: Oid) -> bool:
    receipt = signed.receipt if (signed := open_receipt(coord.known, record)) else None
    return bool(receipt and receipt.agent == coord.me.agent and commit in {entry.commit for entry in receipt.commits})


def _notes_commit(coord: Coord, base: _Base, entries: Sequence[ReceiptEntry]) -> tuple[Oid, list[GitObject]]:
    notes, objects, seq = dict(base.notes), list[GitObject](), base.seq
    for part in batches(entries):
        seq = min(seq + 1, MAX_INTEGER)
        record = seal(to_bytes(_receipt(coord, seq, part)), coord.own_signer)
        for entry in part:
            note = _note(coord, base.notes.get(entry.commit), record)
            notes[entry.commit] = note.oid
            objects.append(note)
    tree = _tree(notes)
    taken = tree.entries.keys()
    for path, oid in base.others.items():
        if path.partition("/")[0] not in taken:
            tree = tree.changed(path, oid)
    objects += tree.hashed(coord.store.algorithm)
    commit = hash_object("commit", _commit_bytes(coord, tree, base.parents, seq), coord.store.algorithm)
    return commit.oid, [*{made.oid: made for made in objects}.values(), commit]


def _tree(notes: dict[Oid, Oid]) -> Tree:
    folders: dict[str, dict[str, Oid | Tree]] = {"": {}}
    for commit, path in note_paths(list(notes)).items():
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, {})[name] = notes[commit]
    below = {folder: Tree(entries) for folder, entries in folders.items() if folder}
    return Tree(folders[""] | below)


def _note(coord: Coord, present: Oid | None, record: bytes) -> GitObject:
    """Return the note: the record, after the words that somebody noted before."""
    old = coord.store.read([present], NOTE_LIMIT)[0] if present else None
    data = record if old is None or old.type != "blob" else old.data.rstrip(b"\n") + b"\n\n" + record
    return hash_object("blob", data, coord.store.algorithm)


def _receipt(coord: Coord, seq: int, entries: tuple[ReceiptEntry, ...]) -> Receipt:
    return Receipt(
        repo=coord.known.state.repo,
        agent=Agent(coord.me.agent),
        session=coord.me.session,
        seq=seq,
        at=coord.clock.now(),
        nonce=coord.nonce(),
        head=coord.known.oid,
        commits=entries,
    )


def _commit_bytes(coord: Coord, tree: Tree, parents: Sequence[Oid], seq: int) -> bytes:
    who = f"{AUTHOR} {coord.clock.now()} +0000"
    header = [f"tree {tree.oid}", *(f"parent {oid}" for oid in parents), f"author {who}", f"committer {who}"]
    return "\n".join([*header, "", f"receipts up to {seq}", ""]).encode("ascii")


def push_receipts(coord: Coord) -> PushedRef | None:
    """Push the agent's own notes ref, and nothing else; returns the host's answer when it refuses.

    Raises CoordError(UNKNOWN) without an answer.
    """
    for _ in range(2):
        updates = [update for update in own_updates(coord, [coord.me.agent]) if _is_notes(update)]
        if not updates or coord.remote is None:
            return None
        result = push(coord, updates)[0]
        if result.status is not PushStatus.REJECTED:
            return None
        # Another clone of this agent has pushed its own meanwhile.
        coord.remote.fetch([Family.NOTES])
        append(coord, ())
    return result


def _is_notes(update: RefUpdate) -> bool:
    return (name := refnames.parse(update.ref)) is not None and name.family is Family.NOTES
