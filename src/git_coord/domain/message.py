"""The one ASCII line that a ledger commit's message has for each operation; names JSON-escaped, no free text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .items import Item, ItemKind
from .outcome import Change, Conflict, Done, Granted, Outcome, Queued, Refusal, Refused, Served
from .state import LiveClaim
from .statements import BlockTasks, Checkpoint, Claim, Expel, Operation, Policy, Release, Replay, Takeover

SHOWN_NAME = 200
"""Code points of a name in a message, at most; the whole is in the operation."""
SHOWN_CLAIMS = 10
"""Claims that one message names, at most."""
_PREFIX = {ItemKind.PATH: "", ItemKind.GLOB: "glob:", ItemKind.TASK: "task:", ItemKind.BRANCH: "branch:"}
_VERBS = {
    "policy": "sets the policy",
    "move": "moves the ledger",
    "join": "joins",
    "rejoin": "rejoins",
    "renew": "renews",
    "release": "releases",
    "break": "breaks",
    "cancel": "cancels",
    "rotate": "rotates its key",
    "settle": "settles",
    "restore": "restores the ledger",
}


def root_line(root: Policy) -> str:
    """Return the line of the commit without a parent."""
    return f"{root.agent} begins ledger {root.repo}"


def describe(op: Operation, outcome: Outcome) -> str:
    """Return the line for a placed operation, what became of it, and whom it let out of the queue."""
    return _own(op, outcome) + "".join(_served(served) for served in outcome.queueing.served[:SHOWN_CLAIMS])


def _own(op: Operation, outcome: Outcome) -> str:
    match outcome:
        case Granted(claim=claim) if isinstance(op, Takeover):
            taken = {seen.claim for seen in op.claims}
            holders = [c.before for c in outcome.changes if c.before and c.before.op in taken]
            return f"#{claim.token} {op.agent} takes over {_items(claim.items)}: {_holders(holders)}"
        case Granted(claim=claim):
            return f"#{claim.token} {op.agent} claims {_items(claim.items)}"
        case Queued(conflicts=conflicts):
            assert isinstance(op, Claim)
            return f"{op.agent} waits for {_items(op.items)}: {_in_the_way(conflicts) or Refusal.RESTORED.value}"
        case Refused(reason=reason):
            asked = f"{op.KIND} {_items(op.items)}" if isinstance(op, Claim | Takeover) else op.KIND
            why = _in_the_way(outcome.conflicts) if reason is Refusal.CONFLICT else reason.value
            return f"{op.agent} is refused {asked}: {why}"
        case Done():
            return f"{op.agent} {_done(op, outcome)}"


def _done(op: Operation, outcome: Done) -> str:
    if isinstance(op, Release) and op.to is not None:
        old, new = outcome.changes
        assert new.after is not None
        return f"hands {_part(old)} to {op.to} as #{new.after.token}"
    if isinstance(op, BlockTasks):
        return f"blocks {_tasks(op.tasks)}"
    if isinstance(op, Checkpoint | Replay | Expel):
        return _of_all(op)
    if outcome.lifted:
        return f"unblocks {_tasks([task for block in outcome.lifted for task in block.tasks])}"
    if outcome.left:
        return f"cancels the wait for {_items(outcome.left[0].op.items)}"
    verb = "lands" if isinstance(op, Release) and op.landed and op.landed.until else _VERBS[op.KIND]
    return " ".join([verb, *(_part(change) for change in outcome.changes[:SHOWN_CLAIMS])])


def _of_all(op: Checkpoint | Replay | Expel) -> str:
    if isinstance(op, Expel):
        more = f" +{len(op.agents) - SHOWN_CLAIMS}" if len(op.agents) > SHOWN_CLAIMS else ""
        return f"expels {', '.join(op.agents[:SHOWN_CLAIMS])}{more}"
    if isinstance(op, Checkpoint):
        return f"begins epoch {op.number}"
    return f"places again {sum(len(lost.ops) for lost in op.lost)} of {len(op.lost)} lost commits"


def _served(served: Served) -> str:
    return f"; #{served.claim.token} {served.claim.holder} is granted {_items(served.claim.items)}"


def _in_the_way(conflicts: Sequence[Conflict]) -> str:
    return _holders([conflict.claim for conflict in conflicts])


def _holders(claims: Sequence[LiveClaim]) -> str:
    """Name each claim once by its token, those who wait last."""
    found = sorted({(not claim.token, claim.token, claim.holder) for claim in claims})
    shown = [f"{holder} #{token}" if token else f"{holder} waiting" for _, token, holder in found]
    return ", ".join(shown[:SHOWN_CLAIMS])


def _tasks(names: Sequence[str]) -> str:
    return f"task:{names[0]}" + (f" +{len(names) - 1}" if len(names) > 1 else "")


def _items(items: Sequence[Item]) -> str:
    more = f" +{len(items) - 1}" if len(items) > 1 else ""
    return f"{_name(items[0])} ({items[0].intent.value}){more}"


def _name(item: Item) -> str:
    text = item.name if len(item.name) <= SHOWN_NAME else item.name[:SHOWN_NAME] + "..."
    return _PREFIX[item.kind] + json.dumps(text)[1:-1]


def _part(change: Change) -> str:
    before, after = change
    assert before is not None, "only a grant makes something from nothing"
    if after is None or after.gone == before.gone:
        return f"#{before.token}"
    first = min(after.gone - before.gone)
    more = len(after.gone) - len(before.gone) - 1
    return f"#{before.token} {_name(before.items[first])}" + (f" +{more}" if more else "")
