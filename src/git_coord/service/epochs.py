"""Begin a new epoch of the ledger, so that it stays as small as what is alive; and drop what agents long gone left."""

from __future__ import annotations

from dataclasses import dataclass, replace

from git_coord.crypto.keys import Signer
from git_coord.crypto.record import seal
from git_coord.domain import chain
from git_coord.domain.chain import Extension, Sealed
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.placing import epoch_fault
from git_coord.domain.statements import Checkpoint, to_bytes
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, PushStatus, RefUpdate
from git_coord.store.refnames import LEDGER, SEEN, Family

from .announce import read_all
from .context import Coord
from .exchange.parts import push
from .exchange.refusal import host_refusal, refused_by_host
from .ledger import open_ledger, take_extension
from .lineage import lineage
from .moving import move, store
from .operations import operation, policy_signer
from .place import PLACE_SECONDS
from .remote_ledger import fetch_and_adopt
from .requests import pending, read_requests
from .retry import attempts

EPOCH_OPERATIONS = 20_000
"""Operations after which an epoch is long enough to be ended."""
GONE_SECONDS = 30 * 86400
"""Silence after which presence and posts of an agent that holds nothing are dropped."""

DROPPED = (Family.PRESENCE, Family.POSTS)


@dataclass(frozen=True, slots=True)
class Begun:
    """A new epoch: its number, and how many operations are in the one before, which is kept until the next."""

    number: int
    operations: int


def length(coord: Coord) -> int:
    """Return how many operations the present epoch has."""
    epoch = coord.known.state.epoch
    return coord.known.state.counters.ops - (epoch.ops if epoch else 0)


def begin(coord: Coord) -> Begun:
    """End the present epoch with a signed checkpoint; the ledger goes on from a commit without a parent.

    Raises CoordError(LOST) without a policy key, CoordError(UNKNOWN) when the remote does not take it,
    CoordError(ERROR) while operations of the acting agent are pending.
    """
    signer = policy_signer(coord)
    before, count = _number(coord), length(coord)
    for _ in attempts(coord.clock, coord.jitter, seconds=PLACE_SECONDS, first_wait=0.05):
        if coord.remote is not None:
            fetch_and_adopt(coord)
        if _number(coord) > before:  # by us, had the answer been lost, or by somebody else
            return Begun(_number(coord), count)
        count = length(coord)
        made = _checkpoint(coord, signer)
        if _moved(coord, made, coord.known.oid):
            take_extension(coord, made)
            return Begun(_number(coord), count)
        open_ledger(coord)
    raise CoordError(Kind.UNKNOWN, "the ledger stays busy", next="git coord gc")


def _number(coord: Coord) -> int:
    epoch = coord.known.state.epoch
    return epoch.number if epoch else 0


def _checkpoint(coord: Coord, signer: Signer) -> Extension:
    head = coord.known
    if any(sealed.op.agent == coord.me.agent for sealed in pending(coord, read_requests(coord, fetched=False))):
        raise CoordError(Kind.ERROR, f"operations of {coord.me.agent} are pending", next="git coord sync")
    last = head.state.epoch
    root = last.root if last else lineage(coord.store, head.oid, None)[0]
    member = head.state.agents[coord.me.agent]
    number = last.number + 1 if last else 1
    draft = operation(coord, Checkpoint, member.seq + 1, number=number, old=head.oid, root=root, tree=head.oid)
    op = replace(draft, tree=chain.epoch_tree(head, draft, coord.store.algorithm))
    made = chain.checkpoint(head, Sealed(seal(to_bytes(op), signer), op, signer.key), coord.store.algorithm)
    assert made is not None
    assert epoch_fault(head.state, head.oid, op, signer.key) is None
    return made


def _moved(coord: Coord, made: Extension, old: Oid) -> bool:
    """Keep the old head, then move the ledger from it; False when somebody else moved it first."""
    epoch = made.head.state.epoch
    assert epoch is not None
    is_remote = coord.remote is not None
    kept = coord.store.refs(refnames.prefix(Family.EPOCHS, fetched=is_remote))
    keep = refnames.epoch(epoch.number)
    found = kept.get(refnames.fetched(keep) if is_remote else keep)
    keeping = RefUpdate(keep, old, ABSENT if found is None else found)
    moving = [RefUpdate(LEDGER, made.head.oid, old)]
    for ref, oid in kept.items():
        live = refnames.unfetched(ref)
        if live != keep:
            moving.append(RefUpdate(live, ABSENT, oid))
    before = coord.store.refs(refnames.BEFORE).get(refnames.BEFORE, ABSENT)
    here = [RefUpdate(SEEN, made.head.oid, old), RefUpdate(refnames.BEFORE, old, before)]
    if not is_remote:
        return move(coord, made.objects, [keeping, *moving, *here], "begin epoch")
    store(coord, made.objects)
    if not _pushed(coord, [keeping]) or not _pushed(coord, moving):
        return False
    coord.reach("before local move")
    is_moved = move(coord, made.objects, [moving[0], *here], "begin epoch", are_stored=True)
    coord.reach("after local move")
    return is_moved


def _pushed(coord: Coord, updates: list[RefUpdate]) -> bool:
    """Push; tell whether the first of these refs has the value, the others can wait for the next time."""
    coord.reach("before push")
    results = push(coord, updates)
    coord.reach("after push")
    if final := refused_by_host(results[:1]):
        raise host_refusal(coord, final)
    return results[0].status is not PushStatus.REJECTED


def drop_leftovers(coord: Coord) -> list[Agent]:
    """Take away presence and posts of agents that hold nothing and were silent for long; return whose.

    Anybody may: what they say is of no use to anyone, and their author's next one is taken as ever.
    """
    now, state = coord.clock.now(), coord.known.state
    holders = {claim.holder for claim in state.claims.values()} | {w.agent for w in state.waiting.values()}
    newest: dict[Agent, int] = {}
    for family in DROPPED:
        for agent, record in read_all(coord, family).items():
            newest[agent] = max(newest.get(agent, 0), record.at)
    gone = [agent for agent, at in sorted(newest.items()) if at + GONE_SECONDS < now and agent not in holders]
    updates = [RefUpdate(refnames.owned(family, agent), ABSENT, ABSENT) for agent in gone for family in DROPPED]
    there = _present(coord, updates, are_fetched=True)
    if there:
        push(coord, there)
    if here := _present(coord, updates, are_fetched=False):
        coord.store.swap(here, "drop leftovers")
    return gone


def _present(coord: Coord, updates: list[RefUpdate], *, are_fetched: bool) -> list[RefUpdate]:
    """Return the deletions of what the remote, or this clone itself, really has, each from its exact value."""
    names = {refnames.fetched(ref) if are_fetched else ref: ref for ref, _, _ in updates}
    found = coord.store.refs(*names) if names else {}
    return [RefUpdate(names[name], ABSENT, oid) for name, oid in found.items()]
