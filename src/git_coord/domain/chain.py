"""A ledger commit as a function of its parent and the operations it places, for whoever writes or checks one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from git_coord.lean import NamedTuple

from . import layout, message
from .ids import Agent, KeyText, Nonce, Oid
from .ledger import Done, Outcome, apply, born
from .merkle import GitObject, Tree, hash_object
from .placing import MAX_PLACED, fault, misplaced, turn_order
from .state import State
from .statements import Checkpoint, Operation, Policy

AUTHOR = "git-coord <git-coord>"


OpId = tuple[Agent, Nonce]
"""Which operation: nobody else can sign for the agent, so nobody else can make one with the same id."""


class Sealed(NamedTuple):
    """An operation with the bytes of its record and the key whose signature was verified over them."""

    record: bytes
    op: Operation
    key: KeyText

    @property
    def id(self) -> OpId:
        """Return which operation this is; the nonce alone could be copied by another member."""
        return self.op.agent, self.op.nonce


class Head(NamedTuple):
    """A ledger commit with everything that follows from it; `date` in seconds since the epoch."""

    oid: Oid
    date: int
    state: State
    tree: Tree


class Placed(NamedTuple):
    """An operation that a commit placed, and what became of it; `outcome` is None for the root's policy."""

    sealed: Sealed
    outcome: Outcome | None


class Extension(NamedTuple):
    """A new ledger commit: its head, what it placed, and the objects that its parent does not have."""

    head: Head
    placed: tuple[Placed, ...]
    objects: tuple[GitObject, ...]


def root(sealed: Sealed, algorithm: str) -> Extension:
    """Return the commit without a parent that places this policy; the caller checked `placing.root_fault`."""
    assert isinstance(sealed.op, Policy)
    writer = _Writer(Tree({}), algorithm)
    state = born(sealed.op)
    writer.write(layout.birth_files(sealed.op))
    writer.place(0, sealed, Done(state))
    line = message.root_line(sealed.op)
    return writer.commit(None, sealed.op.at, state, [line], (Placed(sealed, None),))


def epoch_tree(parent: Head, op: Checkpoint, algorithm: str) -> Oid:
    """Return the id of the tree in which the state lies after a checkpoint, without `op`; its `tree` plays no part."""
    return _state_tree(_begun(parent, Sealed(b"", op, KeyText("")), algorithm)[0].tree, algorithm)


def checkpoint(parent: Head, sealed: Sealed, algorithm: str) -> Extension | None:
    """Return the commit without a parent that begins an epoch; None when its state is not the one signed.

    The caller checked `placing.epoch_fault`.
    """
    assert isinstance(sealed.op, Checkpoint)
    if epoch_tree(parent, sealed.op, algorithm) != sealed.op.tree:
        return None
    writer, outcome = _begun(parent, sealed, algorithm)
    date = max(parent.date, sealed.op.at)
    line = message.describe(sealed.op, outcome)
    return writer.commit(None, date, outcome.state, [line], (Placed(sealed, outcome),))


def cut(head: Head, sealed: Sealed, algorithm: str) -> Extension | None:
    """Return a head that a checkpoint alone vouches for, with nothing older to follow from; None when it does not."""
    assert isinstance(sealed.op, Checkpoint)
    line = message.describe(sealed.op, Done(head.state))
    tuple(head.tree.hashed(algorithm))
    commit = hash_object("commit", commit_bytes(head.tree, None, head.date, [line]), algorithm)
    is_signed = _state_tree(head.tree, algorithm) == sealed.op.tree
    return Extension(head, (Placed(sealed, None),), ()) if is_signed and commit.oid == head.oid else None


def _begun(parent: Head, sealed: Sealed, algorithm: str) -> tuple[_Writer, Outcome]:
    writer = _Writer(parent.tree.changed(layout.OPERATIONS, None), algorithm)
    outcome = apply(parent.state, sealed.op)
    writer.place(0, sealed, outcome)
    return writer, outcome


def _state_tree(tree: Tree, algorithm: str) -> Oid:
    state = tree.changed(layout.OPERATIONS, None)
    tuple(state.hashed(algorithm))
    assert state.oid is not None
    return state.oid


def extend(parent: Head, candidates: Iterable[Sealed], algorithm: str) -> Extension | None:
    """Return the commit that places what can be placed of the candidates, None when that is nothing.

    Agents take turns in `turn_order`, each one's operations by `seq`; the first that cannot be placed ends its
    agent's turn; what was placed before is passed over. At most 256 operations, the rest waits for the next commit.
    """
    writer = _Writer(parent.tree.changed(layout.OPERATIONS, None), algorithm)
    state, placed, lines = parent.state, list[Placed](), list[str]()
    ended: set[Agent] = set()
    for sealed in _selected(parent, candidates):
        if len(placed) == MAX_PLACED:
            break
        op = sealed.op
        if op.agent in ended or misplaced(parent.oid, op) or fault(state, op, sealed.key):
            ended.add(op.agent)
            continue
        outcome = apply(state, sealed.op)
        state = outcome.state
        writer.place(len(placed), sealed, outcome)
        placed.append(Placed(sealed, outcome))
        lines.append(message.describe(sealed.op, outcome))
    if not placed:
        return None
    date = max([parent.date, *(entry.sealed.op.at for entry in placed)])
    return writer.commit(parent.oid, date, state, lines, tuple(placed))


def _selected(parent: Head, candidates: Iterable[Sealed]) -> Iterator[Sealed]:
    """Yield the candidates in order, without those at or below their agent's last `seq`."""
    turns: dict[Agent, list[Sealed]] = {}
    for sealed in candidates:
        turns.setdefault(sealed.op.agent, []).append(sealed)
    for agent in turn_order(parent.oid, turns):
        member = parent.state.agents.get(agent)
        last = member.seq if member else 0
        yield from sorted((s for s in turns[agent] if s.op.seq > last), key=lambda s: (s.op.seq, s.record))


class _Writer:
    """Collects the tree and the new objects of one commit."""

    def __init__(self, tree: Tree, algorithm: str) -> None:
        self.tree = tree
        self._algorithm = algorithm
        self._blobs: dict[Oid, GitObject] = {}

    def place(self, index: int, sealed: Sealed, outcome: Outcome) -> None:
        self.write([layout.File(layout.operation_path(index), sealed.record)])
        self.write(layout.changed_files(sealed.op, sealed.record, outcome))

    def write(self, files: Iterable[layout.File | layout.Copy]) -> None:
        for file in files:
            if isinstance(file, layout.Copy):
                self.tree = self.tree.changed(file.path, self.tree.get(file.source))
            elif file.data is None:
                self.tree = self.tree.changed(file.path, None)
            else:
                blob = hash_object("blob", file.data, self._algorithm)
                self._blobs[blob.oid] = blob
                self.tree = self.tree.changed(file.path, blob.oid)

    def commit(
        self, parent: Oid | None, date: int, state: State, lines: Sequence[str], placed: tuple[Placed, ...]
    ) -> Extension:
        # What a later operation of this commit replaced again is in no tree; a record may lie in several places.
        blobs = {oid: self._blobs[oid] for oid in self.tree.fresh_leaves() if oid in self._blobs}
        trees = tuple(self.tree.hashed(self._algorithm))
        commit = hash_object("commit", commit_bytes(self.tree, parent, date, lines), self._algorithm)
        head = Head(commit.oid, date, state, self.tree)
        return Extension(head, placed, (*blobs.values(), *trees, commit))


def commit_bytes(tree: Tree, parent: Oid | None, date: int, lines: Sequence[str]) -> bytes:
    """Return the content of a ledger commit; author and committer are `git-coord`, the zone is +0000."""
    parents = [f"parent {parent}"] if parent else []
    who = f"{AUTHOR} {date} +0000"
    header = [f"tree {tree.oid}", *parents, f"author {who}", f"committer {who}"]
    return ("\n".join([*header, "", *lines]) + "\n").encode("ascii")
