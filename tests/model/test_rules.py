"""Whatever operations come, `apply` and the second implementation of the rules say the same of each."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain import ledger
from git_coord.domain.ids import Nonce, Session
from git_coord.domain.items import Item
from git_coord.domain.ledger import Queued, Refused
from git_coord.domain.state import State
from git_coord.domain.statements import Landed, Operation, Renewal, Stamp, to_bytes
from tests.domain.world import World, oid_of, sealed, watched

from .audit import expected, facts
from .frame import COUNTS
from .invariants import check_step
from .naive import Ledger
from .oracle import Thing
from .world import item, space

AGENTS = ("alpha", "beta", "gamma", "delta")
THINGS = (
    Thing("path", "a"),
    Thing("path", "a/b"),
    Thing("path", "b"),
    Thing("path", "A/x.py", pinned=True),
    Thing("glob", "**/*.py"),
    Thing("task", "E-1"),
    Thing("task", "E-1/2"),
    Thing("branch", "b"),
    Thing("branch", "b/a"),
)
UNKNOWN = Nonce("f" * 32)
KINDS = ("claim",) * 4 + ("wait",) * 20 + ("release",) * 10 + ("hand",) * 5 + ("land",) * 2 + ("settle",) * 2
RARE = (*("takeover",) * 6, "block", "unblock", "unblock", "cancel", "cancel", "break", "renew", "policy", "rejoin")
OF_A_HOLDER = ("release", "hand", "land", "renew")


class Table:
    """Four agents who want few things, on a clock that goes on by minutes and at times jumps, or goes back."""

    def __init__(self, seed: int, fold: str) -> None:
        self.rng = random.Random(seed)
        self.world = World.born(fold=fold)
        self.state, self.now = self.world.head.state, self.world.head.state.counters.at

    def operation(self) -> Operation:
        """Return an operation that may be placed, often one that is refused."""
        pick = self.rng.choice
        self.now += pick([*(0, 1, 30, 60, 60, 60, 121, 300) * 3, 700, 8000])
        agent, kind = pick(AGENTS), pick([*KINDS, *RARE])
        if kind in OF_A_HOLDER and self.state.claims and self.rng.random() < 0.9:
            agent = pick([str(claim.holder) for claim in self.state.claims.values()])
        op = getattr(self, f"_{kind}", self._other)(agent, kind)
        dated = max(op.at, self.now) if kind == "takeover" else self.now - pick([0, 0, 0, 45, 500])
        self.now = max(self.now, dated)
        again: dict[str, Any] = {"nonce": self._claim_of(None)} if self.rng.random() < 0.02 else {}
        other: dict[str, Any] = {"session": Session("elsewhere")} if self.rng.random() < 0.02 else {}
        wait = {"wait_until": dated + pick([*(-1, 0, 60, 600, 3601), *(1200, 3600) * 5])} if kind == "wait" else {}
        return replace(op, at=dated, **again, **other, **wait)

    def _items(self) -> list[Item]:
        picked = self.rng.sample(THINGS, self.rng.choice([1, 1, 2, 3]))
        return [item(thing, self.rng.choice(["edit", "edit", "read"])) for thing in picked]

    def _claim_of(self, agent: str | None) -> Nonce:
        """Return a claim, of this agent if it has one, now and then anybody's or none."""
        mine = [claim.op for claim in self.state.claims.values() if agent in (None, claim.holder)]
        anybody = [*self.state.claims, UNKNOWN]
        return self.rng.choice(mine if mine and self.rng.random() < 0.9 else anybody)

    def _part(self, nonce: Nonce) -> tuple[int, ...] | None:
        size = len(self.state.claims[nonce].items) if nonce in self.state.claims else 1
        return self.rng.choice([None, None, tuple(self.rng.sample(range(size), self.rng.randint(1, size)))])

    def _stamps(self) -> tuple[Stamp, ...] | None:
        return self.rng.choice([None, (Stamp("n", str(self.world.count)),)])

    def _claim(self, agent: str, _kind: str) -> Operation:
        late = self.rng.choice([None, None, None, self.now - 61, self.now])
        return self.world.claim(agent, *self._items(), stamps=self._stamps(), not_after=late)

    def _wait(self, agent: str, _kind: str) -> Operation:
        return self.world.claim(agent, *self._items(), stamps=self._stamps(), ttl=self.rng.choice([60, 900, 7200]))

    def _release(self, agent: str, _kind: str) -> Operation:
        nonce = self._claim_of(agent)
        return self.world.release(agent, (nonce, self._part(nonce)))

    def _hand(self, agent: str, _kind: str) -> Operation:
        nonce, to = self._claim_of(agent), self.rng.choice([*AGENTS, *AGENTS, "nobody"])
        return self.world.release(agent, (nonce, self._part(nonce)), to=to)

    def _land(self, agent: str, _kind: str) -> Operation:
        nonce, pick = self._claim_of(agent), self.rng.choice
        landed = Landed("topic", oid_of("c"), (), pick(["main", "main", None]))
        more = [
            (nonce, pick([None, None, None, (0,)])),
            *([(other, None)] if (other := self._claim_of(agent)) != nonce else []),
        ]
        return self.world.release(agent, *more[: pick([1, 2])], landed=landed, to=pick([None, None, None, "beta"]))

    def _settle(self, agent: str, _kind: str) -> Operation:
        settling = [claim.op for claim in self.state.claims.values() if claim.settling]
        return self.world.settle(agent, self.rng.choice([*settling, *settling, self._claim_of(None)]))

    def _takeover(self, agent: str, _kind: str) -> Operation:
        claims, pick = list(self.state.claims.values()), self.rng.choice
        if not claims:
            return self._claim(agent, "claim")
        seen = []
        for claim in self.rng.sample(claims, min(len(claims), pick([1, 1, 2]))):
            end, ttl = claim.certain_end + pick([-1, 0, 0, 0, 500]), claim.ttl + pick([-1, -1, 0, 0])
            seen.append(watched(claim, lease_end=end, unchanged=ttl, witness=pick([None, *AGENTS, "nobody"])))
        late = max(each.lease_end for each in seen) + pick([60, 61, 61, 600, 601, 8000])
        return self.world.takeover(agent, tuple(seen), *self._items(), stamps=self._stamps(), at=late)

    def _other(self, agent: str, kind: str) -> Operation:
        nonce, world, pick = self._claim_of(agent), self.world, self.rng.choice
        size = len(self.state.claims[nonce].items) if nonce in self.state.claims else 1
        pins = (None,) * (size + (self.rng.random() < 0.1))
        match kind:
            case "block":
                return world.block(agent, *pick([("E-1",), ("E-1/2",), ("E-2", "E-1")]))
            case "unblock":
                return world.unblock(agent, *pick([[UNKNOWN], *([each] for each in self.state.blocks)]))
            case "cancel":
                return world.cancel(agent, pick([nonce, *self.state.waiting, *self.state.waiting]))
            case "break":
                return world.break_(agent, nonce)
            case "renew":
                return world.renew(agent, Renewal(nonce, pins, self._stamps() or ()), ttl=pick([60, 7200, 86400]))
            case "policy":
                return world.policy(
                    agent,
                    takeover=pick(["gated"] * 5 + ["never"]),
                    max_lease=pick([7200, 86400]),
                    fold=pick([self.state.policy.fold] * 3 + ["none"]),
                )
            case _:
                return world.rejoin(agent, f"{agent}-1")


def tell(outcome: ledger.Outcome) -> str:
    """Return the word of the second implementation for this outcome."""
    match outcome:
        case Refused(reason=reason):
            return f"refused: {reason.value}"
        case Queued():
            return "queued"
        case _:
            return type(outcome).__name__.lower()


def told(second: Ledger, outcome: str) -> str:
    return f"refused: {second.why}" if outcome == "refused" else {"handed over": "done"}.get(outcome, outcome)


@pytest.mark.parametrize("fold", ["none", "case+nfc"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_implementations_of_the_rules_agree_on_every_operation(fold: str, seed: int) -> None:
    table, second = Table(seed, fold), Ledger(space(fold))
    second.place(*signed(table.state.policy))
    for agent in AGENTS:
        table.state = agreed(table.state, second, table.world.join(agent)).state
    for _ in range(50):
        table.state = agreed(table.state, second, table.operation()).state


def agreed(state: State, second: Ledger, op: Operation) -> ledger.Outcome:
    """Place an operation in both; return what became of it when they agree, on every fact."""
    outcome = ledger.apply(state, op)
    there = check_step(second, *signed(op))
    assert tell(outcome) == told(second, there), op
    assert facts(outcome.state) == expected(second), op
    COUNTS[f"rule {op.KIND}: {tell(outcome)}"] += 1
    COUNTS["rule served"] += len(outcome.queueing.served)
    COUNTS["rule dropped"] += len(outcome.queueing.dropped)
    return outcome


def signed(op: Operation) -> tuple[dict[str, Any], str]:
    """Return the statement as JSON, and the key that may sign it."""
    return json.loads(to_bytes(op)), str(sealed(op).key)
