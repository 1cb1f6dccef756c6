"""The rules of the ledger written down a second time, on plain JSON: sections 5 and 6 of `docs/format.md`."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from itertools import combinations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .naive_claims import Claims, refuse
from .naive_state import RefusedError, Statement, Waiter, seconds
from .oracle import Thing


def read_record(record: bytes) -> tuple[Statement, str]:
    """Return statement and key of a record whose signature is good; raises what goes wrong."""
    line, _, armor = record.partition(b"\n")
    blob = base64.b64decode(b"".join(armor.splitlines()[1:-1]), validate=True)
    key = blob[14 : 14 + 51]  # behind SSHSIG, version and length
    digest = hashlib.sha512(line + b"\n").digest()
    signed = b"SSHSIG" + b"".join(len(part).to_bytes(4) + part for part in (b"git-coord", b"", b"sha512", digest))
    Ed25519PublicKey.from_public_bytes(key[19:]).verify(blob[-64:], signed)
    return json.loads(line), f"ssh-ed25519 {base64.b64encode(key).decode()}"


class Ledger(Claims):
    """State after some operations; `place` moves it and says what became of the operation."""

    def fault(self, op: Statement, key: str) -> str | None:
        """Return why an operation may not be placed now."""
        agent, kind = op["agent"], op["kind"]
        used = {each for some in (self.keys, self.expelled) for keys in some.values() for each in keys}
        if not self.ops:
            return None if kind == "policy" and op["seq"] == 1 and key in op["admins"] else "no root"
        if op["repo"] != self.policy["repo"] or op["head"] is None:
            return "not of this ledger"
        if kind == "join":
            is_back = agent not in self.expelled or {"agent": agent, "key": key} in self.policy["listed"]
            return (
                "name or key is used" if agent in self.keys or key in used or key != op["key"] or not is_back else None
            )
        if agent not in self.keys:
            return "not joined"
        if op["seq"] <= self.seqs[agent]:
            return "old seq"
        if kind in ("policy", "break", "checkpoint", "expel", "move"):
            return None if key in self.policy["admins"] else "no policy key"
        if key != self.keys[agent][-1]:
            return "wrong key"
        return "new key is used" if kind == "rotate" and op["key"] in used else None

    def place(self, op: Statement, key: str, looking: Callable[[Waiter], object] = id) -> str:
        """Place one operation, which must be placeable; `looking` is called before each waiter that is served."""
        assert self.fault(op, key) is None, (self.fault(op, key), op)
        before, self.at, self.ops = self.at, seconds(op["at"]), self.ops + 1
        self.now = max(before, self.at)
        if self.ops == 1:
            self.policy = op
            return "done"
        if op["agent"] in self.keys and op["kind"] not in ("restore", "replay"):
            self.seqs[op["agent"]] = op["seq"]
        self.waiting = {n: w for n, w in self.waiting.items() if seconds(w.op["wait_until"]) >= self.at}
        outcome = self._act(op, before)
        for waiter in self.serving(self.at, is_listed=self.is_listed(op)):
            looking(waiter)
        return outcome

    def _act(self, op: Statement, before: int) -> str:
        """Do what the operation asks for, or nothing of it."""
        trial = self.copy()
        trial.why = ""
        try:
            outcome = trial.claim(op, before) if op["kind"] == "claim" else trial.rule(op["kind"])(op)
        except RefusedError as reason:
            self.why = str(reason)
            return "refused"
        vars(self).update(vars(trial))
        return outcome

    def rule(self, kind: str) -> Callable[[Statement], str]:
        """Return what an operation of this kind does."""
        found: Callable[[Statement], str] = getattr(self, {"break": "break_", "policy": "set_policy"}.get(kind, kind))
        return found

    def set_policy(self, op: Statement) -> str:
        refuse("fixed at birth", (op["fold"], op["skew"]) != (self.policy["fold"], self.policy["skew"]))
        self.policy = op
        return "done"

    def move(self, _op: Statement) -> str:
        return "done"

    def expel(self, op: Statement) -> str:
        refuse("no such member", not all(agent in self.keys for agent in op["agents"]))
        for agent in op["agents"]:
            self.expelled[agent] = self.keys.pop(agent)
            del self.seqs[agent], self.sessions[agent]
        self.claims = {nonce: held for nonce, held in self.claims.items() if held.holder not in op["agents"]}
        self.waiting = {nonce: waiter for nonce, waiter in self.waiting.items() if waiter.agent not in op["agents"]}
        return "done"

    def join(self, op: Statement) -> str:
        self.keys[op["agent"]] = [*self.expelled.pop(op["agent"], []), op["key"]]
        self.seqs[op["agent"]], self.sessions[op["agent"]] = op["seq"], op["session"]
        return "done"

    def rejoin(self, op: Statement) -> str:
        self.sessions[op["agent"]] = op["session"]
        return "done"

    def rotate(self, op: Statement) -> str:
        self.check_session(op)
        self.keys[op["agent"]].append(op["key"])
        return "done"

    def restore(self, op: Statement) -> str:
        self.restored, self.listed = self.now, frozenset()
        return "done"

    def replay(self, op: Statement) -> str:
        listed = {(each["agent"], each["nonce"]) for lost in op["lost"] for each in lost["ops"]}
        waiting = {(waiter.agent, nonce) for nonce, waiter in self.waiting.items()}
        self.listed = (self.listed & waiting) | listed
        self.token = max(self.token, min(op["token"], self.token + 1_000_000))
        self.restored = self.restored or 0
        return "done"

    def checkpoint(self, op: Statement) -> str:
        assert op["number"] == self.epoch + 1
        self.epoch += 1
        return "done"

    def block(self, op: Statement) -> str:
        self.check_session(op)
        refuse("nonce in use", op["nonce"] in self.blocks)
        self.blocks[op["nonce"]] = op["tasks"]
        return "done"

    def unblock(self, op: Statement) -> str:
        self.check_session(op)
        refuse("not blocked", not all(nonce in self.blocks for nonce in op["blocks"]))
        for nonce in op["blocks"]:
            del self.blocks[nonce]
        return "done"

    def check_one_writer(self) -> None:
        """Check promise 1, every pair of items of two agents by brute force."""
        rows = [(held.holder, item) for held in self.claims.values() for item in held.live.values()]
        for (one, mine), (two, theirs) in combinations(rows, 2):
            assert one == two or not self.meets(mine, theirs), (one, mine, two, theirs)

    def holdings(self) -> set[tuple[str, Thing, str]]:
        """Return who holds what, up to tokens."""
        return {(held.holder, *item) for held in self.claims.values() for item in held.live.values()}
