"""Becoming and staying a member: found or adopt a ledger, join, rejoin, rotate the key, set the policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from git_coord.crypto.keys import Signer
from git_coord.domain import chain
from git_coord.domain.ids import KeyText, Oid
from git_coord.domain.ledger import Done, Outcome, Refused
from git_coord.domain.statements import Join, Listed, Policy, Rejoin, Rotate, rotation_challenge
from git_coord.errors import CoordError, Kind
from git_coord.store.interface import ABSENT, PushStatus, RefUpdate, Swap
from git_coord.store.refnames import LEDGER, SEEN

from .context import Coord
from .exchange.refusal import host_refusal
from .ledger import open_ledger, take_extension
from .operations import may_join, name_taken, operation, policy_signer, require_membership
from .place import UnplaceableError, submit
from .records import rotation_proof, seal_operation
from .remote_ledger import LEDGER_FAMILIES, fetch_and_adopt, remote_of
from .requests import read_requests
from .sessions import note_current
from .sync import sync

SKEW = 60
DEFAULT_MAX_LEASE = 7 * 86400


class Founding(Enum):
    """Where the ledger of an `init` came from."""

    NEW = "new"
    ADOPTED = "adopted"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Birth:
    """What the root of a new ledger fixes."""

    repo: str
    fold: str
    policy_key: Signer


def found_or_adopt(coord: Coord, birth: Callable[[], Birth]) -> Founding:
    """Make sure that this clone has a verified ledger; `birth` is only called when there is none anywhere.

    Two racing inits end with one ledger: the root is pushed alone, as "must not exist", and the loser adopts.
    Raises CoordError(UNKNOWN) when the remote gives no answer: a ledger is never begun blindly.
    """
    had = open_ledger(coord) is not None
    if coord.remote is not None:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    if coord.head is not None:
        return Founding.KEPT if had else Founding.ADOPTED
    if _found(coord, birth()):
        return Founding.NEW
    if coord.remote is not None:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
    open_ledger(coord)
    if coord.head is None:
        raise CoordError(Kind.ERROR, "the ledger was begun by somebody else and is gone again", next="git coord init")
    return Founding.ADOPTED


def _found(coord: Coord, birth: Birth) -> bool:
    root = Policy(
        repo=birth.repo,
        agent=coord.me.agent,
        session=coord.me.session,
        seq=1,
        at=coord.clock.now(),
        nonce=coord.nonce(),
        head=None,
        admins=(birth.policy_key.key,),
        fold=birth.fold,
        join="open",
        listed=(),
        max_lease=DEFAULT_MAX_LEASE,
        skew=SKEW,
        takeover="gated",
        void=(),
    )
    made = chain.root(seal_operation(root, birth.policy_key), coord.store.algorithm)
    coord.store.write(made.objects)
    if coord.remote is not None and not _push_root(coord, made.head.oid):
        return False
    updates = [RefUpdate(LEDGER, made.head.oid, ABSENT), RefUpdate(SEEN, made.head.oid, ABSENT)]
    if coord.store.swap(updates, "found") is not Swap.MOVED:
        return False
    take_extension(coord, made)
    return True


def _push_root(coord: Coord, root: Oid) -> bool:
    result = remote_of(coord).push([RefUpdate(LEDGER, root, ABSENT)])[0]
    if result.status is PushStatus.REJECTED:
        fetch_and_adopt(coord, LEDGER_FAMILIES)
        if coord.head is None:
            raise host_refusal(coord, result)
    return result.status is not PushStatus.REJECTED


def join(coord: Coord) -> bool:
    """Join under the agent's name and key; False when it is a member already, with this key and session.

    Raises CoordError(LOST) when the name belongs to another key, or the agent works in another session.
    """
    was_member = coord.me.agent in coord.known.state.agents
    if not was_member and any(request.blobs for request in read_requests(coord, fetched=False, only=coord.me.agent)):
        sync(coord)  # an init that was killed has published its join: a second one could not be placed behind it
    if coord.me.agent in coord.known.state.agents:
        require_membership(coord)
        return not was_member
    key = coord.own_signer.key
    may_join(coord, operation(coord, Join, 1, key=key), key)
    try:
        submit(coord, lambda seq: operation(coord, Join, seq, key=key))
    except UnplaceableError:
        if coord.me.agent not in coord.known.state.agents:
            raise
        raise name_taken(coord) from None
    note_current(coord)
    return True


def rejoin(coord: Coord) -> None:
    """Make this session the agent's current one."""
    member = coord.known.state.agents.get(coord.me.agent)
    if member is None or member.key != coord.own_signer.key:
        require_membership(coord)
    submit(coord, lambda seq: operation(coord, Rejoin, seq))
    note_current(coord)


def rotate(coord: Coord, new: Signer) -> None:
    """Replace the agent's key by another whose possession is proven; the old one stops counting at that position."""
    require_membership(coord)

    def make(seq: int) -> Rotate:
        op = operation(coord, Rotate, seq, key=new.key, proof="")
        challenge = rotation_challenge(op.repo, op.agent, op.nonce)
        return replace(op, proof=rotation_proof(new, challenge))

    _expect_done(submit(coord, make).outcome)


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What `policy` is asked to change; None keeps it."""

    join: str | None = None
    listed: tuple[Listed, ...] | None = None
    admins: tuple[KeyText, ...] | None = None
    max_lease: int | None = None
    restore_hold: int | None = None
    takeover: str | None = None
    void: tuple[Oid, ...] | None = None


def set_policy(coord: Coord, change: PolicyChange) -> Policy:
    """Place a new policy, signed by a policy key; raises CoordError(LOST) when this key is none."""
    present = coord.known.state.policy
    signer = policy_signer(coord)
    names = ("join", "listed", "admins", "max_lease", "restore_hold", "takeover", "void")
    wanted: dict[str, Any] = {
        name: getattr(present, name) if getattr(change, name) is None else getattr(change, name) for name in names
    }
    fixed = {"fold": present.fold, "skew": present.skew}
    _expect_done(submit(coord, lambda seq: operation(coord, Policy, seq, **wanted, **fixed), signer).outcome)
    return coord.known.state.policy


def _expect_done(outcome: Outcome | None) -> None:
    match outcome:
        case Done():
            return
        case Refused(reason=reason):
            raise CoordError(Kind.LOST, f"refused: {reason.value}")
        case _:
            raise CoordError(Kind.UNKNOWN, "published, but not confirmed", next="git coord sync")
