"""Presence, posts and receipts in their refs: read everybody's, believe what verifies, replace one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from git_coord.crypto.record import seal
from git_coord.domain.announcements import Announcement, Posts, Presence, Receipt, parse_announcement
from git_coord.domain.chain import Head
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.merkle import hash_object
from git_coord.domain.statements import RECORD_LIMIT, to_bytes
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import Family, Ref

from .context import Coord
from .exchange.own_refs import own_live
from .moving import move
from .requests import flat_commit
from .retry import attempts
from .superseded import note_superseded

FILES = {Family.PRESENCE: "presence", Family.POSTS: "posts"}
"""The one file in the tree of each family's refs."""
KINDS: dict[Family, type[Presence] | type[Posts]] = {Family.PRESENCE: Presence, Family.POSTS: Posts}
Make = Callable[[Any, int], Announcement]
"""From the present record (of the family's kind, or None) and the next `seq` to the new record."""


def read_all(coord: Coord, family: Family, head: Head | None = None) -> dict[Agent, Announcement]:
    """Return each member's newest believable record of a family, the fetched and the live ones together.

    Members are those at `head`, without it at the head this process verified.
    """
    found: dict[Agent, Announcement] = {}
    for is_fetched in (True, False):
        for agent, record in _read(coord, family, is_fetched, head or coord.known):
            if agent not in found or found[agent].seq < record.seq:
                found[agent] = record
    return found


def read_own(coord: Coord, family: Family) -> Announcement | None:
    """Return the acting agent's newest record, at the price of one."""
    ref = refnames.owned(family, coord.me.agent)
    refs = {**coord.store.refs(refnames.fetched(ref)), **own_live(coord, ref)}
    found = _believed(coord, family, refs, coord.known)
    return max((record for _, record in found), key=lambda record: record.seq, default=None)


def read_fetched(coord: Coord, family: Family, head: Head) -> dict[Agent, Announcement]:
    """Return what the remote had of each member when it was asked last."""
    return dict(_read(coord, family, True, head))


def read_live(coord: Coord, family: Family, head: Head) -> dict[Agent, Announcement]:
    """Return what this clone's own agents say."""
    return dict(_read(coord, family, False, head))


def _read(coord: Coord, family: Family, is_fetched: bool, head: Head) -> list[tuple[Agent, Announcement]]:
    prefix = refnames.prefix(family, fetched=is_fetched)
    refs = coord.store.refs(prefix) if is_fetched else own_live(coord, prefix)
    return _believed(coord, family, refs, head)


def _believed(coord: Coord, family: Family, refs: Mapping[Ref, Oid], head: Head) -> list[tuple[Agent, Announcement]]:
    named = [(name.agent, oid) for ref, oid in sorted(refs.items()) if (name := refnames.parse(ref)) and name.agent]
    blobs = coord.store.read([f"{oid}:{FILES[family]}" for _, oid in named], RECORD_LIMIT) if named else []
    found = []
    for (agent, _), blob in zip(named, blobs, strict=True):
        if blob is not None and (record := believed(coord, head, agent, blob.data, KINDS[family])) is not None:
            found.append((agent, record))
    return found


def believed(
    coord: Coord, head: Head, agent: Agent, record: bytes, cls: type[Presence] | type[Posts] | type[Receipt]
) -> Announcement | None:
    """Return the record when it is this agent's, of this ledger, and signed by a key the agent has or had."""
    member = head.state.agents.get(agent)
    try:
        opened = coord.remembered.open(record, cls.LIMIT)
        statement = parse_announcement(opened.statement, cls)
    except CoordError:
        return None
    if member is None or opened.key not in {since.key for since in member.keys}:
        return None
    if cls is not Receipt and opened.key != member.key:
        return None
    return statement if (statement.agent, statement.repo) == (agent, head.state.repo) else None


def replace_own(coord: Coord, family: Family, make: Make) -> Announcement:
    """Replace the agent's record; `make` gets the present one and the next `seq`. CoordError(ERROR) if it is locked."""
    ref = refnames.owned(family, coord.me.agent)
    for _ in attempts(coord.clock, coord.jitter, seconds=10):
        old: Oid | None = coord.store.refs(ref).get(ref)
        present = read_all(coord, family).get(coord.me.agent)
        made = make(present, present.seq + 1 if present else 1)
        record = hash_object("blob", seal(to_bytes(made), coord.own_signer), coord.store.algorithm)
        parent = old if coord.settings.keeps_history else None
        commit, objects = flat_commit(coord, {FILES[family]: record.oid}, made.at, parent)
        if move(coord, [record, *objects], [RefUpdate(ref, commit, old or ABSENT)], f"replace {family.value}"):
            if old is not None and parent is None:
                note_superseded(coord, [old])
            return made
    raise CoordError(Kind.ERROR, f"{ref} is never at rest", next="git coord doctor")
