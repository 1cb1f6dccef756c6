"""The rules that any repository has, with or without a hub: what agents do, and what happens to them meanwhile."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from git_coord.domain.ids import Nonce, Oid, Session
from git_coord.domain.statements import Release, Renew, Renewal, Target
from git_coord.service import claims, epochs, membership, sync
from git_coord.service.claims import ClaimGranted, ClaimRefused
from git_coord.service.context import Coord
from git_coord.service.operations import operation
from git_coord.service.place import submit
from git_coord.service.selection import by_token
from git_coord.service.waiting import WaitEnded

from . import moves
from .audit import check_doors
from .frame import AGENTS, COUNTS, Fault, Frame, chosen, wanted
from .oracle import Thing
from .world import VOCABULARY, prune, seen, signer_of

DAY = 86400


def faults(*kinds: str) -> st.SearchStrategy[Fault | None]:
    """Return faults of these kinds; half of the commands have none."""
    made = st.builds(
        Fault, st.sampled_from(kinds), st.integers(0, 11), st.sampled_from(AGENTS), st.sampled_from(VOCABULARY)
    )
    return st.none() | made


AGENT = st.sampled_from(AGENTS)
THING = st.sampled_from(VOCABULARY)
INTENT = st.sampled_from(["edit", "edit", "read"])
ITEMS = st.dictionaries(THING, INTENT, min_size=1, max_size=3)
FAULT = faults("kill", "sync", "claim", "prune", "rewind")


class Machine(Frame):
    """Agents at work; subclasses say where."""

    @rule(name=AGENT, items=ITEMS, ttl=st.sampled_from([300, 7200]), offline=st.booleans(), fault=FAULT)
    def claim(self, name: str, items: dict[Thing, str], ttl: int, offline: bool, fault: Fault | None) -> None:
        mode = "allow" if offline else "deny"
        result = self.run_command(name, lambda c: claims.claim(c, wanted(items, ttl)), fault, offline=mode)
        if isinstance(result, ClaimGranted):
            assert [i.name for _, i in result.claim.live()] == [thing.name for thing in items]
        if isinstance(result, ClaimRefused):
            assert self.desk(name).agent not in {c.claim.holder for c in result.conflicts}

    @rule(name=AGENT, thing=THING, intent=INTENT)
    def claim_one(self, name: str, thing: Thing, intent: str) -> None:
        self.run_command(name, lambda c: claims.claim(c, wanted({thing: intent})))

    @rule(name=AGENT, verb=st.sampled_from(["release", "renew"]), thing=st.none() | THING, fault=FAULT)
    def change(self, name: str, verb: str, thing: Thing | None, fault: Fault | None) -> None:
        if verb == "release":
            self.run_command(name, lambda c: claims.release(c, chosen(c, thing), ""), fault)
        else:
            self.run_command(name, lambda c: claims.renew(c, chosen(c, thing), ("long", 14400), {}, None), fault)

    @rule(name=AGENT, items=ITEMS, seconds=st.sampled_from([-1, 60, 1200, 3600, 3600]), fault=FAULT)
    def wait(self, name: str, items: dict[Thing, str], seconds: int, fault: Fault | None) -> None:
        self.run_command(name, lambda c: moves.wait(c, wanted(items, 300), seconds), fault)

    @rule(name=AGENT, items=ITEMS, fault=FAULT)
    def wait_by_command(self, name: str, items: dict[Thing, str], fault: Fault | None) -> None:
        """Wait as the command does, for a minute; when it ends without a grant, nothing is left in the queue."""
        agent, before = self.desk(name).agent, self._waiting(name)
        result = self.run_command(name, lambda c: moves.wait_patiently(c, wanted(items), 60), fault)
        if isinstance(result, ClaimGranted):
            assert (result.claim.holder, result.is_confirmed, result.claim.unattended) == (agent, True, False)
        if isinstance(result, WaitEnded):
            # Where a hub was put back, what is placed again may wait still: another clone used its numbers.
            assert self._waiting(name) <= before or self.was_tampered
        COUNTS[f"waited: {type(result).__name__}"] += 1

    def _waiting(self, name: str) -> set[str]:
        """Return the agent's claims in the queue, as far as its clone has verified."""
        tip = seen(self.desk(name))
        assert tip is not None
        ledger, _ = self.auditor.audit(self.desk(name).store, tip)
        return {nonce for nonce, waiter in ledger.waiting.items() if waiter.agent == self.desk(name).agent}

    @rule(name=AGENT, number=st.integers(0, 5), items=ITEMS, late=st.booleans(), fault=FAULT)
    def take_over(self, name: str, number: int, items: dict[Thing, str], late: bool, fault: Fault | None) -> None:
        if late:
            self.world.scene.clock.sleep(8000)
        self.run_command(name, lambda c: moves.take_over(c, number, wanted(items)), fault)

    @rule(name=AGENT, number=st.integers(0, 5), to=st.sampled_from(["alpha", "beta", "gamma", "nobody"]), fault=FAULT)
    def hand_over(self, name: str, number: int, to: str, fault: Fault | None) -> None:
        self.run_command(name, lambda c: moves.hand_over(c, number, to), fault)

    @rule(name=AGENT, verb=st.sampled_from(sorted(moves.NUMBERED)), number=st.integers(0, 5), fault=FAULT)
    def sign(self, name: str, verb: str, number: int, fault: Fault | None) -> None:
        """Land, settle, block or unblock."""
        self.run_command(name, lambda c: moves.NUMBERED[verb](c, number), fault)

    @rule(name=AGENT, number=st.integers(0, 5), fault=FAULT)
    def break_a_claim(self, name: str, number: int, fault: Fault | None) -> None:
        def do(coord: Coord) -> object:
            tokens = sorted(claim.token for claim in coord.known.state.claims.values())
            picked = tokens[number % len(tokens) :][:1] if tokens else [1]
            return claims.break_claims(coord, by_token(coord.known.state, picked, None), "")

        self.run_command(name, do, fault)

    @rule(name=AGENT, number=st.integers(0, 5))
    def cancel(self, name: str, number: int) -> None:
        mine = sorted(nonce for agent, nonce in self.world.published if agent == self.desk(name).agent)
        if mine:
            self.run_command(name, lambda c: claims.cancel(c, Nonce(mine[-1 - number % len(mine)])))

    @rule(name=AGENT, verb=st.sampled_from(["release", "renew"]), number=st.integers(0, 5))
    def meddle(self, name: str, verb: str, number: int) -> None:
        """Sign, as oneself, for what somebody else holds; through the ledger, past every check before it."""

        def do(coord: Coord) -> object:
            foreign = [c for c in coord.known.state.claims.values() if c.holder != coord.me.agent]
            victim = foreign[number % len(foreign)] if foreign else None
            if victim is None:
                return None
            targets, pins = (Target(victim.op, None),), (Renewal(victim.op, victim.pins, ()),)
            if verb == "release":
                return submit(coord, lambda seq: operation(coord, Release, seq, targets=targets, reason=""))
            return submit(coord, lambda seq: operation(coord, Renew, seq, claims=pins, lease="long", ttl=9000))

        self.run_command(name, do)

    @rule(name=AGENT, verb=st.sampled_from(["rejoin", "rotate"]), fault=FAULT)
    def change_identity(self, name: str, verb: str, fault: Fault | None) -> None:
        self.drawn += 1
        if verb == "rotate":
            new = signer_of(f"{self.desk(name).agent}-{self.drawn}")
            self.run_command(name, lambda coord: membership.rotate(coord, new), fault)
            return
        for desk in self.siblings(name):
            desk.session = Session(f"s{self.drawn}")
        self.run_command(name, membership.rejoin, fault)

    @rule(name=AGENT, fault=FAULT)
    def begin_an_epoch(self, name: str, fault: Fault | None) -> None:
        before = self.auditor.audit(self.desk(name).store, seen(self.desk(name)) or Oid(""))[0]
        result = self.run_command(name, epochs.begin, fault)
        COUNTS[f"epoch: {type(result).__name__}"] += 1
        if isinstance(result, epochs.Begun):
            assert result.number > before.epoch or self.was_tampered  # a ledger that was put back counts anew

    @rule(name=AGENT, fault=FAULT)
    def sync(self, name: str, fault: Fault | None) -> None:
        self.run_command(name, sync.sync, fault)

    @rule(name=st.none() | AGENT, seconds=st.sampled_from([-7 * DAY, -3600, -45, 0, 0, 45, 3600, 400 * DAY]))
    def shift_time(self, name: str | None, seconds: int) -> None:
        """Set one clock wrong by so much, or let time pass for all."""
        if name is None:
            self.world.scene.clock.sleep(min(abs(seconds), 8000))
        else:
            self.desk(name).clock.wall = seconds

    @rule(name=AGENT, kind=st.sampled_from(["rewind", "remove", "prune"]))
    def damage(self, name: str, kind: str) -> None:
        """Do to a clone what a stray git command may."""
        if kind == "prune":
            prune(self.desk(name).store)
        else:
            self.rewind(name, kind == "remove")

    @precondition(lambda self: not self.tampered)
    @rule(name=AGENT)
    def compare_doors(self, name: str) -> None:
        self.fit_keys()
        check_doors(self.desk(name), self.auditor.space)
