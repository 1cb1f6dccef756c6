"""The one ASCII line that a ledger commit's message has for each operation; names JSON-escaped, no free text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .items import Item, ItemKind
from .ledger import Change, Done, Granted, Outcome, Refused
from .statements import Claim, Operation, Policy

SHOWN_NAME = 200
"""Code points of a name in a message, at most; the whole is in the operation."""
_PREFIX = {ItemKind.PATH: "", ItemKind.GLOB: "glob:", ItemKind.TASK: "task:"}
_VERBS = {
    "policy": "sets the policy",
    "join": "joins",
    "rejoin": "rejoins",
    "renew": "renews",
    "release": "releases",
    "break": "breaks",
    "cancel": "cancels",
    "rotate": "rotates its key",
}


def root_line(root: Policy) -> str:
    """Return the line of the commit without a parent."""
    return f"{root.agent} begins ledger {root.repo}"


def describe(op: Operation, outcome: Outcome) -> str:
    """Return the line for a placed operation and what became of it."""
    match outcome:
        case Granted(claim=claim):
            return f"#{claim.token} {op.agent} claims {_items(claim.items)}"
        case Refused(reason=reason):
            asked = f"claim {_items(op.items)}" if isinstance(op, Claim) else op.KIND
            holders = sorted({(c.claim.token, c.claim.holder) for c in outcome.conflicts})
            why = ", ".join(f"{holder} #{token}" for token, holder in holders[:10]) or reason.value
            return f"{op.agent} is refused {asked}: {why}"
        case Done(changes=changes):
            return " ".join([op.agent, _VERBS[op.KIND], *(_part(change) for change in changes[:10])])


def _items(items: Sequence[Item]) -> str:
    more = f" +{len(items) - 1}" if len(items) > 1 else ""
    return f"{_name(items[0])} ({items[0].intent.value}){more}"


def _name(item: Item) -> str:
    text = item.name if len(item.name) <= SHOWN_NAME else item.name[:SHOWN_NAME] + "..."
    return _PREFIX[item.kind] + json.dumps(text)[1:-1]


def _part(change: Change) -> str:
    before, after = change
    assert before is not None, "only a claim makes something from nothing"
    if after is None or after.gone == before.gone:
        return f"#{before.token}"
    first = min(after.gone - before.gone)
    more = len(after.gone) - len(before.gone) - 1
    return f"#{before.token} {_name(before.items[first])}" + (f" +{more}" if more else "")
