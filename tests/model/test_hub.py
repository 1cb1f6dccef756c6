"""Agents in two clones of one hub: every way to be cut off, and every way in which a remote can be put back."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from git_coord.domain import chain
from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject, hash_object
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, sync
from git_coord.service.adopt import load_head
from git_coord.service.sync import Synced
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refnames import LEDGER, Ref

from .frame import AGENTS, COUNTS, chosen, wanted
from .machine import AGENT, THING, Machine
from .naive import read_record
from .oracle import Thing
from .orders import commute, forged_release, pending, plant, record_at, synced
from .world import ledger_of, prune, records, seen, set_ref, set_refs

REFUSALS = ("pre-receive hook declined", "failed to update ref")


class HubMachine(Machine):
    """Two clones, two desks in each; the first agent has a desk in both."""

    CLONES: ClassVar = {"one": ("alpha", "beta"), "two": ("gamma", "alpha@2")}
    FOLD = "case+nfc"
    WITH_HUB = True

    def __init__(self) -> None:
        super().__init__()
        self.backups: list[tuple[dict[Ref, Oid], dict[Oid, GitObject]]] = []
        self.back_up()

    @property
    def hub(self) -> MemoryStore:
        return self.world.scene.hub

    def remote(self, name: str) -> MemoryRemote:
        found = self.desk(name).remote
        assert found is not None
        return found

    def is_calm(self) -> bool:
        away = any(r.offline or r.refuse or r.drop_answer for r in self.world.remotes)
        return not (away or self.tampered or self.silent)

    @rule(name=AGENT, what=st.sampled_from(["fine", "fine", "away", "silent", *REFUSALS]))
    def link(self, name: str, what: str) -> None:
        """Decide how a clone reaches the hub from now on."""
        remote = self.remote(name)
        remote.offline, remote.refuse = what == "away", what if what in REFUSALS else ""
        remote.drop_answer = what == "silent"
        self.silent |= what == "silent"

    @rule()
    def back_up(self) -> None:
        self.backups.append((self.hub.refs("refs/"), dict(self.hub._objects)))

    @rule(what=st.sampled_from(["restore", "restore the ledger", "remove", "forge", "prune"]), number=st.integers(0, 9))
    def put_back(self, what: str, number: int) -> None:
        """Do to the hub what its owner may, or whoever got hold of it."""
        COUNTS[f"hub {what}"] += 1
        refs, objects = self.backups[number % len(self.backups)]
        self.hub._objects.update(objects)
        self.tampered |= what != "prune"
        self.was_tampered |= self.tampered
        match what:
            case "restore":
                set_refs(self.hub, refs)
            case "restore the ledger":
                set_ref(self.hub, LEDGER, refs.get(LEDGER))
            case "remove":
                set_ref(self.hub, LEDGER, None)
            case "forge":
                self.forge()
            case "prune":
                prune(self.hub)

    def forge(self) -> None:
        """Put a commit on the hub's ledger that repeats what the last one placed, for other words."""
        tip = ledger_of(self.hub)
        if tip is not None:
            head = load_head(self.hub, tip)
            trees = list(head.tree.hashed("sha1"))
            data = chain.commit_bytes(head.tree, head.oid, head.date, ["#1 somebody claims everything"])
            commit = hash_object("commit", data, "sha1")
            self.hub.write([*trees, commit])
            set_ref(self.hub, LEDGER, commit.oid)

    @precondition(lambda self: self.is_calm())
    @rule(one=st.sampled_from(["alpha", "beta"]), things=st.lists(THING, min_size=2, max_size=2))
    def sync_in_both_orders(self, one: str, things: list[Thing]) -> None:
        """Work offline in two clones, then sync in one order and, in a copy of it all, in the other: it ends alike."""
        for name, thing in zip((one, "gamma"), things, strict=True):
            self.link(name, "away")
            self.run_command(name, lambda c: claims.release(c, chosen(c, None), ""))
            self.run_command(name, lambda c, t=thing: claims.claim(c, wanted({t: "edit"})), offline="allow")
            self.link(name, "fine")
        tip = ledger_of(self.hub)
        assert tip is not None
        ledger, _ = self.auditor.audit(self.hub, tip)
        waiting = pending(self.world, ledger)
        agents = [{op["agent"] for n, op in waiting if n == number} for number in (0, 1)]
        if waiting and agents[0] & agents[1]:
            return  # one agent in two clones draws the same numbers: whoever syncs first has them
        there = synced(self.world, self.auditor, (one, "gamma"))
        back = synced(self.world, self.auditor, ("gamma", one))
        assert there[1] == back[1]
        COUNTS["both orders"] += 1
        if commute(self.world, ledger, waiting):
            COUNTS[f"both orders, nothing in common, {'some' if waiting else 'none'} pending"] += 1
            assert there[0].holdings() == back[0].holdings()

    @precondition(lambda self: self.is_calm())
    @rule(name=AGENT, kind=st.sampled_from(["replay", "replay under a new number", "forge"]))
    def plant(self, name: str, kind: str) -> None:
        """Put a record into somebody's requests that must never be placed."""
        desk, tip = self.desk(name), ledger_of(self.hub)
        assert tip is not None
        ledger, _ = self.auditor.audit(self.hub, tip)
        old = record_at(self.hub, tip, desk.agent)
        mine = [nonce for nonce, held in ledger.claims.items() if held.holder == desk.agent]
        number = ledger.seqs[desk.agent] + (kind != "replay")
        if kind == "forge" and mine:
            record = forged_release(desk, mine[0], number)
            self.world.planted.add(read_record(record)[0]["nonce"])
            plant(desk, self.hub, record, number)
        elif kind != "forge" and old is not None:
            plant(desk, self.hub, old, number)

    @rule(name=AGENT)
    def sync_twice(self, name: str) -> None:
        """Sync, and sync again: the second has nothing to do, and neither believes a ledger that went back."""
        before, hub = seen(self.desk(name)), ledger_of(self.hub)
        assert before is not None
        first = self.run_command(name, sync.sync)
        self.check_rollback(name, before, hub, first)
        if isinstance(first, Synced):
            tips = self.hub.refs("refs/")
            second = self.run_command(name, sync.sync)
            assert isinstance(second, Synced)
            assert (second.placed, self.desk(name).lost(), second.before) == ([], [], second.after)
            moved = {ref for ref, value in self.hub.refs("refs/").items() if tips.get(ref) != value}
            # A heartbeat is due once a session that the first sync placed has begun to count.
            assert moved <= {f"refs/coord/presence/{self.desk(name).agent}"}
            assert second.pushed == len(moved)

    def check_rollback(self, name: str, before: Oid, hub: Oid | None, result: object) -> None:
        """Check that what the hub lost is put back or refused, and said either way."""
        remote, heard = self.remote(name), " ".join(self.desk(name).heard)
        if remote.offline or remote.refuse or self.silent or hub == before:
            return
        there = self.auditor.line(self.hub, hub) if hub else []
        if before in there:
            return
        if hub is None or hub in self.auditor.line(self.desk(name).store, before):
            COUNTS["rolled back"] += 1
            assert "had gone back to" in heard or "had lost the ledger" in heard, heard
            assert before in self.auditor.line(self.hub, ledger_of(self.hub) or Oid(""))
        elif isinstance(result, CoordError):
            COUNTS["diverged, and bad"] += 1
            assert result.kind is Kind.UNTRUSTED
        else:
            COUNTS["diverged"] += 1
            mine, tip = self.auditor.line(self.desk(name).store, before), ledger_of(self.hub)
            assert tip is not None
            _, ids = self.auditor.audit(self.hub, tip)
            lost = [oid for oid in mine if oid not in there]
            assert all(self.auditor.lists(self.hub, tip, oid) for oid in lost)
            missing = {
                (op["agent"], op["nonce"])
                for oid in lost
                for op, _ in records(self.desk(name).store, oid)
                if op["kind"] not in ("restore", "replay", "checkpoint")
            } - ids
            COUNTS["diverged, not placed again"] += len(missing)

    @precondition(lambda self: self.tampered)
    @rule(name=AGENT)
    def repair(self, name: str) -> None:
        if self.is_reachable(name):
            self.mend(name)

    def is_reachable(self, name: str) -> bool:
        remote = self.remote(name)
        return not (remote.offline or remote.refuse or remote.drop_answer)

    def come_to_rest(self) -> None:
        for name in AGENTS:
            self.link(name, "fine")
        super().come_to_rest()

    @invariant()
    def the_hub_is_a_good_ledger(self) -> None:
        tip = ledger_of(self.hub)
        if not self.tampered:
            assert tip is not None
            self.auditor.audit(self.hub, tip)


@pytest.mark.slow(30)
class TestHub(HubMachine.TestCase):  # type: ignore[name-defined,misc]
    """Run by the name that pytest looks for."""

    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
