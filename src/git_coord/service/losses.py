"""Pending operations of this clone's agents that came to nothing: noted by whatever moves the ledger, before it moves.

A file for each agent keeps what it was not told yet, a line of JSON each, until one of its commands has said it
(`telling.py`). Nobody who fetches has to think of it, and no kill between the fetch and the words swallows anything.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from git_coord.domain.chain import Head, OpId, Placed, Sealed
from git_coord.domain.ids import Agent, Nonce, Oid
from git_coord.domain.items import show_name
from git_coord.domain.ledger import Refused
from git_coord.domain.message import describe
from git_coord.domain.statements import Cancel, Claim, Takeover
from git_coord.lean import NamedTuple
from git_coord.store import refnames
from git_coord.store.refnames import Family

from .context import Coord
from .exchange.own_refs import own_live
from .requests import Request, read_requests

FOLDER = "lost"


class Loss(NamedTuple):
    """An operation that came to nothing: what to say of it, how the ledger words it, and who was in the way."""

    agent: Agent
    op: Nonce
    seq: int
    commit: Oid
    """The ledger commit that decided it: what another process overtook never happened."""
    words: str
    line: str
    names: str = ""
    holder: str | None = None
    token: int | None = None
    reason: str = ""


def note_losses(coord: Coord, placed: Mapping[OpId, Placed], head: Head) -> list[Placed]:
    """Write down what a move of this clone's ledger from the present head to `head` takes from its agents.

    Returns which of the placed operations were pending here. What this very command has submitted it answers for.
    """
    ours = _waited(coord, placed)
    settled: list[Placed] = []
    for request in ours:
        found = {sealed.id: sealed for sealed in request.operations.values() if sealed is not None}
        settled += [placed[name] for name in found if name in placed and name not in coord.answering]
        losses = list(_losses(coord, found, placed, head))
        if losses:
            keep_losses(coord, request.agent, losses)
    return settled


def _waited(coord: Coord, placed: Mapping[OpId, Placed]) -> list[Request]:
    """Return this clone's requests of agents of which something was placed that this command has not submitted."""
    refs = own_live(coord, refnames.prefix(Family.REQUESTS))
    here = {name.agent for ref in refs if (name := refnames.parse(ref))}
    concerned = here & {agent for agent, nonce in placed if (agent, nonce) not in coord.answering}
    if not concerned:
        return []  # as of nearly every claim: nothing is read for it
    return [request for request in read_requests(coord, fetched=False) if request.agent in concerned]


def _losses(coord: Coord, found: Mapping[OpId, Sealed], placed: Mapping[OpId, Placed], head: Head) -> Iterator[Loss]:
    """Yield what was refused (a claim that is cancelled is no loss), or overtaken by another clone of the agent."""
    given_up = {(sealed.op.agent, sealed.op.op) for sealed in found.values() if isinstance(sealed.op, Cancel)}
    for name, sealed in found.items():
        if name in coord.answering or name in given_up or name in coord.given_up:
            continue
        if name in placed:
            if isinstance(placed[name].outcome, Refused) and isinstance(sealed.op, Claim):
                yield _refused(placed[name], head.oid)
        elif _is_overtaken(sealed, head):
            why = f"another clone of {sealed.op.agent} has used its number"
            words = f"lost: a {sealed.op.KIND} of {sealed.op.agent} that was pending: {why}"
            line = f"{sealed.op.agent} cannot {sealed.op.KIND}: {why}"
            names = names_of(sealed)
            yield Loss(sealed.op.agent, sealed.op.nonce, sealed.op.seq, head.oid, words, line, names, reason=why)


def _is_overtaken(sealed: Sealed, head: Head) -> bool:
    """Tell whether its number was used; what the ledger has of it was placed in an epoch that nobody here has seen."""
    member, nonce = head.state.agents.get(sealed.op.agent), sealed.op.nonce
    is_there = nonce in head.state.claims or nonce in head.state.waiting
    return member is not None and sealed.op.seq <= member.seq and not is_there


def _refused(placed: Placed, commit: Oid) -> Loss:
    op, outcome = placed.sealed.op, placed.outcome
    assert isinstance(outcome, Refused)
    names, first = names_of(placed.sealed), next(iter(outcome.conflicts), None)
    why, holder, token = outcome.reason.value, None, None
    if first is not None:
        does = "holds" if first.claim.token else "waits for"
        why = f"{first.claim.holder} {does} {show_name(first.held.kind, first.held.name)}"
        holder, token = str(first.claim.holder), int(first.claim.token) if first.claim.token else None
    words = f"lost: {op.agent}'s claim on {names} was refused, {why}"
    line = describe(op, outcome)
    return Loss(op.agent, op.nonce, op.seq, commit, words, line, names, holder, token, outcome.reason.value)


def names_of(sealed: Sealed) -> str:
    """Return the first of what a claim asks for, nothing for another operation."""
    if not isinstance(sealed.op, Claim | Takeover):
        return ""
    names = ", ".join(show_name(item.kind, item.name) for item in sealed.op.items[:3])
    return names + ("" if len(sealed.op.items) <= 3 else f" and {len(sealed.op.items) - 3} more")


def keep_losses(coord: Coord, agent: Agent, losses: Iterable[Loss]) -> None:
    """Append to what the agent is to be told; where that cannot be written it is said at once, to whoever is here."""
    losses = list(losses)
    try:
        coord.files.append(f"{FOLDER}/{agent}", "".join(json.dumps(row._asdict()) + "\n" for row in losses).encode())
    except OSError:
        for loss in losses:
            coord.notice(loss.words)


def read_losses(data: bytes) -> dict[Nonce, Loss]:
    """Return what a file of losses says that was not told yet; what several processes noted counts once."""
    found: dict[Nonce, Loss] = {}
    told: set[str] = set()
    for line in data.splitlines():
        with contextlib.suppress(ValueError, TypeError):
            row: dict[str, Any] = json.loads(line)
            if "told" in row:
                told.add(row["told"])
            else:
                found.setdefault(row["op"], Loss(**row))
    return {op: loss for op, loss in found.items() if op not in told}
