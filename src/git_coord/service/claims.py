"""Claim, release, renew, break: check what can be told before, publish, and say what became of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.ledger import Change, Done, Outcome, Served
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Break, Landed, Operation, Release, Renew, Renewal, Stamp, Target
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .claiming import (
    ClaimGranted,
    ClaimRefused,
    Wanted,
    ask_on_hold,
    cancel,
    check_ttl,
    claimed,
    held_already,
    hold_error,
    known_conflicts,
    refused,
    submit_claim,
    unconfirmed,
)
from .context import Coord
from .leases import own_leases
from .operations import operation, policy_signer, require_membership
from .place import UnreachableError, submit
from .tasks import refuse_blocked

if TYPE_CHECKING:
    from .selection import Selection

__all__ = [
    "Changed",
    "ClaimGranted",
    "ClaimRefused",
    "Wanted",
    "break_claims",
    "cancel",
    "claim",
    "refused",
    "release",
    "renew",
]


def claim(coord: Coord, wanted: Wanted) -> ClaimGranted | ClaimRefused:
    """Claim all items or none.

    Raises CoordError: ERROR or LOST without membership, USAGE for a ttl out of bounds, BLOCKED for a blocked
    task, UNKNOWN when the remote cannot be asked and `offline` is not "allow" (then a cancel is behind the claim).
    """
    require_membership(coord)
    check_ttl(coord, wanted.ttl)
    refuse_blocked(coord, wanted.items)
    ask_on_hold(coord)
    if found := known_conflicts(coord, wanted.items):
        return ClaimRefused(found)
    if held_back := hold_error(coord.known.state, coord.clock.now()):
        if own := held_already(coord, wanted.items):
            return own
        raise held_back
    try:
        return claimed(submit_claim(coord, wanted))
    except UnreachableError as trouble:
        return unconfirmed(coord, trouble)


class Changed(NamedTuple):
    """What a release, renew or break did, and whom it let out of the queue; pending while the remote is silent."""

    changes: tuple[Change, ...]
    is_confirmed: bool
    served: tuple[Served, ...] = ()


def release(coord: Coord, selection: Selection, reason: str, landed: Landed | None = None) -> Changed:
    """Give back what was selected, or with `landed.until` let it wait for a branch.

    Without an answer from the remote it stays pending and the next sync carries it.
    """
    require_membership(coord)
    targets = tuple(Target(claim.op, positions) for claim, positions in selection.claims)
    claims = [claim for claim, _ in selection.claims]
    return _change(
        coord, lambda seq: operation(coord, Release, seq, targets=targets, reason=reason, landed=landed), claims
    )


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
        check_ttl(coord, ttl)
    done = [_renew_group(coord, each, claims, pins, stamps) for each, claims in groups.items()]
    changes = tuple(change for changed in done for change in changed.changes)
    served = tuple(each for changed in done for each in changed.served)
    result = Changed(changes, is_confirmed=all(changed.is_confirmed for changed in done), served=served)
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
        return Changed(outcome.changes, is_confirmed=True, served=outcome.queueing.served)
    raise refused(outcome)
