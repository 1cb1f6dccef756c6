"""Claim, release, renew, break: check what can be told before, publish, and say what became of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.items import Item
from git_coord.domain.lease import OFFLINE_NOT_AFTER
from git_coord.domain.ledger import Change, Conflict, Done, Granted, Outcome, Refusal, Refused, conflicts
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Base, Break, Cancel, Claim, Operation, Release, Renew, Renewal, Stamp, Target
from git_coord.errors import CoordError, Kind

from .context import Coord
from .leases import own_leases
from .ledger import view
from .losses import tell_losses, waiting
from .operations import operation, policy_signer, require_membership
from .place import Submitted, UnreachableError, submit
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt
from .requests import publish, read_requests
from .tasks import blocked, refuse_blocked

if TYPE_CHECKING:
    from .selection import Selection


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


def claim(coord: Coord, wanted: Wanted) -> ClaimGranted | ClaimRefused:
    """Claim all items or none.

    Raises CoordError: ERROR or LOST without membership, USAGE for a ttl out of bounds, BLOCKED for a blocked
    task, UNKNOWN when the remote cannot be asked and `offline` is not "allow" (then a cancel is behind the claim).
    """
    require_membership(coord)
    _check_ttl(coord, wanted.ttl)
    refuse_blocked(coord, wanted.items)
    if found := _known_conflicts(coord, wanted.items):
        return ClaimRefused(found)
    offline = coord.settings.offline == "allow"

    drawn: list[Claim] = []

    def make(seq: int) -> Claim:
        op = operation(coord, Claim, seq, not_after=None, **_fields(wanted))
        drawn.append(op if offline else _with_deadline(op))
        return drawn[-1]

    try:
        submitted = submit(coord, make)
        if _is_late_already(coord, submitted):
            submitted = submit(coord, make)
    except UnreachableError as trouble:
        return _unconfirmed(coord, trouble)
    except CoordError:
        if drawn and _is_published(coord, drawn[-1].nonce):
            _take_back(coord, drawn[-1].nonce)
        raise
    except KeyboardInterrupt:
        if drawn:  # whether it was published cannot be told: it may have struck inside the swap
            _take_back(coord, drawn[-1].nonce)
        raise
    return _claimed(submitted)


def _fields(wanted: Wanted) -> dict[str, object]:
    return {name: getattr(wanted, name) for name in ("items", "purpose", "lease", "ttl", "stamps", "base")}


def _with_deadline(op: Claim) -> Claim:
    return replace(op, not_after=op.at + OFFLINE_NOT_AFTER)


def _is_late_already(coord: Coord, submitted: Submitted) -> bool:
    """Tell whether a claim just made was refused as too late: the operation before it came from a clock far ahead.

    The refusal has set the ledger's time to this clock, so that a second try is judged by it.
    """
    late = isinstance(submitted.outcome, Refused) and submitted.outcome.reason is Refusal.LATE
    op = submitted.sealed.op
    return late and isinstance(op, Claim) and op.not_after is not None and coord.clock.now() <= op.not_after


def _check_ttl(coord: Coord, ttl: int) -> None:
    settings = coord.settings
    least = settings.min_ttl_remote if coord.remote is not None else settings.min_ttl_local
    most = coord.known.state.policy.max_lease
    if not least <= ttl <= most:
        raise CoordError(Kind.USAGE, f"a lease of {ttl} s is not between {least} s and {most} s here")


def _known_conflicts(coord: Coord, items: Sequence[Item]) -> tuple[Conflict, ...]:
    """Return conflicts that stand before anything is published; final only after a fetch in this command."""
    found = conflicts(coord.known.state, coord.me.agent, items)
    if not found or coord.remote is None or coord.fetched_at is not None:
        return found
    waited = waiting(coord)
    try:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN or coord.settings.offline != "allow":
            raise
        return found
    tell_losses(coord, waited)
    return conflicts(coord.known.state, coord.me.agent, items)


def _claimed(submitted: Submitted) -> ClaimGranted | ClaimRefused:
    match submitted.outcome:
        case Granted(claim=granted):
            return ClaimGranted(granted, is_confirmed=True)
        case Refused(reason=Refusal.CONFLICT, conflicts=found):
            return ClaimRefused(found)
        case Refused(reason=Refusal.BLOCKED, state=state) if isinstance(op := submitted.sealed.op, Claim):
            raise blocked(state, op.items, op.agent) or refused(submitted.outcome)
        case outcome:
            raise refused(outcome)


def _unconfirmed(coord: Coord, trouble: UnreachableError) -> ClaimGranted | ClaimRefused:
    """Offline: the claim stands unconfirmed when that is allowed and the local view grants it; else it is cancelled."""
    nonce = trouble.sealed.op.nonce
    if coord.settings.offline == "allow":
        state, _ = view(coord)
        if nonce in state.claims and state.claims[nonce].holder == coord.me.agent:
            return ClaimGranted(state.claims[nonce], is_confirmed=False)
        cancel(coord, nonce)
        assert isinstance(trouble.sealed.op, Claim)
        items = trouble.sealed.op.items
        if blocks := blocked(state, items, coord.me.agent):
            raise blocks
        return ClaimRefused(conflicts(state, coord.me.agent, items))
    cancel(coord, nonce)
    raise CoordError(
        Kind.UNKNOWN,
        f"{trouble.message}; the claim is cancelled here, but may still be granted until that is synced",
        next="git coord sync",
        data=trouble.data,
    )


def cancel(coord: Coord, nonce: Nonce) -> None:
    """Swap a cancel in behind an operation, so that whatever becomes of it is undone; nothing is pushed here."""
    publish(coord, lambda seq: operation(coord, Cancel, seq, op=nonce), coord.own_signer)


def _take_back(coord: Coord, nonce: Nonce) -> None:
    """Cancel the last claim that a command drew and ends without; earlier ones of it were never published."""
    try:
        cancel(coord, nonce)
    except CoordError as trouble:
        coord.notice(f"the claim could not be taken back ({trouble.message}) and may still be granted")


def _is_published(coord: Coord, nonce: Nonce) -> bool:
    """Tell whether the request ref has, or the ledger has seen, the own operation with this nonce."""
    requests = read_requests(coord, fetched=False, only=coord.me.agent)
    waiting = {s.op.nonce for request in requests for s in request.operations.values() if s is not None}
    claim = coord.known.state.claims.get(nonce)
    return nonce in waiting or (claim is not None and claim.holder == coord.me.agent)


def refused(outcome: Outcome | None) -> CoordError:
    """Return the error for an operation that the ledger placed and refused."""
    match outcome:
        case Refused(reason=Refusal.SESSION):
            return CoordError(Kind.LOST, "another session of this agent took over meanwhile", next="git coord rejoin")
        case Refused(reason=Refusal.NOT_HELD | Refusal.ITEMS):
            return CoordError(Kind.LOST, "that is not held any more", next="git coord status")
        case Refused(reason=reason):
            return CoordError(Kind.ERROR, f"refused: {reason.value}", next="git coord status")
        case _:
            return CoordError(Kind.UNKNOWN, "published, but not confirmed", next="git coord sync")


class Changed(NamedTuple):
    """What a release, renew or break did; pending while the remote has not confirmed it."""

    changes: tuple[Change, ...]
    is_confirmed: bool


def release(coord: Coord, selection: Selection, reason: str) -> Changed:
    """Give back what was selected; without an answer from the remote it stays pending and the next sync carries it."""
    require_membership(coord)
    targets = tuple(Target(claim.op, positions) for claim, positions in selection.claims)
    claims = [claim for claim, _ in selection.claims]
    return _change(coord, lambda seq: operation(coord, Release, seq, targets=targets, reason=reason), claims)


def renew(
    coord: Coord,
    selection: Selection,
    lease: tuple[str, int] | None,
    pins: Mapping[Nonce, tuple[Oid | None, ...]],
    stamps: tuple[Stamp, ...] | None,
) -> Changed:
    """Renew the selected claims: lease (class and ttl in seconds; None keeps each one's), pins and stamps."""
    require_membership(coord)
    groups: dict[tuple[str, int], list[LiveClaim]] = {}
    for claim, _ in selection.claims:
        groups.setdefault(lease or (claim.lease, claim.ttl), []).append(claim)
    for _, ttl in groups:
        _check_ttl(coord, ttl)
    done = [_renew_group(coord, each, claims, pins, stamps) for each, claims in groups.items()]
    changes = tuple(change for changed in done for change in changed.changes)
    result = Changed(changes, is_confirmed=all(changed.is_confirmed for changed in done))
    if not result.is_confirmed:
        _require_vouched(coord, {claim.op for claim, _ in selection.claims})
    return result


def _require_vouched(coord: Coord, nonces: Collection[Nonce]) -> None:
    """Raise CoordError(LOST) when one of these own claims may be somebody else's by now, and nobody can be asked."""
    over = [own for own in own_leases(coord, coord.known.state) if own.claim.op in nonces]
    over = [own for own in over if coord.clock.now() > own.until]
    if over:
        text = f"#{over[0].claim.token} can be vouched for no longer: treat it as lost until the remote confirms it"
        raise CoordError(Kind.LOST, text, next="git coord sync", data={"token": over[0].claim.token})


def _renew_group(
    coord: Coord,
    lease: tuple[str, int],
    claims: Sequence[LiveClaim],
    pins: Mapping[Nonce, tuple[Oid | None, ...]],
    stamps: tuple[Stamp, ...] | None,
) -> Changed:
    renewals = tuple(
        Renewal(claim.op, pins.get(claim.op, claim.pins), claim.stamps if stamps is None else stamps)
        for claim in claims
    )
    name, ttl = lease
    return _change(coord, lambda seq: operation(coord, Renew, seq, claims=renewals, lease=name, ttl=ttl), claims)


def break_claims(coord: Coord, selection: Selection, reason: str) -> Changed:
    """Free somebody's claims without taking them; signed by a policy key."""
    signer = policy_signer(coord)
    nonces = tuple(claim.op for claim, _ in selection.claims)
    submitted = submit(coord, lambda seq: operation(coord, Break, seq, claims=nonces, reason=reason), signer)
    return _done(submitted.outcome)


def _change(coord: Coord, make: Callable[[int], Operation], claims: Sequence[LiveClaim]) -> Changed:
    try:
        return _done(submit(coord, make).outcome)
    except UnreachableError as trouble:
        coord.notice(f"pending: {trouble.message}; the next sync carries it out")
        return Changed(tuple(Change(claim, claim) for claim in claims), is_confirmed=False)


def _done(outcome: Outcome | None) -> Changed:
    if isinstance(outcome, Done):
        return Changed(outcome.changes, is_confirmed=True)
    raise refused(outcome)
