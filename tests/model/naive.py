"""The rules of the ledger written down a second time, on plain JSON: sections 5 and 6 of `docs/format.md`."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .oracle import Space, Thing, folded, thing_of

Statement = dict[str, Any]


def read_record(record: bytes) -> tuple[Statement, str]:
    """Return statement and key of a record whose signature is good; raises what goes wrong."""
    line, _, armor = record.partition(b"\n")
    blob = base64.b64decode(b"".join(armor.splitlines()[1:-1]), validate=True)
    key = blob[14 : 14 + 51]  # behind SSHSIG, version and length
    digest = hashlib.sha512(line + b"\n").digest()
    signed = b"SSHSIG" + b"".join(len(part).to_bytes(4) + part for part in (b"git-coord", b"", b"sha512", digest))
    Ed25519PublicKey.from_public_bytes(key[19:]).verify(blob[-64:], signed)
    return json.loads(line), f"ssh-ed25519 {base64.b64encode(key).decode()}"


def seconds(stamp: str) -> int:
    """Return the moment of a time stamp."""
    return int(datetime.fromisoformat(stamp).timestamp())


@dataclass
class Held:
    """A live claim: what is left of it, by position."""

    token: int
    holder: str
    ttl: int
    live: dict[int, tuple[Thing, str]]
    size: int


@dataclass
class Ledger:
    """State after some operations; `place` moves it and returns "granted", "done" or "refused"."""

    space: Space
    policy: Statement = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    claims: dict[str, Held] = field(default_factory=dict)
    ops: int = 0
    token: int = 0
    at: int = 0

    def fault(self, op: Statement, key: str) -> str | None:
        """Return why an operation may not be placed now."""
        agent, kind = op["agent"], op["kind"]
        used = {each for keys in self.keys.values() for each in keys}
        if not self.ops:
            return None if kind == "policy" and op["seq"] == 1 and key in op["admins"] else "no root"
        if op["repo"] != self.policy["repo"] or op["head"] is None:
            return "not of this ledger"
        if kind == "join":
            return "name or key is used" if agent in self.keys or key in used or key != op["key"] else None
        if agent not in self.keys:
            return "not joined"
        if op["seq"] <= self.seqs[agent]:
            return "old seq"
        if kind in ("policy", "break"):
            return None if key in self.policy["admins"] else "no policy key"
        if key != self.keys[agent][-1]:
            return "wrong key"
        return "new key is used" if kind == "rotate" and op["key"] in used else None

    def place(self, op: Statement, key: str) -> str:
        """Place one operation, which must be placeable."""
        assert self.fault(op, key) is None, (self.fault(op, key), op)
        before, self.at, self.ops = self.at, seconds(op["at"]), self.ops + 1
        agent = op["agent"]
        if self.ops == 1:
            self.policy = op
            return "done"
        if agent in self.keys:
            self.seqs[agent] = op["seq"]
        if op["kind"] == "claim" and op["not_after"] and before > seconds(op["not_after"]) + self.policy["skew"]:
            return "refused"
        if op["kind"] in ("claim", "renew", "release", "rotate") and self.sessions[agent] != op["session"]:
            return "refused"
        return str(getattr(self, f"_{op['kind']}")(op))

    def _policy(self, op: Statement) -> str:
        if (op["fold"], op["skew"]) != (self.policy["fold"], self.policy["skew"]):
            return "refused"
        self.policy = op
        return "done"

    def _join(self, op: Statement) -> str:
        self.keys[op["agent"]] = [op["key"]]
        self.seqs[op["agent"]], self.sessions[op["agent"]] = op["seq"], op["session"]
        return "done"

    def _rejoin(self, op: Statement) -> str:
        self.sessions[op["agent"]] = op["session"]
        return "done"

    def _rotate(self, op: Statement) -> str:
        self.keys[op["agent"]].append(op["key"])
        return "done"

    def _claim(self, op: Statement) -> str:
        items = [(thing_of(item), item["intent"]) for item in op["items"]]
        if op["ttl"] > self.policy["max_lease"] or op["nonce"] in self.claims or self.against(op["agent"], items):
            return "refused"
        names = {(thing.kind, self._name(thing)) for thing, _ in items}
        for nonce in [nonce for nonce, held in self.claims.items() if held.holder == op["agent"]]:
            same = [
                at for at, (thing, _) in self.claims[nonce].live.items() if (thing.kind, self._name(thing)) in names
            ]
            self._cut(nonce, same)
        self.token += 1
        self.claims[op["nonce"]] = Held(self.token, op["agent"], op["ttl"], dict(enumerate(items)), len(items))
        return "granted"

    def _name(self, thing: Thing) -> str:
        return thing.name if thing.kind == "task" else folded(thing.name, self.space.fold)

    def _renew(self, op: Statement) -> str:
        mine = [self._own(op, renewal["claim"]) for renewal in op["claims"]]
        fits = [held and held.size == len(renewal["pins"]) for held, renewal in zip(mine, op["claims"], strict=True)]
        if op["ttl"] > self.policy["max_lease"] or not all(fits):
            return "refused"
        for held in mine:
            assert held
            held.ttl = op["ttl"]
        return "done"

    def _release(self, op: Statement) -> str:
        cuts = []
        for target in op["targets"]:
            held = self._own(op, target["claim"])
            if held is None or not set(target["items"] or ()) <= set(held.live):
                return "refused"
            cuts.append((target["claim"], list(held.live) if target["items"] is None else target["items"]))
        for nonce, positions in cuts:
            self._cut(nonce, positions)
        return "done"

    def _break(self, op: Statement) -> str:
        if not all(nonce in self.claims for nonce in op["claims"]):
            return "refused"
        for nonce in op["claims"]:
            del self.claims[nonce]
        return "done"

    def _cancel(self, op: Statement) -> str:
        if self._own(op, op["op"]):
            del self.claims[op["op"]]
        return "done"

    def _own(self, op: Statement, nonce: str) -> Held | None:
        held = self.claims.get(nonce)
        return held if held and held.holder == op["agent"] else None

    def _cut(self, nonce: str, positions: list[int]) -> None:
        held = self.claims[nonce]
        held.live = {at: item for at, item in held.live.items() if at not in positions}
        if not held.live:
            del self.claims[nonce]

    def against(self, agent: str, items: list[tuple[Thing, str]]) -> list[str]:
        """Return the holders in the way of these items."""
        return [
            held.holder
            for held in self.claims.values()
            if held.holder != agent
            for theirs, their_intent in held.live.values()
            for mine, intent in items
            if "edit" in (intent, their_intent) and self.space.overlap(mine, theirs)
        ]

    def check_one_writer(self) -> None:
        """Check promise 1, every pair of items of two agents by brute force."""
        rows = [(held.holder, *item) for held in self.claims.values() for item in held.live.values()]
        for (one, mine, intent), (two, theirs, their_intent) in combinations(rows, 2):
            if one != two and "edit" in (intent, their_intent):
                assert not self.space.overlap(mine, theirs), (one, mine, two, theirs)

    def holdings(self) -> set[tuple[str, Thing, str]]:
        """Return who holds what, up to tokens."""
        return {(held.holder, *item) for held in self.claims.values() for item in held.live.values()}
