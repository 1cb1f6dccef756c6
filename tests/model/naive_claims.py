"""What becomes of operations on claims: the table of section 5 of `docs/format.md`, the refusals in their order."""

from __future__ import annotations

from dataclasses import replace

from .naive_queue import LAST, Queue
from .naive_state import Held, RefusedError, Statement, Waiter, items_of, seconds


def refuse(reason: str, when: object) -> None:
    """Refuse for this reason when that is so."""
    if when:
        raise RefusedError(reason)


class Claims(Queue):
    """The rules for claims; each raises RefusedError or says what it did."""

    def claim(self, op: Statement, before: int) -> str:
        """Grant or queue; `before` is the date of the operation placed last."""
        until, at, items = op["wait_until"], seconds(op["at"]), items_of(op)
        late = op["not_after"] and before > seconds(op["not_after"]) + self.policy["skew"]
        refuse("too late", late and not self.is_listed(op))
        self.check_session(op)
        refuse("wait too long", until and seconds(until) > at + 3600)
        self._check_new(op)
        in_way, held_back = self.in_way(op["agent"], items, at), self.is_on_hold and not self.is_listed(op)
        if not in_way and not held_back:
            self.grant(op, at, unattended=False)
            self._check_deadlock(op["agent"], at)
            return "granted"
        refuse("conflict" if in_way else "restored", until is None or seconds(until) < at)
        self.queue += 1
        self.waiting[op["nonce"]] = Waiter(self.queue, op)
        self._check_deadlock(op["agent"], at)
        return "queued"

    def takeover(self, op: Statement) -> str:
        """End the claims of the evidence and grant."""
        at, agent = seconds(op["at"]), op["agent"]
        self.check_session(op)
        self._check_hold(op)
        refuse("takeover is off", self.policy["takeover"] == "never")
        self._check_new(op)
        for seen in op["claims"]:
            self._check_evidence(op, seen, at)
        ended = {seen["claim"] for seen in op["claims"]}
        waits = [w.queue for w in self.waiting.values() if w.agent == agent and ended & {*self.holders(agent, w.items)}]
        for nonce in ended:
            del self.claims[nonce]
        refuse("conflict", self.in_way(agent, items_of(op), at, min(waits, default=LAST)))
        self.grant(op, at, unattended=False)
        self._check_deadlock(agent, at)
        return "granted"

    def _check_evidence(self, op: Statement, seen: Statement, at: int) -> None:
        held, over = self.claims.get(seen["claim"]), seconds(seen["lease_end"])
        refuse("not held", held is None or held.holder == op["agent"])
        assert held
        refuse("lease not over", over < held.certain_end or not at > over + self.policy["skew"])
        witness = seen["witness"] in self.keys and seen["witness"] not in (op["agent"], held.holder)
        seen_by_others = witness and at > over + max(held.ttl, 600)
        refuse("not watched long enough", seen["unchanged"] < held.ttl and not seen_by_others)

    def _check_new(self, op: Statement) -> None:
        refuse("lease too long", op["ttl"] > self.policy["max_lease"])
        refuse("nonce in use", op["nonce"] in self.claims or op["nonce"] in self.waiting)
        refuse("blocked", self.is_blocked(items_of(op)))

    def _check_hold(self, op: Statement) -> None:
        refuse("restored", self.is_on_hold and not self.is_listed(op))

    def _check_deadlock(self, agent: str, at: int) -> None:
        refuse("deadlock", self.is_deadlocked(agent, at))

    def check_session(self, op: Statement) -> None:
        """Refuse another session than the agent's."""
        refuse("another session", self.sessions[op["agent"]] != op["session"])

    def renew(self, op: Statement) -> str:
        self.check_session(op)
        self._check_hold(op)
        refuse("lease too long", op["ttl"] > self.policy["max_lease"])
        for renewal in op["claims"]:
            held = self._own(op, renewal["claim"])
            refuse("no such item", held.size != len(renewal["pins"]))
        for renewal in op["claims"]:
            held = self._own(op, renewal["claim"])
            held.ttl, held.at, held.stamps, held.unattended = op["ttl"], seconds(op["at"]), renewal["stamps"], False
        return "done"

    def release(self, op: Statement) -> str:
        self.check_session(op)
        if op["to"] is not None:
            self._check_hold(op)
        until = op["landed"] and op["landed"]["until"]
        for target in op["targets"]:
            held = self._own(op, target["claim"])
            refuse("no such item", not set(target["items"] or ()) <= set(held.live))
            refuse("no such item", until is not None and target["items"] is not None)
        if op["to"] is not None:
            return self._hand_over(op, until)
        for target in op["targets"]:
            held = self._own(op, target["claim"])
            if until is not None:
                held.settling = True
            else:
                self.cut(target["claim"], list(held.live) if target["items"] is None else target["items"])
        return "done"

    def _hand_over(self, op: Statement, until: object) -> str:
        """Let the receiver have what the giver has at these positions."""
        receiver, at, target = op["to"], seconds(op["at"]), op["targets"][0]
        refuse("no such receiver", receiver not in self.keys or receiver == op["agent"])
        refuse("one claim at a time", len(op["targets"]) > 1 or until is not None)
        refuse("nonce in use", op["nonce"] in self.claims or op["nonce"] in self.waiting)
        old = self.claims[target["claim"]]
        live = {n: item for n, item in old.live.items() if target["items"] is None or n in target["items"]}
        self.cut(target["claim"], list(live))
        refuse("conflict", self.holders(receiver, list(live.values())))
        self.token += 1
        self.claims[op["nonce"]] = replace(
            old, token=self.token, holder=receiver, live=live, at=at, unattended=True, settling=False
        )
        self._check_deadlock(receiver, at)
        return "handed over"

    def break_(self, op: Statement) -> str:
        refuse("not held", not all(nonce in self.claims for nonce in op["claims"]))
        for nonce in op["claims"]:
            del self.claims[nonce]
        return "done"

    def cancel(self, op: Statement) -> str:
        for found in (self.waiting, self.claims):
            mine = found.get(op["op"])
            if mine is not None and (mine.agent if isinstance(mine, Waiter) else mine.holder) == op["agent"]:
                del found[op["op"]]  # type: ignore[attr-defined]
        return "done"

    def settle(self, op: Statement) -> str:
        self.check_session(op)
        found = [self.claims.get(nonce) for nonce in op["claims"]]
        refuse("not settling", not all(held and held.settling for held in found))
        for nonce in op["claims"]:
            del self.claims[nonce]
        return "done"

    def _own(self, op: Statement, nonce: str) -> Held:
        held = self.claims.get(nonce)
        if held is None or held.holder != op["agent"]:
            raise RefusedError("not held")
        return held
