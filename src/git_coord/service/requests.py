"""Request refs: an agent's signed operations on their way to the ledger; swapping one in is what publishes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from git_coord.crypto.keys import Signer
from git_coord.domain import chain
from git_coord.domain.chain import AUTHOR, Head, OpId, Sealed
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.merkle import GitObject, Tree, hash_object, parse_tree
from git_coord.domain.placing import MAX_PLACED, fault
from git_coord.domain.statements import CLAIM_LIMIT, Join, Operation, Renew
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import Family, Ref

from .context import Coord
from .exchange.own_refs import own_live
from .moving import move
from .recent import restore
from .records import opened_blobs, seal_operation
from .retry import attempts

PUBLISH_SECONDS = 30
"""How long processes of one agent may get in each other's way before one gives up."""
SEQ_DIGITS = 10
CHUNK = 64
"""Records read at a time: a record may be as large as a claim, and that many fit into memory anywhere."""
MAX_OF_STRANGERS = 16
"""Operations of an agent that has not joined yet which are looked at."""


class Request(NamedTuple):
    """One request ref as it is: its value, and what it holds by `seq` (None where a blob cannot be believed)."""

    ref: Ref
    agent: Agent
    value: Oid
    operations: dict[int, Sealed | None]
    blobs: dict[int, Oid]


def read_requests(coord: Coord, *, fetched: bool, only: Agent | None = None) -> list[Request]:
    """Return this clone's own request refs, or the fetched ones; of one agent, or all in two object reads."""
    prefix = refnames.prefix(Family.REQUESTS, fetched=fetched)
    below = prefix + only if only else prefix
    values = coord.store.refs(below) if fetched else own_live(coord, below)
    if not values:
        return []
    named = [(ref, name.agent, value) for ref, value in sorted(values.items()) if (name := refnames.parse(ref))]
    trees = coord.store.read([f"{value}:" for _, _, value in named])
    if None in trees and not fetched and restore(coord):
        trees = coord.store.read([f"{value}:" for _, _, value in named])
    found = []
    for (ref, agent, value), tree in zip(named, trees, strict=True):
        rows = parse_tree(tree.data, coord.store.algorithm) if tree and tree.type == "tree" else []
        blobs = {int(name): oid for _, name, oid in rows if _is_seq(name)}
        assert agent is not None, "only the ledger has no agent"
        found.append(Request(ref, agent, value, {}, _unplaced(coord.head, agent, blobs)))
    _open(coord, found)
    return found


def _is_seq(name: str) -> bool:
    return len(name) == SEQ_DIGITS and name.isascii() and name.isdigit()


def _unplaced(head: Head | None, agent: Agent, blobs: dict[int, Oid]) -> dict[int, Oid]:
    member = head.state.agents.get(agent) if head else None
    return {seq: oid for seq, oid in sorted(blobs.items()) if not member or seq > member.seq}


def _open(coord: Coord, requests: list[Request]) -> None:
    """Fill in the operations, some records at a time: who pushes refs must not decide how much is read at once."""
    part: list[Request] = []
    for request in requests:
        part.append(request)
        if sum(len(_looked_at(coord, each)) for each in part) >= CHUNK:
            _open_some(coord, part)
            part = []
    _open_some(coord, part)


def _looked_at(coord: Coord, request: Request) -> list[tuple[int, Oid]]:
    """Return the lowest operations: more than one commit takes can wait; who has not joined has a join and little else.

    Of an own ref all count, however long it was offline.
    """
    if not refnames.is_fetched(request.ref):
        return list(request.blobs.items())
    is_stranger = coord.head is not None and request.agent not in coord.head.state.agents
    most = MAX_OF_STRANGERS if is_stranger else MAX_PLACED
    return list(request.blobs.items())[:most]


def _open_some(coord: Coord, requests: list[Request]) -> None:
    rows = [(request, seq, oid) for request in requests for seq, oid in _looked_at(coord, request)]
    wanted = list(dict.fromkeys(oid for _, _, oid in rows if oid not in coord.opened))
    for start in range(0, len(wanted), CHUNK):
        opened_blobs(coord, coord.store.read(wanted[start : start + CHUNK], CLAIM_LIMIT), coord.remembered.open)
    for request, seq, oid in rows:
        sealed = coord.opened.get(oid)
        fits = sealed is not None and sealed.op.agent == request.agent and sealed.op.seq == seq
        request.operations[seq] = sealed if fits else None
    for request in requests:
        _sift(coord, request)


def _sift(coord: Coord, request: Request) -> None:
    """Forget what a stranger has published unless it begins with a join that may be placed."""
    if coord.head is None or request.agent in coord.head.state.agents or not refnames.is_fetched(request.ref):
        return
    first = next((sealed for sealed in request.operations.values() if sealed), None)
    if first is None or not isinstance(first.op, Join) or fault(coord.head.state, first.op, first.key):
        coord.opened.update(dict.fromkeys(request.blobs.values()))
        request.operations.update(dict.fromkeys(request.operations))


def unplaced_here(coord: Coord) -> dict[OpId, Sealed]:
    """Return the operations of this clone's agents that are not in the verified ledger yet."""
    requests = read_requests(coord, fetched=False)
    return {sealed.id: sealed for request in requests for sealed in request.operations.values() if sealed}


def pending(coord: Coord, requests: Iterable[Request]) -> list[Sealed]:
    """Return what may be placed: believed, and not dated beyond the skew of this clock."""
    return in_time(coord, [sealed for each in requests for sealed in each.operations.values() if sealed is not None])


def in_time(coord: Coord, operations: Iterable[Sealed]) -> list[Sealed]:
    """Return the operations that are not dated beyond the skew of this clock."""
    latest = coord.clock.now() + (coord.head.state.skew if coord.head else 0)
    return [sealed for sealed in operations if sealed.op.at <= latest]


class Draft(NamedTuple):
    """An operation sealed into a request commit that no ref points at yet."""

    sealed: Sealed
    update: RefUpdate
    objects: tuple[GitObject, ...]


def draft(coord: Coord, make: Callable[[int], Operation], signer: Signer, requests: Sequence[Request]) -> Draft:
    """Return the agent's next operation, sealed, with the request commit that would publish it.

    `requests` are this clone's; `seq` is one above everything known of the agent: the ledger, its request ref here,
    and the copy of it that was fetched.
    """
    mine = next((request for request in requests if request.agent == coord.me.agent), None)
    there = next((r for r in read_requests(coord, fetched=True, only=coord.me.agent)), None)
    sealed = seal_operation(make(_next_seq(coord, mine, there)), signer)
    record = hash_object("blob", sealed.record, coord.store.algorithm)
    # What this process signed it need not verify: that would import all of `cryptography` for every claim.
    coord.opened[record.oid] = sealed
    names = {_name(seq): oid for seq, oid in _carried_on(coord, mine, there, sealed.op).items()}
    parent = mine.value if mine and coord.settings.keeps_history else None
    commit, objects = flat_commit(coord, names | {_name(sealed.op.seq): record.oid}, sealed.op.at, parent)
    ref = refnames.owned(Family.REQUESTS, coord.me.agent)
    return Draft(sealed, RefUpdate(ref, commit, mine.value if mine else ABSENT), (record, *objects))


def _next_seq(coord: Coord, mine: Request | None, there: Request | None) -> int:
    member = coord.head.state.agents.get(coord.me.agent) if coord.head else None
    known = {0, member.seq if member else 0} | (mine.blobs.keys() if mine else set())
    return max(known | _own_there(coord, there)) + 1


def _own_there(coord: Coord, there: Request | None) -> set[int]:
    """Return the numbers used in the fetched copy by the agent itself: anybody can put other files there."""
    keys = {coord.signer.key} if coord.signer else set()
    if coord.head is not None:
        member = coord.head.state.agents.get(coord.me.agent)
        keys |= {*coord.head.state.policy.admins, *(since.key for since in (member.keys if member else ()))}
    return {seq for seq, sealed in there.operations.items() if sealed and sealed.key in keys} if there else set()


def _name(seq: int) -> str:
    return f"{seq:0{SEQ_DIGITS}}"


def flat_commit(
    coord: Coord, names: Mapping[str, Oid], at: int, parent: Oid | None = None
) -> tuple[Oid, tuple[GitObject, ...]]:
    """Return the commit of a flat tree with this date, and the tree and commit objects that make it."""
    tree = Tree(dict(names))
    trees = tuple(tree.hashed(coord.store.algorithm))
    lines = [f"parent {parent}"] if parent else []
    header = [f"tree {tree.oid}", *lines, f"author {AUTHOR} {at} +0000", f"committer {AUTHOR} {at} +0000"]
    content = "\n".join([*header, "", format_stamp(at), ""])
    commit = hash_object("commit", content.encode("ascii"), coord.store.algorithm)
    return commit.oid, (*trees, commit)


def publish(
    coord: Coord,
    make: Callable[[int], Operation],
    signer: Signer,
    also: Callable[[Sealed], Sequence[GitObject]] = lambda _sealed: (),
) -> Draft:
    """Draw a `seq`, sign, and swap the operation into the agent's request ref; from then on anybody may place it.

    `also` names further objects to store in the same go.
    Raises CoordError(ERROR) when the ref stays locked or contended for half a minute.
    """
    for _ in attempts(coord.clock, coord.jitter, seconds=PUBLISH_SECONDS):
        made = draft(coord, make, signer, read_requests(coord, fetched=False))
        objects = [*made.objects, *also(made.sealed)]
        coord.reach("before publish")
        if move(coord, objects, [made.update], f"publish {made.sealed.op.KIND}"):
            coord.reach("after publish")
            return made
    raise CoordError(Kind.ERROR, f"the request ref of {coord.me.agent} is never at rest", next="git coord doctor")


def without_blockers(coord: Coord, operations: Sequence[Sealed]) -> list[Sealed]:
    """Return one agent's operations without those that cannot be placed: each would end the turn of all after it."""
    kept = list(operations)
    while len(kept) > 1:  # one alone is in nobody's way
        made = chain.extend(coord.known, kept, coord.store.algorithm)
        placed = {entry.sealed.record for entry in made.placed} if made else set()
        left = [sealed for sealed in kept if sealed.record not in placed]
        if not left or len(placed) == MAX_PLACED:
            break
        kept.remove(min(left, key=lambda sealed: (sealed.op.seq, sealed.record)))
    return kept


def _carried_on(coord: Coord, mine: Request | None, there: Request | None, new: Operation) -> dict[int, Oid]:
    """Return what the agent's next request commit still holds: all that is pending and blocks nothing; says the rest.

    That includes what another clone of the agent has published there, which a push would otherwise take away. What is
    dated ahead of this clock would be overtaken by the `new` operation: nobody would ever place it. A renewal is
    replaced by a new one of the same claims, so that they do not pile up while the remote gives no answer.
    """
    own = _own_there(coord, there)
    theirs = {seq: oid for seq, oid in there.blobs.items() if seq in own} if there else {}
    blobs = theirs | (mine.blobs if mine else {})
    believed = [sealed for oid in blobs.values() if (sealed := coord.opened.get(oid))]
    replaced = [sealed for sealed in believed if _replaces(new, sealed.op)]
    coord.given_up.update(sealed.id for sealed in replaced)  # which is nothing to talk about
    believed = [sealed for sealed in believed if sealed not in replaced]
    ahead = {sealed.op.seq for sealed in believed} - {s.op.seq for s in in_time(coord, believed)}
    blocking = {sealed.op.seq for sealed in believed} - {s.op.seq for s in without_blockers(coord, believed)}
    for sealed in believed:
        if sealed.op.seq in ahead | blocking:
            is_ahead = sealed.op.seq in ahead
            coord.give_up(sealed, f"dated {format_stamp(sealed.op.at)}" if is_ahead else "not placeable any more")
    left = ahead | blocking | {sealed.op.seq for sealed in replaced}
    return {seq: oid for seq, oid in sorted(blobs.items()) if seq not in left}


def _replaces(new: Operation, old: Operation) -> bool:
    """Tell whether a renewal makes an earlier one of exactly the same claims needless: each is complete in itself."""
    if not (isinstance(new, Renew) and isinstance(old, Renew)) or old.seq >= new.seq:
        return False
    return {renewal.claim for renewal in old.claims} == {renewal.claim for renewal in new.claims}


def withdraw(coord: Coord, sealed: Sealed) -> None:
    """Take an operation that cannot be placed out of the agent's request ref, so that it stands in nobody's way.

    The ref of a name that is not (or not any more) the acting key's goes away: it is its owner's to write.
    """
    member = coord.known.state.agents.get(sealed.op.agent)
    for _ in attempts(coord.clock, coord.jitter, seconds=PUBLISH_SECONDS):
        mine = next((r for r in read_requests(coord, fetched=False, only=sealed.op.agent)), None)
        if mine is None:
            return
        names = {_name(seq): oid for seq, oid in mine.blobs.items() if seq != sealed.op.seq}
        commit, objects = flat_commit(coord, names, sealed.op.at, mine.value if coord.settings.keeps_history else None)
        is_ours = member is not None and coord.own_signer.key in {since.key for since in member.keys}
        update = RefUpdate(mine.ref, commit if is_ours else ABSENT, mine.value)
        if move(coord, objects, [update], "withdraw"):
            return
