"""Who is in whose way, who waits for whom, and whom the queue serves: section 5 of `docs/format.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .naive_state import Held, Items, State, Waiter, items_of

PROTECTED = 600
LAST = 1 << 60
"""The place in the queue behind all others: that of who is new."""


class Queue(State):
    """What a claim has in its way."""

    def holders(self, agent: str, items: Items) -> list[str]:
        """Return the nonces of the claims in the way of items (rule 1)."""
        return [
            nonce
            for nonce, held in self.claims.items()
            if held.holder != agent and self.meet(items, list(held.live.values()))
        ]

    def before(self, agent: str, items: Items, at: int, place: int) -> list[str]:
        """Return the nonces of the waiters in the way of items asked for from a place in the queue (rule 2)."""
        return [
            nonce
            for nonce, waiter in self.waiting.items()
            if waiter.agent != agent
            and waiter.queue < place
            and at <= waiter.at + PROTECTED
            and self.meet(items, waiter.items)
            and not self.meet(waiter.items, self.holds(agent))
        ]

    def in_way(self, agent: str, items: Items, at: int, place: int = LAST) -> bool:
        """Tell whether anything is in the way."""
        return bool(self.holders(agent, items) or self.before(agent, items, at, place))

    def waits_for(self, agent: str, at: int) -> set[str]:
        """Return the agents that a waiter of this one has in its way."""
        found = set()
        for waiter in self.waiting.values():
            if waiter.agent == agent:
                found |= {self.claims[nonce].holder for nonce in self.holders(agent, waiter.items)}
                ahead = self.before(agent, waiter.items, at, waiter.queue)
                found |= {self.waiting[nonce].agent for nonce in ahead}
        return found

    def is_deadlocked(self, agent: str, at: int) -> bool:
        """Tell whether an agent waits for itself."""
        reached: set[str] = set()
        todo = [agent]
        while todo:
            new = self.waits_for(todo.pop(), at) - reached
            reached |= new
            todo += new
        return agent in reached

    def grant(self, op: dict[str, object], at: int, *, unattended: bool) -> None:
        """Make a live claim of a claim or takeover; what the agent has of the same names it gives back."""
        agent, items, stamps = str(op["agent"]), items_of(op), op["stamps"]
        names = {(thing.kind, self.name(thing), intent) for thing, intent in items}
        kept = []
        for nonce in [nonce for nonce, held in self.claims.items() if held.holder == agent]:
            held = self.claims[nonce]
            same = [
                n
                for n, (thing, intent) in held.live.items()
                if {(thing.kind, self.name(thing), wanted) for wanted in (intent, "edit")} & names
            ]
            kept = held.stamps if same else kept
            self.cut(nonce, same)
        self.token += 1
        given = kept if stamps is None else stamps
        assert isinstance(given, list)
        ttl = int(str(op["ttl"]))
        live = dict(enumerate(items))
        self.claims[str(op["nonce"])] = Held(self.token, agent, ttl, live, len(items), at, given, unattended)

    def cut(self, nonce: str, positions: list[int]) -> None:
        """Take positions from a claim; one with none left ends."""
        held = self.claims[nonce]
        held.live = {at: item for at, item in held.live.items() if at not in positions}
        if not held.live:
            del self.claims[nonce]

    def could_be_served(self, waiter: Waiter, at: int) -> bool:
        """Tell whether a waiter may leave the queue now."""
        if self.in_way(waiter.agent, waiter.items, at, waiter.queue) or self.is_blocked(waiter.items):
            return False
        after = self.copy()
        after.leave(waiter, at)
        return not after.is_deadlocked(waiter.agent, at)

    def leave(self, waiter: Waiter, at: int) -> None:
        """Let a waiter have its claim."""
        del self.waiting[waiter.op["nonce"]]
        self.grant(waiter.op, at, unattended=True)

    def serving(self, at: int, *, is_listed: bool) -> Iterator[Waiter]:
        """Serve the queue, once through; yield each that is served, before it is.

        On hold what was lost serves what was lost with it, and nothing else anybody.
        """
        for waiter in list(self.waiting.values()):
            if self.is_on_hold and not (is_listed and self.is_listed(waiter.op)):
                continue
            if self.could_be_served(waiter, at):
                yield waiter
                self.leave(waiter, at)
