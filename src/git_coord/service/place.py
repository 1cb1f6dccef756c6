"""Publish an operation and see it placed: by our own swap, or by somebody who helped; locally or through the remote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from git_coord.crypto.keys import Signer
from git_coord.domain import chain
from git_coord.domain.chain import Extension, Sealed
from git_coord.domain.ledger import Outcome
from git_coord.domain.merkle import GitObject
from git_coord.domain.placing import MAX_PLACED, fault
from git_coord.domain.statements import Join, Operation
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus, RefUpdate, Swap
from git_coord.store.refnames import LEDGER, SEEN

from .beat import beat_if_due, note_pushed
from .context import Coord
from .exchange.parts import ask_place, push
from .exchange.refusal import host_refusal, refused_by_host
from .exchange.undone import make_final
from .ledger import candidates, fetched_ledger, note_losses_of, open_ledger, place_locally, take_extension
from .members.read_only import require_writable
from .moving import move, store
from .operations import not_any_more
from .recent import mend
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt, note_synced, own_updates, remote_of
from .requests import Draft, draft, publish, read_requests, withdraw
from .retry import attempts

PLACE_SECONDS = 60
"""How long one command fights for its place before it says so; helping ends it in two or three pushes."""
MAX_ROUNDS = 5
"""Each of so many seconds, while the ledger moves meanwhile: a hundred busy processes may share a core."""
OVERTAKEN_TRIES = 5
MAX_UNMOVED = 3
"""Pushes refused or cut off while the remote's ledger did not move, before that is what there is to say."""


class Submitted(NamedTuple):
    """A published operation and what became of it; `outcome` is None while the remote could not be asked."""

    sealed: Sealed
    outcome: Outcome | None


class UnreachableError(CoordError):
    """The operation is published here, and whether the remote has it is not known."""

    def __init__(self, sealed: Sealed, cause: CoordError) -> None:
        """Keep the cause's words and the operation, which a `cancel` may have to follow."""
        super().__init__(Kind.UNKNOWN, cause.message, next=cause.next, data=cause.data)
        self.sealed = sealed


class UnplaceableError(CoordError):
    """The operation may not be placed in this ledger; it is withdrawn."""

    def __init__(self, sealed: Sealed, reason: str) -> None:
        """Say why."""
        message = f"{sealed.op.KIND} of {sealed.op.agent} cannot be placed: {reason}"
        super().__init__(Kind.ERROR, message, next="git coord doctor", data={"reason": reason})


class OvertakenError(UnplaceableError):
    """Another clone of the agent used the `seq` first: withdrawn, and published again under a higher one."""


def submit(coord: Coord, make: Callable[[int], Operation], signer: Signer | None = None) -> Submitted:
    """Publish and place one operation of the acting agent.

    Raises `UnreachableError` when the remote gave no answer, CoordError(UNKNOWN) when it refuses our refs,
    CoordError(UNTRUSTED) for a bad ledger there, CoordError(ERROR) when the operation cannot be placed.
    """
    require_writable(coord.files)
    by = signer or coord.own_signer
    if coord.remote is None:
        return _submit_locally(coord, make, by)
    ask_place(coord)
    beat_if_due(coord, acts=True)
    done = _submit_to_remote(coord, make, by)
    make_final(coord, [*coord.settled, done])
    return done


def _submit_to_remote(coord: Coord, make: Callable[[int], Operation], by: Signer) -> Submitted:
    """Publish and place; the sequence number may belong to another clone's operation by then, which is no obstacle."""
    for _ in range(OVERTAKEN_TRIES):
        made = publish(coord, make, by, also=_guess(coord))
        try:
            return _answered(coord, made.sealed, place_at_remote)
        except OvertakenError as trouble:
            last = trouble
    raise last


def _answered(coord: Coord, sealed: Sealed, place: Callable[[Coord, Sealed], Outcome | None]) -> Submitted:
    """Place an operation and answer for its outcome; one of which nothing is known stays to be told of when it is."""
    coord.answering.add(sealed.id)
    try:
        return Submitted(sealed, place(coord, sealed))
    except BaseException:
        coord.answering.discard(sealed.id)
        raise


def _guess(coord: Coord) -> Callable[[Sealed], Sequence[GitObject]]:
    """Return what makes the ledger objects of an operation, so that they are stored with it in one go."""

    def objects(sealed: Sealed) -> Sequence[GitObject]:
        made = chain.extend(coord.known, candidates(coord, [sealed]), coord.store.algorithm)
        if made is None:
            return ()
        coord.stored.add(made.head.oid)
        coord.drafted = coord.known.oid, made
        return made.objects

    return objects


def _submit_locally(coord: Coord, make: Callable[[int], Operation], signer: Signer) -> Submitted:
    """Publish and place in one transaction when nobody is in the way; else publish, then fight for the place."""
    made = draft(coord, make, signer, read_requests(coord, fetched=False))
    extension = chain.extend(coord.known, candidates(coord, [made.sealed]), coord.store.algorithm)
    if extension and _places(extension, made.sealed) and _swap_both(coord, made, extension):
        return Submitted(made.sealed, _outcome(coord, made.sealed))
    for _ in range(OVERTAKEN_TRIES):
        made = publish(coord, make, signer)
        try:
            return _answered(coord, made.sealed, _place_locally)
        except OvertakenError as trouble:
            last = trouble
    raise last


def _swap_both(coord: Coord, made: Draft, extension: Extension) -> bool:
    """Move request ref, ledger and seen together, so that no process ever sees the one without the other."""
    old = coord.known.oid
    new = extension.head.oid
    updates = [made.update, RefUpdate(LEDGER, new, old), RefUpdate(SEEN, new, old)]
    coord.answering.add(made.sealed.id)
    ours = note_losses_of(coord, extension)
    coord.reach("before publish")
    if not move(coord, [*made.objects, *extension.objects], updates, "place"):
        return False
    coord.reach("after publish")
    take_extension(coord, extension, ours)
    return True


def _place_locally(coord: Coord, sealed: Sealed) -> Outcome | None:
    for _ in range(MAX_ROUNDS):
        before = coord.known.oid
        for _ in attempts(coord.clock, coord.jitter, seconds=PLACE_SECONDS):
            open_ledger(coord)
            if sealed.id in coord.outcomes:
                return _outcome(coord, sealed)
            made = _extension(coord, sealed)
            if place_locally(coord, made) and sealed.id in coord.outcomes:
                return _outcome(coord, sealed)
        if coord.known.oid == before:
            break
    raise CoordError(Kind.ERROR, "the ledger stays locked by other processes", next="git coord doctor")


def place_at_remote(coord: Coord, sealed: Sealed) -> Outcome | None:
    """Push the ledger with the operation placed; on any failure re-read the remote and see what became of it."""
    unmoved = 0
    for _ in attempts(coord.clock, coord.jitter, seconds=PLACE_SECONDS, first_wait=0.05):
        if sealed.id in coord.outcomes:
            return _outcome(coord, sealed)
        before = fetched_ledger(coord)
        failed = _push_once(coord, sealed)
        if sealed.id in coord.outcomes:
            return _outcome(coord, sealed)
        unmoved = unmoved + 1 if failed is not None and fetched_ledger(coord) == before else 0
        if failed is not None and unmoved == MAX_UNMOVED:
            raise failed
    raise CoordError(Kind.UNKNOWN, f"{remote_of(coord).name} stays busy", next="git coord sync")


def _push_once(coord: Coord, sealed: Sealed) -> CoordError | None:
    """Push once; None when our ledger landed, else what to say if that goes on, after the remote was read again."""
    made = _extension(coord, sealed)
    mine = own_updates(coord, [coord.me.agent])
    try:
        if made.head.oid not in coord.stored:
            store(coord, made.objects)
        results = push_and_land(coord, made, mine)
    except CoordError as trouble:
        coord.stored.clear()  # perhaps it failed because they were pruned
        return _after_silence(coord, sealed, trouble)
    if results[0].status is not PushStatus.REJECTED:
        note_pushed(coord, results)
        return None
    if final := refused_by_host(results[:1]):
        raise host_refusal(coord, final)
    fetch_and_adopt(coord, LEDGER_FAMILIES)
    # Only now: a beat vouches for claims that a newer ledger may not have any more.
    note_pushed(coord, results)
    return host_refusal(coord, results[0])


def _after_silence(coord: Coord, sealed: Sealed, trouble: CoordError) -> UnreachableError:
    """Ask what became of a push that ended without an answer; who cannot ask does not know."""
    if trouble.kind is not Kind.UNKNOWN:
        raise trouble
    try:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
        mend(coord)
    except CoordError as still:
        if still.kind is not Kind.UNKNOWN:
            raise
        raise UnreachableError(sealed, still) from None
    return UnreachableError(sealed, trouble)


def push_and_land(coord: Coord, made: Extension | None, others: Sequence[RefUpdate]) -> list[PushedRef]:
    """Push the ledger's extension (the first result is its own) with other refs, and take what the remote confirmed.

    A heartbeat among them is for the caller to note, once it knows that the ledger it vouches by is the newest.
    Raises CoordError(UNKNOWN) when the outcome is not known.
    """
    ledger = [RefUpdate(LEDGER, made.head.oid, coord.known.oid)] if made else []
    updates = [*ledger, *others]
    coord.reach("before push")
    results = push(coord, updates, record=False)
    coord.reach("after push")
    answers = zip(updates, results, strict=True)
    landed = [update for update, result in answers if result.status is not PushStatus.REJECTED]
    if made is not None and landed[:1] == ledger:
        _land(coord, made, landed)
    else:
        remote_of(coord).record(landed)
    return results


def _land(coord: Coord, made: Extension, landed: Sequence[RefUpdate]) -> None:
    """Move the local ledger, and the copies of all that landed, to what the remote confirmed.

    Another process of this clone may have been first at some of them: then each moves for itself, or not at all.
    Trouble here is said, and does not hide that the remote has it: the next fetch brings it here.
    """
    old = coord.known.oid
    updates = [RefUpdate(LEDGER, made.head.oid, old), RefUpdate(SEEN, made.head.oid, old)]
    copies = [update._replace(ref=refnames.fetched(update.ref)) for update in landed]
    ours = note_losses_of(coord, made)
    coord.reach("before local move")
    if not _swap_at_once(coord, [*updates, *copies]):
        remote_of(coord).record(landed)
        try:
            move(coord, made.objects, updates, "confirmed", are_stored=True)
        except CoordError as trouble:
            coord.notice(f"{remote_of(coord).name} confirmed it, but {trouble.message}")
    coord.reach("after local move")
    take_extension(coord, made, ours)
    note_synced(coord)


def _swap_at_once(coord: Coord, updates: Sequence[RefUpdate]) -> bool:
    """Move all of it in one transaction, which costs what one ref costs; False when that was not to be."""
    try:
        return coord.store.swap(updates, "confirmed") is Swap.MOVED
    except CoordError:
        return False


def _extension(coord: Coord, sealed: Sealed) -> Extension:
    """Return the commit that places everything pending, ours included; raises CoordError when ours cannot be placed."""
    (parent, made), coord.drafted = coord.drafted or (None, None), None
    if made is None or parent != coord.known.oid or not _places(made, sealed):
        made = chain.extend(coord.known, candidates(coord, [sealed]), coord.store.algorithm)
    if made is not None and (_places(made, sealed) or len(made.placed) == MAX_PLACED):
        return made
    withdraw(coord, sealed)
    # What stands before it in the queue counts too: a pending operation may use its number, or change the key.
    then = made.head.state if made is not None else coord.known.state
    member = then.agents.get(sealed.op.agent)
    is_late = member is not None and sealed.op.seq <= member.seq
    later = replace(sealed.op, seq=member.seq + 1) if member and is_late else sealed.op
    if sealed.op.agent in coord.known.state.expelled and not isinstance(sealed.op, Join):
        raise not_any_more(coord)
    reason = fault(then, later, sealed.key)
    if reason is None and is_late:
        raise OvertakenError(sealed, f"another clone of {sealed.op.agent} used seq {sealed.op.seq}")
    raise UnplaceableError(sealed, fault(coord.known.state, sealed.op, sealed.key) or reason or "its turn never comes")


def _places(made: Extension, sealed: Sealed) -> bool:
    return any(entry.sealed.id == sealed.id for entry in made.placed)


def _outcome(coord: Coord, sealed: Sealed) -> Outcome | None:
    return coord.outcomes[sealed.id].outcome
