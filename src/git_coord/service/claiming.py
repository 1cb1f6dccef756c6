"""How a claim is published: drawn, placed, and taken back when its command ends without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from git_coord.domain.ids import Nonce
from git_coord.domain.items import Intent, Item
from git_coord.domain.lease import OFFLINE_NOT_AFTER
from git_coord.domain.ledger import Conflict, Granted, Outcome, Refusal, Refused
from git_coord.domain.obstacles import in_the_way
from git_coord.domain.restoring import is_on_hold
from git_coord.domain.state import LiveClaim, State
from git_coord.domain.statements import Base, Cancel, Claim, Operation, Stamp
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .context import Coord
from .ledger import view
from .operations import operation
from .place import Submitted, UnreachableError, submit
from .presence import show_again
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt
from .requests import publish, read_requests
from .tasks import blocked


class Wanted(NamedTuple):
    """What `claim` asks for; `ttl` in seconds, `stamps` None keeps those of items claimed anew."""

    items: tuple[Item, ...]
    purpose: str
    lease: str
    ttl: int
    stamps: tuple[Stamp, ...] | None
    base: Base


class ClaimGranted(NamedTuple):
    """The claim is held; not confirmed while the remote has not placed it."""

    claim: LiveClaim
    is_confirmed: bool


class ClaimRefused(NamedTuple):
    """Nothing was claimed; every holder in the way."""

    conflicts: tuple[Conflict, ...]


def submit_claim(coord: Coord, wanted: Wanted, wait: int | None = None) -> Submitted:
    """Publish a claim, which may `wait` so many seconds in the queue, and place it.

    Raises `UnreachableError` for one that may still be granted; with any other error, and an interrupt, it is taken
    back.
    """
    drawn: list[Claim] = []

    def make(seq: int) -> Claim:
        op = operation(coord, Claim, seq, not_after=None, **_fields(wanted))
        drawn.append(_with_times(op, wait, has_deadline=coord.settings.offline != "allow"))
        return drawn[-1]

    with taken_back(coord, drawn):
        show_again(coord)
        submitted = submit(coord, make)
        return submit(coord, make) if _is_late_already(coord, submitted) else submitted


@contextmanager
def taken_back(coord: Coord, drawn: Sequence[Operation]) -> Iterator[None]:
    """Cancel the last claim or takeover drawn when the body ends without having placed it; earlier ones are nowhere."""
    try:
        yield
    except UnreachableError:
        raise
    except CoordError:
        if drawn and _is_published(coord, drawn[-1].nonce):
            _take_back(coord, drawn[-1].nonce)
        raise
    except KeyboardInterrupt:
        if drawn:  # whether it was published cannot be told: it may have struck inside the swap
            _take_back(coord, drawn[-1].nonce)
        raise


def _fields(wanted: Wanted) -> dict[str, object]:
    return {name: getattr(wanted, name) for name in ("items", "purpose", "lease", "ttl", "stamps", "base")}


def _with_times(op: Claim, wait: int | None, *, has_deadline: bool) -> Claim:
    not_after = op.at + OFFLINE_NOT_AFTER if has_deadline else None
    return replace(op, not_after=not_after, wait_until=None if wait is None else op.at + wait)


def _is_late_already(coord: Coord, submitted: Submitted) -> bool:
    """Tell whether a claim just made was refused as too late: the operation before it came from a clock far ahead.

    The refusal has set the ledger's time to this clock, so that a second try is judged by it.
    """
    late = isinstance(submitted.outcome, Refused) and submitted.outcome.reason is Refusal.LATE
    op = submitted.sealed.op
    return late and isinstance(op, Claim) and op.not_after is not None and coord.clock.now() <= op.not_after


def check_ttl(coord: Coord, ttl: int) -> None:
    """Raise CoordError(USAGE) for a ttl that is too short or too long here."""
    settings = coord.settings
    least = settings.min_ttl_remote if coord.remote is not None else settings.min_ttl_local
    most = coord.known.state.policy.max_lease
    if not least <= ttl <= most:
        raise CoordError(Kind.USAGE, f"a lease of {ttl} s is not between {least} s and {most} s here")


def known_conflicts(coord: Coord, items: tuple[Item, ...]) -> tuple[Conflict, ...]:
    """Return who is in the way before anything is published, waiters too; final only after a fetch in this command."""
    found = in_the_way(coord.known.state, coord.me.agent, items, coord.clock.now())
    if not found or coord.remote is None or coord.fetched_at is not None:
        return found
    try:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN or coord.settings.offline != "allow":
            raise
        return found
    return in_the_way(coord.known.state, coord.me.agent, items, coord.clock.now())


def claimed(submitted: Submitted) -> ClaimGranted | ClaimRefused:
    """Return what became of a claim that does not wait; raises CoordError for a refusal without anybody in the way."""
    match submitted.outcome:
        case Granted(claim=granted):
            return ClaimGranted(granted, is_confirmed=True)
        case Refused(reason=Refusal.CONFLICT, conflicts=found):
            return ClaimRefused(found)
        case Refused(reason=Refusal.BLOCKED, state=state) if isinstance(op := submitted.sealed.op, Claim):
            raise blocked(state, op.items, op.agent) or refused(submitted.outcome)
        case outcome:
            raise refused(outcome)


def unconfirmed(coord: Coord, trouble: UnreachableError) -> ClaimGranted | ClaimRefused:
    """Offline: the claim stands unconfirmed when that is allowed and the local view grants it; else it is cancelled."""
    nonce = trouble.sealed.op.nonce
    if coord.settings.offline == "allow":
        state, _ = view(coord)
        if nonce in state.claims and state.claims[nonce].holder == coord.me.agent:
            return ClaimGranted(state.claims[nonce], is_confirmed=False)
        cancel(coord, nonce)
        assert isinstance(trouble.sealed.op, Claim)
        items = trouble.sealed.op.items
        if blocks := blocked(state, items, coord.me.agent) or hold_error(state, coord.clock.now()):
            raise blocks
        return ClaimRefused(in_the_way(state, coord.me.agent, items, coord.clock.now()))
    raise cancelled(coord, trouble)


def ask_on_hold(coord: Coord) -> None:
    """Look again at the remote while a restored ledger is on hold: the holder may be known by now."""
    is_asked = coord.remote is None or coord.fetched_at is not None or coord.settings.offline == "allow"
    if is_on_hold(coord.known.state, coord.clock.now()) and not is_asked:
        fetch_and_adopt(coord, LEDGER_FAMILIES)


def hold_error(state: State, now: int) -> CoordError | None:
    """Return what there is to say while a restored ledger is on hold, None when it is not."""
    if not is_on_hold(state, now):
        return None
    from .exchange.restored import on_hold  # noqa: PLC0415 - hardly ever needed

    return on_hold(state, now)


def held_already(coord: Coord, items: Sequence[Item]) -> ClaimGranted | None:
    """Return the claim of who holds all of this already, which no hold takes from it; None for who does not.

    Nothing of it is made anew: the hold renews nothing.
    """
    state = coord.known.state
    found = [state.strongest_own(coord.me.agent, item) for item in items]
    if not all(
        own and (own[1].intent is Intent.EDIT or item.intent is Intent.READ)
        for own, item in zip(found, items, strict=True)
    ):
        return None
    first = next(own for own in found if own)
    numbers = ", ".join(sorted({f"#{own[0].token}" for own in found if own}))
    coord.notice(f"held already, as {numbers}: unchanged, nothing is renewed while a restored ledger is on hold")
    return ClaimGranted(first[0], is_confirmed=True)


def cancelled(coord: Coord, trouble: UnreachableError) -> CoordError:
    """Place a cancel behind a claim of which the remote said nothing, and return what there is to say."""
    cancel(coord, trouble.sealed.op.nonce)
    return CoordError(
        Kind.UNKNOWN,
        f"{trouble.message}; the claim is cancelled here, but may still be granted until that is synced",
        next="git coord sync",
        data=trouble.data,
    )


def cancel(coord: Coord, nonce: Nonce) -> None:
    """Swap a cancel in behind an operation, so that whatever becomes of it is undone; nothing is pushed here."""
    publish(coord, lambda seq: operation(coord, Cancel, seq, op=nonce), coord.own_signer)


def _take_back(coord: Coord, nonce: Nonce) -> None:
    try:
        cancel(coord, nonce)
    except CoordError as trouble:
        coord.notice(f"the claim could not be taken back ({trouble.message}) and may still be granted")


def _is_published(coord: Coord, nonce: Nonce) -> bool:
    """Tell whether the request ref has, or the ledger has seen, the own operation with this nonce."""
    requests = read_requests(coord, fetched=False, only=coord.me.agent)
    waiting = {s.op.nonce for request in requests for s in request.operations.values() if s is not None}
    state, me = coord.known.state, coord.me.agent
    claim, waiter = state.claims.get(nonce), state.waiting.get(nonce)
    return nonce in waiting or (claim is not None and claim.holder == me) or (waiter is not None and waiter.agent == me)


def refused(outcome: Outcome | None) -> CoordError:
    """Return the error for an operation that the ledger placed and refused."""
    match outcome:
        case Refused(reason=Refusal.SESSION):
            return CoordError(Kind.LOST, "another session of this agent took over meanwhile", next="git coord whoami")
        case Refused(reason=Refusal.NOT_HELD | Refusal.ITEMS):
            return CoordError(Kind.LOST, "that is not held any more", next="git coord status")
        case Refused(reason=Refusal.CYCLE) as found:
            from .deadlock import deadlock  # noqa: PLC0415 - hardly ever needed

            return deadlock(found)
        case Refused(reason=Refusal.RESTORED, state=state):
            why = hold_error(state, state.counters.at)
            return why or CoordError(Kind.UNKNOWN, "refused while a restored ledger was on hold", next="git coord sync")
        case Refused(reason=reason):
            return CoordError(Kind.ERROR, f"refused: {reason.value}", next="git coord status")
        case _:
            return CoordError(Kind.UNKNOWN, "published, but not confirmed", next="git coord sync")
