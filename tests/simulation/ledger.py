"""Every position of the ledger, replayed by the second implementation of the rules and looked at one by one."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.helpers import Repo
from tests.model.invariants import check_step
from tests.model.naive import Ledger, read_record
from tests.model.naive_state import Statement, Waiter, seconds
from tests.model.oracle import Space
from tests.simulation.plan import NAMES
from tests.simulation.tree import FILES

REF = "refs/coord/claims"


class Taken(NamedTuple):
    """A claim that was taken over: whose, by whom, when, for which lease, and what its taker signed to have seen."""

    token: int
    holder: str
    by: str
    at: int
    ttl: int
    seen: Statement


@dataclass
class Walk:
    """What the walk saw; the checks of every single position have passed when there is one."""

    positions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """How often each kind of operation came to what, as `claim granted`."""
    taken: list[Taken] = field(default_factory=list)
    queued: int = 0
    served: int = 0
    left: Counter[str] = field(default_factory=Counter)
    """Waiters that left the queue without a grant, by why."""
    held_at_the_end: dict[int, str] = field(default_factory=dict)
    waiting_at_the_end: list[str] = field(default_factory=list)


def walk(hub: Repo) -> Walk:
    """Replay the ledger of a hub, whose records must all verify.

    At each position it is checked that no two agents hold what overlaps, that nobody is served before a waiter who came
    earlier and could be, that no newcomer passes a waiter, and that a takeover had its gates, by what its taker signed.
    """
    names = {part for name in FILES for part in name.split("/")}
    ledger, seen = Ledger(Space([*names, "shift", *NAMES], 2, "none")), Walk()
    for commit in hub.git("rev-list", "--reverse", REF).split():
        for op, key in _placed(hub, commit):
            _step(ledger, seen, op, key)
    seen.held_at_the_end = {held.token: held.holder for held in ledger.claims.values()}
    seen.waiting_at_the_end = [waiter.agent for waiter in ledger.waiting.values()]
    return seen


def _placed(hub: Repo, commit: str) -> list[tuple[Statement, str]]:
    """Return the operations of a ledger commit in their order, with the keys whose signatures were verified."""
    names = hub.git("ls-tree", "--name-only", f"{commit}:op").split()
    found = []
    for name in sorted(names):
        record = subprocess.run(
            ["git", "cat-file", "blob", f"{commit}:op/{name}"],
            cwd=hub.path,
            env=hub.env,
            capture_output=True,
            check=True,
        )
        found.append(read_record(record.stdout))
    return found


def _step(ledger: Ledger, seen: Walk, op: Statement, key: str) -> None:
    before = ledger.copy()
    outcome = check_step(ledger, op, key)
    seen.positions += 1
    seen.outcomes[f"{op['kind']} {outcome}"] += 1
    if op["kind"] == "takeover" and outcome == "granted":
        for each in op["claims"]:
            held = before.claims[each["claim"]]
            seen.taken.append(Taken(held.token, held.holder, op["agent"], seconds(op["at"]), held.ttl, each))
    seen.queued += len(ledger.waiting.keys() - before.waiting.keys())
    for nonce in before.waiting.keys() - ledger.waiting.keys():
        _note_left(before.waiting[nonce], ledger, seen, op)


def _note_left(waiter: Waiter, ledger: Ledger, seen: Walk, op: Statement) -> None:
    """Count why somebody waits no longer: granted, gave up by its own word, or its time was over."""
    nonce = waiter.op["nonce"]
    if op["kind"] == "cancel" and op["op"] == nonce:
        seen.left["cancelled by itself"] += 1
    elif nonce in ledger.claims:
        seen.served += 1
    else:
        assert seconds(waiter.op["wait_until"]) < seconds(op["at"]), (waiter, op)
        seen.left["its time was over"] += 1
