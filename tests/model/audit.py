"""What must hold of a ledger and a clone at any time, checked against the second implementation of the rules."""

from __future__ import annotations

from git_coord.domain import verdict
from git_coord.domain.announcements import ReceiptEntry
from git_coord.domain.commits import Delta, UserCommit
from git_coord.domain.evidence import Attested, Evidence
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.state import State
from git_coord.domain.team import NO_RULES
from git_coord.guard.snapshot import CLAIMS_FILE, decode_claims
from git_coord.guard.verdict import FOREIGN, Picture
from git_coord.hooks.judge import judge
from git_coord.service.adopt import load_head
from git_coord.service.query import picture
from git_coord.service.snapshot import write_snapshot
from git_coord.store.memory import MemoryStore
from tests.service.scene import Desk

from .invariants import check_step
from .naive import Ledger
from .oracle import Space, Thing
from .world import FILES, records

Ids = frozenset[tuple[str, str]]
COMMIT = Oid("c" * 40)


class Auditor:
    """Replays chains operation by operation; a commit that was replayed once is not replayed again."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.known: dict[Oid, tuple[Ledger, Ids]] = {}
        self.lines: dict[Oid, list[Oid]] = {}
        self.below: dict[Oid, Oid] = {}
        """By the first commit of an epoch, the last one of that before."""

    def line(self, store: MemoryStore, tip: Oid) -> list[Oid]:
        """Return the whole ledger, epochs that the store does not keep any more from memory."""
        commits = store.history(tip, None)
        if commits and commits[0] not in self.below:
            op, _ = records(store, commits[0])[0]
            if op["kind"] == "checkpoint":
                self.below[commits[0]] = Oid(op["old"])
        while commits and commits[0] in self.below:
            if self.below[commits[0]] not in self.lines:
                self.audit(store, self.below[commits[0]])  # begun on a chain that was put together in one command
            commits = self.lines[self.below[commits[0]]] + commits
        return commits

    def lists(self, store: MemoryStore, tip: Oid, lost: Oid) -> bool:
        """Tell whether a ledger says of this commit that it was lost, and what of it is placed again."""
        ops = (op for oid in self.line(store, tip) for op, _ in records(store, oid) if op["kind"] == "replay")
        return any(lost == row["commit"] for op in ops for row in op["lost"])

    def audit(self, store: MemoryStore, tip: Oid) -> tuple[Ledger, Ids]:
        """Check every position up to this commit; return the state there and what was placed until then."""
        ledger, ids = Ledger(self.space), Ids()
        line = self.line(store, tip)
        for place, oid in enumerate(line):
            if oid not in self.known:
                self.known[oid] = self._replay(store, oid, ledger, ids)
                self.lines[oid] = line[: place + 1]
            ledger, ids = self.known[oid]
        return ledger, ids

    def _replay(self, store: MemoryStore, oid: Oid, before: Ledger, ids: Ids) -> tuple[Ledger, Ids]:
        ledger, words = before.copy(), lines(store, oid)
        placed = records(store, oid)
        assert len(words) == len(placed)
        for (op, key), line in zip(placed, words, strict=True):
            name = (op["agent"], op["nonce"])
            assert name not in ids, f"{name} is placed twice"
            check_step(ledger, op, key)
            refused = line.startswith(f"{op['agent']} is refused {op['kind']}")
            assert refused is bool(ledger.why), line
            assert ledger.why in ("", "conflict") or line.partition("; #")[0].endswith(f": {ledger.why}"), line
            ids |= {name}
        ours, theirs = facts(load_head(store, oid).state), expected(ledger)
        assert ours == theirs, f"\n{ours}\n{theirs}"
        return ledger, ids


def lines(store: MemoryStore, oid: Oid) -> list[str]:
    """Return what a ledger commit says of the operations it places."""
    (commit,) = store.read([oid])
    assert commit is not None
    return commit.data.decode("ascii").partition("\n\n")[2].splitlines()


def facts(state: State) -> object:
    """Return what a state of ours says."""
    claims = {
        c.op: (
            c.token,
            c.holder,
            c.ttl,
            [at for at, _ in c.live()],
            c.certain_end,
            c.unattended,
            c.settling is not None,
        )
        for c in state.claims.values()
    }
    stamps = {c.op: [(stamp.name, stamp.value) for stamp in c.stamps] for c in state.claims.values()}
    members = {a: ([since.key for since in m.keys], m.seq, m.session) for a, m in state.agents.items()}
    queue = [(w.queue, w.agent, w.op.nonce) for w in state.waiting.values()]
    blocks = {nonce: list(block.tasks) for nonce, block in state.blocks.items()}
    epoch = state.epoch.number if state.epoch else 0
    restored = (state.restored.at, state.restored.replayed) if state.restored else None
    return claims, stamps, members, queue, blocks, tuple(state.counters), epoch, restored


def expected(ledger: Ledger) -> object:
    """Return what the second implementation says of the same."""
    claims = {
        nonce: (h.token, h.holder, h.ttl, sorted(h.live), h.certain_end, h.unattended, h.settling)
        for nonce, h in ledger.claims.items()
    }
    stamps = {nonce: [(stamp["name"], stamp["value"]) for stamp in h.stamps] for nonce, h in ledger.claims.items()}
    members = {agent: (keys, ledger.seqs[agent], ledger.sessions[agent]) for agent, keys in ledger.keys.items()}
    queue = [(waiter.queue, waiter.agent, nonce) for nonce, waiter in ledger.waiting.items()]
    counters = (ledger.ops, ledger.token, ledger.queue, ledger.at)
    restored = None if ledger.restored is None else (ledger.restored, ledger.listed)
    return claims, stamps, members, queue, ledger.blocks, counters, ledger.epoch, restored


def check_doors(desk: Desk, space: Space) -> None:
    """Check that guard, hook and CI say the same of every file, and that it is what trying says.

    Who waits keeps newcomers off for a while, which CI never minds: then hook and guard refuse what is held, and may
    more (`tests/service/test_one_answer.py` says exactly what).
    """
    coord = desk.coord()
    write_snapshot(coord)
    claims = decode_claims(desk.files.read(CLAIMS_FILE) or b"")
    now = picture(coord)
    assert claims is not None
    for me in (desk.agent, None):
        guard = Picture(claims, (me or "").encode("ascii"), now.now)
        for path in FILES:
            foreign = _is_foreign(now.state, me, path, space)
            is_free = judge(now, NO_RULES, me, [path]).is_free
            assert is_free is not foreign or (now.state.waiting and not is_free), (me, path)
            assert by_ci(now.state, me, path) is foreign, (me, path)
            if space.fold == "none" or path.isascii():
                name = path.lower() if space.fold != "none" else path
                flagged = bool(guard.flags(name.encode()) & FOREIGN)
                is_exact = path.isascii() and not now.state.waiting
                assert flagged is foreign if is_exact else flagged >= foreign, (me, path)


def by_ci(state: State, me: Agent | None, path: str) -> bool:
    """Tell whether `verify` objects to a commit that changes the path, made at this very head."""
    commit = UserCommit(COMMIT, (), (Delta(path, None, COMMIT),))
    receipts = (
        {COMMIT: [Attested(me, ReceiptEntry(COMMIT, COMMIT, bypass=False, paths=()), state, (1, 0))]} if me else {}
    )
    return bool(verdict.judge([commit], Evidence(state, receipts)))


def _is_foreign(state: State, me: Agent | None, path: str, space: Space) -> bool:
    return any(
        claim.holder != me and space.touches(Thing(each.kind.value, each.name, each.blob is not None), path)
        for claim in state.claims.values()
        for _, each in claim.live()
    )
