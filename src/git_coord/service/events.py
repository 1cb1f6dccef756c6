"""What happened, as a watch reports it: one placed operation becomes the events of the claims that it moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_coord.domain.chain import Placed
from git_coord.domain.claim_statements import Claim, Takeover
from git_coord.domain.fields import path
from git_coord.domain.ids import Agent
from git_coord.domain.items import Item, show_name
from git_coord.domain.message import describe
from git_coord.domain.outcome import Change, Done, Outcome, Queued, Refused
from git_coord.domain.state import LiveClaim, Waiter
from git_coord.domain.statements import BlockTasks, Operation, Restore
from git_coord.domain.timestamps import format_stamp
from git_coord.lean import NamedTuple

KINDS = (
    "claim.granted",
    "claim.queued",
    "claim.refused",
    "claim.timed_out",
    "claim.cancelled",
    "claim.released",
    "claim.broken",
    "claim.taken",
    "claim.stale",
    "task.blocked",
    "task.unblocked",
    "presence.changed",
    "post.changed",
    "ledger.restored",
    "ledger.rejected",
)
_ENDS = {"break": "claim.broken", "expel": "claim.broken", "takeover": "claim.taken"}
"""What it is called when this operation ends a claim; any other releases it."""


class Event(NamedTuple):
    """One event: `id` is the same whenever it is reported again, `at` seconds since the epoch, `text` for people."""

    id: str
    kind: str
    at: int
    agent: Agent | None
    text: str
    data: Mapping[str, Any]


def ledger_events(placed: Placed, position: int) -> Iterator[Event]:
    """Yield what an operation at a position did to claims and tasks; the id is the position and which event of it."""
    op, outcome = placed.sealed.op, placed.outcome
    if outcome is None:
        return
    for number, (kind, agent, text, data) in enumerate(_told(op, outcome)):
        yield Event(f"{op.repo[:8]}-{position}-{number}", kind, op.at, agent, text, {"position": position, **data})


_Told = tuple[str, Agent, str, dict[str, Any]]


def _told(op: Operation, outcome: Outcome) -> Iterator[_Told]:
    line = describe(op, outcome)
    for waiter in outcome.queueing.dropped:  # before the operation acts
        yield _timed_out(waiter)
    if isinstance(outcome, Done):
        yield from _left(op, outcome, line)
    if isinstance(op, Claim | Takeover) and isinstance(outcome, Refused | Queued):
        in_the_way = {conflict.claim.holder for conflict in outcome.conflicts}
        told = _items(op.items) | {"holders": sorted(in_the_way), "purpose": op.purpose}
        yield "claim.queued" if isinstance(outcome, Queued) else "claim.refused", op.agent, line, told
    for before, after in sorted(_apart(outcome.changes), key=lambda change: change.after is not None):
        if before is not None:
            yield from _lost(op, before, after, line)
        elif after is not None:
            yield "claim.granted", after.holder, _granted(op, after, line), _claim(after) | {"by": op.agent}
    for served in outcome.queueing.served:
        yield (
            "claim.granted",
            served.claim.holder,
            _granted(op, served.claim, line),
            _claim(served.claim) | {"by": op.agent},
        )


def _left(op: Operation, done: Done, line: str) -> Iterator[_Told]:
    """Yield what is no claim: a wait that was given up, tasks that nobody may begin, and those that may be again."""
    for waiter in done.left:
        # Who waits to the end cancels then, and may do so within the last second.
        is_over = op.at >= (waiter.op.wait_until or 0)
        yield _timed_out(waiter) if is_over else ("claim.cancelled", waiter.agent, line, _waited(waiter))
    if isinstance(op, Restore):
        yield "ledger.restored", op.agent, line, {"found": op.found}
    if isinstance(op, BlockTasks):
        yield "task.blocked", op.agent, line, {"tasks": _tasks(op.tasks), "reason": op.reason}
    for block in done.lifted:
        told = {"tasks": _tasks(block.tasks), "reason": getattr(op, "reason", None), "blocked_by": block.agent}
        yield "task.unblocked", op.agent, line, told


def _timed_out(waiter: Waiter) -> _Told:
    text = f"{waiter.agent} waited in vain for {names(list(waiter.op.items))}"
    return "claim.timed_out", waiter.agent, text, _waited(waiter)


def _tasks(names: Sequence[str]) -> list[str]:
    return [f"task:{name}" for name in names]


def _waited(waiter: Waiter) -> dict[str, Any]:
    op = waiter.op
    until = format_stamp(op.wait_until or op.at)
    return {"purpose": op.purpose, "since": format_stamp(op.at), "until": until, **_items(op.items)}


def _apart(changes: tuple[Change, ...]) -> Iterator[Change]:
    """Yield changes with a hand-over as what it is to watchers: an end for one agent, a grant for another."""
    for before, after in changes:
        if before is not None and after is not None and before.holder != after.holder:
            yield from (Change(before, None), Change(None, after))
        else:
            yield Change(before, after)


def _lost(op: Operation, before: LiveClaim, after: LiveClaim | None, line: str) -> Iterator[_Told]:
    """Yield the end of a claim or of a part; what an agent replaces by its own claim is told by the grant."""
    gone = [item for i, item in before.live() if after is None or i in after.gone]
    if not gone or (isinstance(op, Claim | Takeover) and before.holder == op.agent):
        return
    told = _claim(before) | _items(gone) | {"by": op.agent, "reason": getattr(op, "reason", None)}
    yield _ENDS.get(op.KIND, "claim.released"), before.holder, line, told


def _granted(op: Operation, claim: LiveClaim, line: str) -> str:
    if isinstance(op, Claim | Takeover) and op.nonce == claim.op and op.agent == claim.holder:
        return line
    return f"#{claim.token} {claim.holder} is granted {names([item for _, item in claim.live()])}"


def _claim(claim: LiveClaim) -> dict[str, Any]:
    live = _items([item for _, item in claim.live()])
    return {"token": claim.token, "purpose": claim.purpose, **live}


def _items(items: Sequence[Item]) -> dict[str, Any]:
    return {"items": [{"path": _shown(item), "intent": item.intent.value} for item in items]}


def _shown(item: Item) -> Any:
    return path.write(item.name) if item.kind.is_file else show_name(item.kind, item.name)


def names(items: list[Item]) -> str:
    """Return the first of some items, and how many more there are."""
    more = f" +{len(items) - 1}" if len(items) > 1 else ""
    return f"{show_name(items[0].kind, items[0].name)} ({items[0].intent.value}){more}"


def claim_stale(repo: str, claim: LiveClaim, lease_until: int) -> Event:
    """Return the event of a lease that is over."""
    text = f"#{claim.token} {claim.holder} is stale: {names([item for _, item in claim.live()])}"
    return Event(
        f"{repo[:8]}-stale-{claim.token}-{lease_until}", "claim.stale", lease_until, claim.holder, text, _claim(claim)
    )
