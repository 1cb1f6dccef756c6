"""What somebody with write access to refs and objects can do to a ledger."""

from __future__ import annotations

from collections.abc import Mapping

from git_coord.domain import chain
from git_coord.domain.chain import Head
from git_coord.domain.ids import Oid
from git_coord.domain.merkle import hash_object
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.memory import MemoryStore
from git_coord.store.refnames import LEDGER, Ref


def set_refs(store: MemoryStore, wanted: Mapping[Ref, Oid]) -> None:
    """Make the refs of a store these, as somebody with write access may."""
    now = store.refs("refs/")
    gone = [RefUpdate(ref, ABSENT, old) for ref, old in now.items() if ref not in wanted]
    store.swap([*gone, *(RefUpdate(ref, new, now.get(ref, ABSENT)) for ref, new in wanted.items())], "test")


def set_ledger(store: MemoryStore, tip: Oid | None) -> None:
    """Point the live ledger somewhere, or nowhere."""
    now = store.refs(LEDGER).get(LEDGER, ABSENT)
    store.swap([RefUpdate(LEDGER, ABSENT if tip is None else tip, now)], "test")


def forged(store: MemoryStore, head: Head) -> Oid:
    """Write a commit on this head that repeats what the head placed, and return it."""
    trees = list(head.tree.hashed("sha1"))
    data = chain.commit_bytes(head.tree, head.oid, head.date, ["#1 somebody claims everything"])
    commit = hash_object("commit", data, "sha1")
    store.write([*trees, commit])
    return commit.oid
