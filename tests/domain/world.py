"""A ledger in memory for tests: operations with everything filled in, placed without signatures or git."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from git_coord.domain import chain
from git_coord.domain.chain import Extension, Head, Sealed
from git_coord.domain.ids import Agent, KeyText, Nonce, Oid, Session
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.ledger import Done, Granted, Outcome, Queued, Refused
from git_coord.domain.merkle import GitObject, Tree
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import (
    Base,
    BlockTasks,
    Break,
    Cancel,
    Claim,
    Evidence,
    Expel,
    Join,
    LostCommit,
    Operation,
    Policy,
    Rejoin,
    Release,
    Renew,
    Replay,
    ReplayedOp,
    Restore,
    Rotate,
    Settle,
    Statement,
    Takeover,
    Target,
    Unblock,
    to_bytes,
)

O = TypeVar("O", bound=Statement)  # noqa: E741

REPO = "00000000-0000-4000-8000-000000000001"
START = 1_767_225_600
"""2026-01-01T00:00:00Z; operation number n is dated n minutes later unless told otherwise."""
NOBODY = Base(None, None, None)
ADMIN = "admin"


def key_of(name: str) -> KeyText:
    """Return a key that belongs to a name; what matters is that keys of two names differ."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + name.encode().ljust(32, b"\0")
    return KeyText(f"ssh-ed25519 {base64.b64encode(blob).decode()}")


def oid_of(digit: str) -> Oid:
    """Return an object id made of one hex digit."""
    return Oid(digit * 40)


def path(name: str, intent: str = "edit", blob: Oid | None = None) -> Item:
    """Return a path item."""
    return Item(ItemKind.PATH, name, Intent(intent), blob)


def glob(name: str, intent: str = "edit") -> Item:
    """Return a glob item."""
    return Item(ItemKind.GLOB, name, Intent(intent))


def task(name: str, intent: str = "edit") -> Item:
    """Return a task item."""
    return Item(ItemKind.TASK, name, Intent(intent))


def branch(name: str, intent: str = "edit") -> Item:
    """Return a branch item."""
    return Item(ItemKind.BRANCH, name, Intent(intent))


def watched(claim: LiveClaim, **changes: Any) -> Evidence:
    """Return evidence of somebody who watched the claim from its grant to the end of its lease."""
    seen = {"claim": claim.op, "beat": None, "lease_end": claim.certain_end, "tip": None, "unchanged": claim.ttl}
    return Evidence(**(seen | {"witness": None} | changes))


def sealed(op: Operation, key: KeyText | None = None) -> Sealed:
    """Return the operation as if a signature by this key, or by its agent's first, had been verified."""
    by = key or key_of(ADMIN if isinstance(op, Policy | Break | Expel) else op.agent)
    return Sealed(to_bytes(op) + b"\nsignature\n", op, by)


def policy_fields(**changes: Any) -> dict[str, Any]:
    """Return the fields of an open policy."""
    fields = {"admins": (key_of(ADMIN),), "fold": "none", "join": "open", "listed": (), "max_lease": 86400}
    return fields | {"skew": 60, "takeover": "gated", "void": ()} | changes


@dataclass
class World:
    """A ledger's head; `place` moves it."""

    head: Head
    objects: dict[Oid, GitObject]
    algorithm: str
    count: int = 1

    @classmethod
    def born(cls, algorithm: str = "sha1", **policy: Any) -> World:
        """Return a ledger that has its root only."""
        root = statement(1, Policy, "root", head=None, **policy_fields(**policy))
        made = chain.root(sealed(root), algorithm)
        return cls(made.head, {found.oid: found for found in made.objects}, algorithm)

    @classmethod
    def of(cls, *agents: str, **policy: Any) -> World:
        """Return a ledger that these agents have joined."""
        world = cls.born(**policy)
        for agent in agents:
            world.do(world.join(agent))
        return world

    def holders(self) -> dict[str, str]:
        """Return who holds what, by name, in the order of tokens."""
        return {item.name: claim.holder for claim in self.head.state.claims.values() for _, item in claim.live()}

    def waiters(self) -> list[str]:
        """Return who waits, in the order of the queue."""
        return [waiter.agent for waiter in self.head.state.waiting.values()]

    def op(self, cls: type[O], agent: str, **fields: Any) -> O:
        """Return the next operation, with a `seq`, nonce and date of its own."""
        self.count += 1
        return statement(self.count, cls, agent, **fields)

    def place(self, *operations: Operation | Sealed) -> Extension:
        """Place operations, all of which must be placeable, in one commit."""
        candidates = [op if isinstance(op, Sealed) else sealed(op) for op in operations]
        made = chain.extend(self.head, candidates, self.algorithm)
        assert made is not None
        assert len(made.placed) == len(candidates)
        self.head = made.head
        self.objects |= {found.oid: found for found in made.objects}
        return made

    def files(self) -> dict[str, bytes]:
        """Return what the head's tree holds outside `op`, from the objects that were said to be new."""
        return dict(self._files(self.head.tree, ""))

    def _files(self, tree: Tree, prefix: str) -> Iterator[tuple[str, bytes]]:
        for name, entry in tree.entries.items():
            if isinstance(entry, Tree):
                yield from () if name == "op" else self._files(entry, f"{prefix}{name}/")
            else:
                yield prefix + name, self.objects[entry].data

    def do(self, operation: Operation | Sealed) -> Outcome:
        """Place one operation and return what became of it."""
        outcome = self.place(operation).placed[0].outcome
        assert outcome is not None
        return outcome

    def granted(self, operation: Operation | Sealed) -> LiveClaim:
        """Place a claim that must be granted."""
        outcome = self.do(operation)
        assert isinstance(outcome, Granted)
        return outcome.claim

    def done(self, operation: Operation | Sealed) -> Done:
        """Place an operation that must take effect."""
        return cast(Done, self._expect(operation, Done))

    def refused(self, operation: Operation | Sealed) -> Refused:
        """Place an operation that must be refused."""
        return cast(Refused, self._expect(operation, Refused))

    def _expect(self, operation: Operation | Sealed, cls: type[Outcome]) -> Outcome:
        outcome = self.do(operation)
        assert type(outcome) is cls
        return outcome

    def join(self, agent: str, **fields: Any) -> Join:
        """Return a join with the agent's first key."""
        return self.op(Join, agent, **({"key": key_of(agent)} | fields))

    def claim(self, agent: str, *items: Item, **fields: Any) -> Claim:
        """Return a claim of two hours without a deadline."""
        given = {"base": NOBODY, "lease": "standard", "not_after": None, "purpose": "", "stamps": None, "ttl": 7200}
        return self.op(Claim, agent, items=items, **(given | fields))

    def queued(self, operation: Operation | Sealed) -> Queued:
        """Place a claim that must wait."""
        return cast(Queued, self._expect(operation, Queued))

    def wait(self, agent: str, *items: Item, seconds: int = 3600, **fields: Any) -> Claim:
        """Return a claim that waits for so long."""
        op = self.claim(agent, *items, **fields)
        return replace(op, wait_until=op.at + seconds)

    def restore(self, agent: str, **fields: Any) -> Restore:
        """Return what is placed on the present head when the remote had lost it."""
        return self.op(Restore, agent, head=self.head.oid, **({"found": None} | fields))

    def replay(self, agent: str, *lost: Operation, token: int = 0) -> Replay:
        """Return what lists these operations, as those of one commit that was lost."""
        ops = tuple(ReplayedOp(op.agent, op.nonce) for op in lost)
        return self.op(Replay, agent, head=self.head.oid, lost=(LostCommit(oid_of("f"), ops),), token=token)

    def takeover(self, agent: str, seen: tuple[Evidence, ...], *items: Item, **fields: Any) -> Takeover:
        """Return a takeover, dated when the last of the leases is over by more than the skew unless told otherwise."""
        given = {"base": NOBODY, "claims": seen, "lease": "standard", "purpose": "", "reason": "gone", "stamps": None}
        late = max(each.lease_end for each in seen) + self.head.state.skew + 1
        return self.op(Takeover, agent, items=items, **(given | {"ttl": 7200, "at": late} | fields))

    def block(self, agent: str, *tasks: str, **fields: Any) -> BlockTasks:
        """Return a block."""
        return self.op(BlockTasks, agent, **({"reason": "", "tasks": tasks} | fields))

    def unblock(self, agent: str, *blocks: Nonce, **fields: Any) -> Unblock:
        """Return the end of blocks."""
        return self.op(Unblock, agent, **({"reason": "", "blocks": blocks} | fields))

    def settle(self, agent: str, *claims: Nonce, **fields: Any) -> Settle:
        """Return a settlement."""
        return self.op(Settle, agent, **({"claims": claims, "commit": oid_of("f")} | fields))

    def release(self, agent: str, *targets: tuple[Nonce, tuple[int, ...] | None], **fields: Any) -> Release:
        """Return a release of positions of claims, None for a whole one."""
        return self.op(Release, agent, **({"reason": "", "targets": tuple(Target(*t) for t in targets)} | fields))

    def renew(self, agent: str, *renewals: Any, **fields: Any) -> Renew:
        """Return a renewal for a day."""
        return self.op(Renew, agent, **({"claims": renewals, "lease": "long", "ttl": 86400} | fields))

    def break_(self, agent: str, *claims: Nonce) -> Break:
        """Return a break, which `sealed` signs with the policy key."""
        return self.op(Break, agent, claims=claims, reason="")

    def expel(self, agent: str, *agents: str) -> Expel:
        """Return an expelling, which `sealed` signs with the policy key."""
        return self.op(Expel, agent, agents=tuple(map(Agent, agents)), reason="a stolen key")

    def cancel(self, agent: str, op: Nonce) -> Cancel:
        """Return a cancel."""
        return self.op(Cancel, agent, op=op)

    def policy(self, agent: str, **changes: Any) -> Policy:
        """Return a policy that differs from the open one."""
        return self.op(Policy, agent, **policy_fields(**changes))

    def rejoin(self, agent: str, session: str) -> Rejoin:
        """Return a rejoin under a new session."""
        return self.op(Rejoin, agent, session=Session(session))

    def rotate(self, agent: str, key: KeyText) -> Rotate:
        """Return a rotation to another key."""
        return self.op(Rotate, agent, key=key, proof="")


def dated(op: Claim, seconds: int, after: Claim) -> Claim:
    """Return the claim dated so many seconds after another; what may wait, waits a minute."""
    return replace(op, at=after.at + seconds, wait_until=op.wait_until and after.at + seconds + 60)


def served(outcome: Outcome) -> list[tuple[str, int]]:
    """Return whom an operation let out of the queue, with tokens."""
    return [(each.waiter.agent, each.claim.token) for each in outcome.queueing.served]


def statement(number: int, cls: type[O], agent: str, **fields: Any) -> O:
    """Return a statement whose number is its `seq`, its nonce and the minute of its date."""
    common: dict[str, Any] = {
        "repo": REPO,
        "agent": Agent(agent),
        "session": Session(f"{agent}-1"),
        "seq": number,
        "at": START + 60 * number,
        "nonce": Nonce(f"{number:032x}"),
        "head": oid_of("a"),
    }
    return cls(**(common | fields))
