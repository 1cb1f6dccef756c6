"""What the ledger says at one position: members, live claims, policy and counters, all immutable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from git_coord.lean import Frozen, NamedTuple, frozen

from .fold import Fold
from .ids import Agent, KeyText, Nonce, Oid, Session, Token
from .index import ItemIndex
from .items import Intent, Item
from .overlap import contains
from .statements import Base, Claim, Landed, Move, Policy, Stamp, Takeover

ItemKey = tuple[Nonce, int]
"""One item of a live or waiting claim: the claim's nonce and the position in its own list."""
UNATTENDED_SECONDS = 120
"""How long a claim that came to its holder while it was not acting lasts without a sign of life."""


class KeySince(NamedTuple):
    """A key of an agent and the ledger position at which it began to count."""

    position: int
    key: KeyText


class Member(NamedTuple):
    """An agent of the ledger: its keys (the last one is current), its last `seq`, its current session.

    `at` is the date of its last operation: that far it was alive.
    """

    keys: tuple[KeySince, ...]
    seq: int
    session: Session
    at: int = 0

    @property
    def key(self) -> KeyText:
        """The key that signs for the agent now."""
        return self.keys[-1].key


class Expelled(NamedTuple):
    """Who was a member: all keys it had, the position at which they ended, and who put it out, when and why."""

    keys: tuple[KeySince, ...]
    position: int
    by: Agent
    at: int
    reason: str


class Counters(NamedTuple):
    """`ops` placed so far (position and height), the last fencing token, `at` of the last operation placed."""

    ops: int
    token: int
    queue: int
    at: int


class LiveClaim(NamedTuple):
    """A granted claim; `items` is its own list for ever, `gone` the positions given back since.

    `op` names it: the nonce of the claim or takeover, or of the release that handed it over. `unattended` says that it
    came by the queue or by hand, and its holder has not renewed it since.
    """

    token: Token
    op: Nonce
    holder: Agent
    at: int
    items: tuple[Item, ...]
    gone: frozenset[int]
    purpose: str
    lease: str
    ttl: int
    renewed: int
    pins: tuple[Oid | None, ...]
    stamps: tuple[Stamp, ...]
    base: Base
    unattended: bool = False
    settling: Landed | None = None
    """What its holder landed and is done with; it blocks others until that is in the branch `landed.until`."""

    @property
    def certain_end(self) -> int:
        """When the lease is over as far as the ledger alone tells, seconds since the epoch; signs of life extend it."""
        return self.renewed + (min(self.ttl, UNATTENDED_SECONDS) if self.unattended else self.ttl)

    def live(self) -> Iterator[tuple[int, Item]]:
        """Yield position and item of everything still held."""
        return ((i, item) for i, item in enumerate(self.items) if i not in self.gone)

    def without(self, positions: frozenset[int]) -> LiveClaim | None:
        """Return the claim with these positions given back, None when nothing is left."""
        gone = self.gone | positions
        return None if len(gone) == len(self.items) else self._replace(gone=gone)


class Waiter(NamedTuple):
    """A claim in the queue, at its number."""

    queue: int
    op: Claim

    @property
    def agent(self) -> Agent:
        """Who waits."""
        return self.op.agent

    def as_claim(self) -> LiveClaim:
        """Return the claim as it would be, without a token; it is in the way of newcomers like one that is held."""
        return grant(self.op, Token(0), self.op.stamps or ())


class Block(NamedTuple):
    """Tasks that cannot be worked on, by name, and who said so; `position` is that of the operation."""

    position: int
    op: Nonce
    agent: Agent
    at: int
    tasks: tuple[str, ...]
    reason: str


class Epoch(NamedTuple):
    """Where the ledger begins anew: its number from 1, the head before it, the position then, and the first root."""

    number: int
    old: Oid
    ops: int
    root: Oid


class Restored(NamedTuple):
    """Who put the ledger forward again last, when, at which position, and where the remote was (None: it had none).

    `replayed` are the operations that members say were in the lost part: those of the newest replay, and who waits.
    """

    agent: Agent
    at: int
    position: int
    found: Oid | None
    replayed: frozenset[tuple[Agent, Nonce]] = frozenset()


@frozen
class State(Frozen):
    """The ledger at one position; `index` is derived from `claims`, `asked` from `waiting` (in queue order)."""

    policy: Policy
    agents: Mapping[Agent, Member]
    claims: Mapping[Nonce, LiveClaim]
    index: ItemIndex[ItemKey]
    counters: Counters
    waiting: Mapping[Nonce, Waiter]
    asked: ItemIndex[ItemKey]
    blocks: Mapping[Nonce, Block]
    expelled: Mapping[Agent, Expelled]
    """Who was put out and has not come back: no member, though its name and keys are used."""
    epoch: Epoch | None = None
    """None from the root on until the first checkpoint."""
    restored: Restored | None = None
    """None while the ledger was never restored."""
    moved: Move | None = None
    """Where the ledger was last said to go on."""

    @property
    def repo(self) -> str:
        """The ledger's UUID."""
        return self.policy.repo

    @property
    def fold(self) -> Fold:
        """How names compare."""
        return Fold(self.policy.fold)

    @property
    def skew(self) -> int:
        """Seconds by which clocks may disagree."""
        return self.policy.skew

    def keys_of(self, agent: Agent) -> frozenset[KeyText]:
        """Return every key that an agent has or had, also of one that was put out."""
        found = self.agents.get(agent) or self.expelled.get(agent)
        return frozenset(since.key for since in found.keys) if found else frozenset()

    def claim_by_token(self, token: int) -> LiveClaim | None:
        """Return the live claim with this fencing token."""
        return next((claim for claim in self.claims.values() if claim.token == token), None)

    def held_by(self, agent: Agent) -> list[LiveClaim]:
        """Return the agent's live claims in the order of their tokens."""
        return sorted((c for c in self.claims.values() if c.holder == agent), key=lambda claim: claim.token)

    def own_edit(self, agent: Agent, asked: Item) -> tuple[LiveClaim, Item] | None:
        """Return the agent's newest edit of all that is asked about, which no read of the same takes away."""
        found = self.strongest_own(agent, asked)
        return found if found and found[1].intent is Intent.EDIT else None

    def strongest_own(self, agent: Agent, asked: Item) -> tuple[LiveClaim, Item] | None:
        """Return the strongest item of the agent that is all of what is asked about."""
        hits = [(self.claims[nonce], self.claims[nonce].items[at]) for nonce, at in self.index.overlapping(asked)]
        return strongest([(c, own) for c, own in hits if c.holder == agent and contains(own, asked, self.fold)])


def grant(op: Claim | Takeover, token: Token, stamps: tuple[Stamp, ...]) -> LiveClaim:
    """Return the live claim that a granted claim or takeover makes."""
    return LiveClaim(
        token=token,
        op=op.nonce,
        holder=op.agent,
        at=op.at,
        items=op.items,
        gone=frozenset(),
        purpose=op.purpose,
        lease=op.lease,
        ttl=op.ttl,
        renewed=op.at,
        pins=tuple(item.blob for item in op.items),
        stamps=stamps,
        base=op.base,
    )


def strongest(claims: list[tuple[LiveClaim, Item]]) -> tuple[LiveClaim, Item] | None:
    """Return the item with the strongest intent: edit before read, then the newest token."""
    return max(claims, key=lambda pair: (pair[1].intent is Intent.EDIT, pair[0].token), default=None)
