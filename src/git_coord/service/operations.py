"""Statements of the acting agent: the one place that fills the fields they all have."""

from __future__ import annotations

from typing import Any, TypeVar

from git_coord.crypto.keys import Signer
from git_coord.domain.durations import show_age
from git_coord.domain.ids import KeyText
from git_coord.domain.placing import EXPELLED, NOT_LISTED, fault
from git_coord.domain.state import Member
from git_coord.domain.statements import Claim, Operation, Takeover
from git_coord.errors import CoordError, Kind

from .context import Coord
from .members.read_only import require_writable
from .under_run import note_claimed

O = TypeVar("O", bound=Operation)  # noqa: E741 - the one type variable of this module


def operation(coord: Coord, cls: type[O], seq: int, **fields: Any) -> O:
    """Return an operation of the acting agent, dated now, naming the head this process verified."""
    head = coord.head
    common: dict[str, Any] = {
        "repo": coord.known.state.repo,
        "agent": coord.me.agent,
        "session": coord.me.session,
        "seq": seq,
        "at": coord.clock.now(),
        "nonce": coord.nonce(),
        "head": head.oid if head else None,
    }
    made = cls(**(common | fields))
    if isinstance(made, (Claim, Takeover)):
        note_claimed(coord, made)
    return made


def require_membership(coord: Coord) -> Member:
    """Return the acting agent's membership when its key and session are the current ones.

    Raises CoordError(ERROR) when it has not joined, CoordError(LOST) when the name, or its session, is somebody else's.
    """
    agent = coord.me.agent
    require_writable(coord.files)
    member = coord.known.state.agents.get(agent)
    if agent in coord.known.state.expelled:
        raise not_any_more(coord)
    if member is None:
        raise CoordError(Kind.ERROR, f"{agent} has not joined this ledger", next=f"git coord init --agent {agent}")
    if member.key != coord.own_signer.key:
        raise name_taken(coord)
    if member.session != coord.me.session:
        raise in_use(coord)
    return member


def put_out(coord: Coord) -> str:
    """Return who put the acting agent out, when and why; empty when nobody did."""
    gone = coord.known.state.expelled.get(coord.me.agent)
    if gone is None:
        return ""
    why = f', "{gone.reason}"' if gone.reason else ""
    return f"{coord.me.agent} was put out by {gone.by} {show_age(coord.clock.now() - gone.at)} ago{why}"


def not_any_more(coord: Coord) -> CoordError:
    """Return the error for an agent that was put out."""
    agent = coord.me.agent
    return CoordError(Kind.LOST, put_out(coord), next=f"git coord init --agent {agent}", data={"agent": agent})


def in_use(coord: Coord) -> CoordError:
    """Return the error for an agent that is at work in another session."""
    from .sessions import elsewhere, step  # noqa: PLC0415 - only for who is elsewhere

    found = elsewhere(coord, asks=True)
    if found is None:
        return CoordError(Kind.LOST, "the session was another one until now: once more", next="git coord whoami")
    text = found.words(coord.clock.now())
    doubt = "go on as it if that was you" if found.is_free else "a worktree needs a name of its own"
    data = {"agent": found.agent, "session": found.session, "worktree": found.worktree}
    return CoordError(Kind.LOST, f"{text}: {doubt}", next=step(coord, found, free_name(coord)), data=data)


def name_taken(coord: Coord) -> CoordError:
    """Return the error for a name that belongs to another key."""
    agent = coord.me.agent
    return CoordError(
        Kind.LOST,
        f"the name {agent} belongs to another key",
        next=f"git coord init --agent {free_name(coord)}",
        data={"agent": agent},
    )


def free_name(coord: Coord) -> str:
    """Return the agent's name with the first number that nobody has."""
    agent = coord.me.agent
    return next(f"{agent}-{n}" for n in range(2, 10_000) if f"{agent}-{n}" not in coord.known.state.agents)


SIGNER = "git coord whoami --signer"
"""What prints the line to send to a maintainer: the next command of whose key is not listed."""


def may_join(coord: Coord, op: Operation, key: KeyText) -> None:
    """Raise CoordError(LOST) when the policy or the ledger does not admit this join, before anything is published."""
    if reason := fault(coord.known.state, op, key):
        is_for_maintainer = reason in (NOT_LISTED, EXPELLED)
        step = SIGNER if is_for_maintainer else "git coord policy"
        more = "; send a maintainer the line that this prints" if is_for_maintainer else ""
        raise CoordError(Kind.LOST, f"{op.agent} cannot join: {reason}{more}", next=step)


def policy_signer(coord: Coord) -> Signer:
    """Return the signer of a policy key; raises CoordError when none is here or it is not in the policy."""
    if coord.known.state.agents.get(coord.me.agent) is None:
        require_membership(coord)
    admins = coord.known.state.policy.admins
    signer = coord.policy_signer() if coord.policy_signer else coord.own_signer
    if signer.key not in admins and coord.signer is not None and coord.signer.key in admins:
        return coord.signer  # git's own signing key is known here, and is none of the policy's yet
    if signer.key not in admins:
        raise CoordError(
            Kind.LOST,
            "the key here is not one of the policy's",
            next="git coord policy",
        )
    return signer
