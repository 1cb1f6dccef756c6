"""The verdict as a function: every rule of section 7, and what holds for any history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.world import World, path

from git_coord.domain.announcements import ReceiptEntry, TouchedPath
from git_coord.domain.carried import Past, ThreeWay, TreeEntry
from git_coord.domain.commits import Delta, UserCommit
from git_coord.domain.evidence import Attested, Breach, Evidence, Rules, Violation
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.state import LiveClaim, State
from git_coord.domain.statements import Base
from git_coord.domain.verdict import counting, judge

HEAD = Oid("f" * 40)


def oid(number: int) -> Oid:
    return Oid(f"{number:040x}")


OLD, NEW, NEWER = (TreeEntry("100644", oid(number)) for number in (0xA1, 0xA2, 0xA3))


def commit(number: int, *parents: int, changes: tuple[Delta, ...] | None = None) -> UserCommit:
    deltas = (Delta("a.txt", OLD, NEW),) if changes is None else changes
    return UserCommit(oid(number), tuple(map(oid, parents)), deltas)


def receipt(
    agent: str,
    number: int,
    state: State,
    *,
    bypass: bool = False,
    old: TreeEntry | None = OLD,
    new: TreeEntry | None = NEW,
    seq: int = 1,
) -> Attested:
    entry = ReceiptEntry(oid(number), HEAD, bypass, (TouchedPath("a.txt", old, new),))
    return Attested(Agent(agent), entry, state, (seq, 0))


def by_commit(*receipts: Attested) -> dict[Oid, list[Attested]]:
    found: dict[Oid, list[Attested]] = {}
    for one in receipts:
        found.setdefault(one.entry.commit, []).append(one)
    return found


class Ledger:
    """Four moments: nothing held; alpha holds `a.txt`; it is released; and beta holds it."""

    def __init__(self, base: Base | None = None) -> None:
        world = World.of("alpha", "beta")
        self.free = world.head.state
        fields = {} if base is None else {"base": base}
        self.claim = world.granted(world.claim("alpha", path("a.txt"), **fields))
        self.alphas = world.head.state
        world.done(world.release("alpha", (self.claim.op, None)))
        self.released = world.head.state
        self.later = world.granted(world.claim("beta", path("a.txt")))
        self.betas = world.head.state


LEDGER = Ledger()


def found(kind: Breach | None, claim: LiveClaim | None, number: int = 1) -> list[Violation]:
    return [] if kind is None else [Violation(oid(number), Delta("a.txt", OLD, NEW), kind, claim)]


TABLE: list[tuple[str, State, tuple[Attested, ...], Breach | None, LiveClaim | None]] = [
    ("free, no receipt", LEDGER.free, (), None, None),
    ("held, no receipt", LEDGER.alphas, (), Breach.NO_RECEIPT, LEDGER.claim),
    ("released, no receipt", LEDGER.released, (), None, None),
    ("1: the holder's own", LEDGER.alphas, (receipt("alpha", 1, LEDGER.alphas),), None, None),
    ("1: and released since", LEDGER.released, (receipt("alpha", 1, LEDGER.alphas),), None, None),
    ("1: and claimed by another since", LEDGER.betas, (receipt("alpha", 1, LEDGER.alphas),), None, None),
    ("2: against the holder", LEDGER.alphas, (receipt("beta", 1, LEDGER.alphas),), Breach.HELD_THEN, LEDGER.claim),
    ("2: even if released", LEDGER.released, (receipt("beta", 1, LEDGER.alphas),), Breach.HELD_THEN, LEDGER.claim),
    ("2: even if one's own by now", LEDGER.betas, (receipt("beta", 1, LEDGER.alphas),), Breach.HELD_THEN, LEDGER.claim),
    ("3: free then, free now", LEDGER.released, (receipt("beta", 1, LEDGER.free),), None, None),
    ("3: free then, held now", LEDGER.alphas, (receipt("beta", 1, LEDGER.free),), Breach.HELD_NOW, LEDGER.claim),
    ("3: free then, one's own now", LEDGER.betas, (receipt("beta", 1, LEDGER.released),), None, None),
    ("3: held by nobody named", LEDGER.betas, (receipt("alpha", 1, LEDGER.free),), Breach.HELD_NOW, LEDGER.later),
    ("bypass: held", LEDGER.alphas, (receipt("beta", 1, LEDGER.alphas, bypass=True),), Breach.BYPASS, LEDGER.claim),
    ("bypass: free", LEDGER.free, (receipt("beta", 1, LEDGER.free, bypass=True),), Breach.BYPASS, None),
    ("bypass: by the holder", LEDGER.alphas, (receipt("alpha", 1, LEDGER.alphas, bypass=True),), None, None),
    (
        "the holder vouches for another's commit",
        LEDGER.alphas,
        (receipt("beta", 1, LEDGER.alphas), receipt("alpha", 1, LEDGER.alphas)),
        None,
        None,
    ),
]


@pytest.mark.parametrize(("_name", "newest", "receipts", "kind", "claim"), TABLE, ids=[row[0] for row in TABLE])
def test_each_rule_decides_as_the_design_says(
    _name: str, newest: State, receipts: tuple[Attested, ...], kind: Breach | None, claim: LiveClaim | None
) -> None:
    assert judge([commit(1)], Evidence(newest, by_commit(*receipts))) == found(kind, claim)


def test_a_read_claim_of_another_forbids_an_edit() -> None:
    world = World.of("alpha", "beta")
    claim = world.granted(world.claim("alpha", path("a.txt", "read")))
    assert judge([commit(1)], Evidence(world.head.state, {})) == found(Breach.NO_RECEIPT, claim)


def test_a_read_claim_of_ones_own_is_no_right_to_edit_but_nobody_elses_either() -> None:
    world = World.of("alpha", "beta")
    world.granted(world.claim("alpha", path("a.txt", "read")))
    own = receipt("alpha", 1, world.head.state)
    assert judge([commit(1)], Evidence(world.head.state, by_commit(own))) == []
    needs = Rules(needs_claim=lambda _: True)
    assert judge([commit(1)], Evidence(world.head.state, by_commit(own), rules=needs)) == found(Breach.UNCLAIMED, None)


def test_every_path_of_a_commit_is_judged_by_itself() -> None:
    deltas = (Delta("b.txt", OLD, NEW), Delta("a.txt", OLD, None), Delta("a.txt/below", None, NEW))
    judged = judge([commit(1, changes=deltas)], Evidence(LEDGER.alphas, {}))
    assert [(one.path, one.kind) for one in judged] == [
        ("a.txt", Breach.NO_RECEIPT),
        ("a.txt/below", Breach.NO_RECEIPT),
    ]


def test_a_commit_that_the_claimer_had_is_not_against_its_claim() -> None:
    for base in (Base(oid(3), None, None), Base(None, oid(3), None), Base(None, None, oid(3))):
        ledger = Ledger(base)
        judged = judge([commit(1), commit(2, 1), commit(3, 2), commit(4, 3)], Evidence(ledger.alphas, {}))
        assert judged == found(Breach.NO_RECEIPT, ledger.claim, 4)


def test_ancestry_is_only_known_inside_the_range() -> None:
    ledger = Ledger(Base(oid(9), None, None))
    assert judge([commit(1)], Evidence(ledger.alphas, {})) == found(Breach.NO_RECEIPT, ledger.claim)


class Still:
    """Means that know no more than they are told: nothing merges, nothing was there before."""

    def __init__(self, merged: TreeEntry | None = None, later: bool = False, past: Past | None = None) -> None:
        self.clean, self.later, self.before = merged, later, past or Past()

    def merge(self, asked: Sequence[ThreeWay]) -> list[Oid | None]:
        return [None] * len(asked)

    def merged(self, _commit: UserCommit, delta: Delta) -> tuple[TreeEntry | None, ...]:
        return delta.olds if self.clean is None else (self.clean,)

    def past(self, _commit: UserCommit, _path: str) -> Past:
        return self.before

    def granted_later(self, _receipt: Attested, _path: str) -> bool:
        return self.later


def evidence(newest: State, *listed: Attested, means: Still | None = None, rules: Rules = Rules()) -> Evidence:  # noqa: B008
    return Evidence(newest, {}, {"a.txt": listed}, rules, means or Still())


def test_a_copy_of_what_the_holder_committed_passes_whoever_holds_it_now() -> None:
    for newest in (LEDGER.alphas, LEDGER.released, LEDGER.betas):
        copied = evidence(newest, receipt("alpha", 7, LEDGER.alphas))
        assert judge([commit(1)], copied) == []
        assert judge([commit(1)], replace(copied, rules=Rules(needs_claim=lambda _: True))) == []
        mine = by_commit(receipt("alpha", 1, LEDGER.betas))
        assert judge([commit(1)], replace(copied, receipts=mine)) == []
        assert judge([commit(1)], replace(copied, receipts=mine, means=None)) == found(Breach.HELD_THEN, LEDGER.later)


def test_a_copy_of_what_did_not_pass_does_not_pass() -> None:
    for carrier in (
        receipt("beta", 7, LEDGER.alphas),
        receipt("beta", 7, LEDGER.free),
        receipt("alpha", 7, LEDGER.alphas, bypass=True),
    ):
        assert judge([commit(1)], evidence(LEDGER.alphas, carrier)) == found(Breach.NO_RECEIPT, LEDGER.claim)


def test_a_change_that_was_nobodys_is_carried_while_nobody_else_holds_it() -> None:
    free = receipt("alpha", 7, LEDGER.free)
    assert judge([commit(1)], evidence(LEDGER.alphas, free)) == []
    assert judge([commit(1)], evidence(LEDGER.betas, free)) == found(Breach.NO_RECEIPT, LEDGER.later)
    needs = Rules(needs_claim=lambda _: True)
    assert judge([commit(1)], evidence(LEDGER.alphas, free, rules=needs)) == []
    assert judge([commit(1)], evidence(LEDGER.free, free, rules=needs)) == found(Breach.UNCLAIMED, None)


def test_a_deletion_is_carried_like_any_other_content() -> None:
    deletion = commit(1, changes=(Delta("a.txt", OLD, None),))
    assert judge([deletion], evidence(LEDGER.alphas, receipt("alpha", 7, LEDGER.alphas, new=None))) == []


def test_going_back_to_what_the_holder_had_replaced_is_a_revert_not_a_copy() -> None:
    first = receipt("alpha", 7, LEDGER.alphas)
    second = receipt("alpha", 8, LEDGER.alphas, old=NEW, new=NEWER, seq=2)
    both = evidence(LEDGER.alphas, first, second)
    for old, new in ((OLD, NEW), (NEW, NEWER), (OLD, NEWER)):
        assert judge([commit(1, changes=(Delta("a.txt", old, new),))], both) == []
    for old, new in ((NEW, OLD), (NEWER, NEW), (NEWER, OLD)):
        back = Delta("a.txt", old, new)
        assert judge([commit(1, changes=(back,))], both) == [Violation(oid(1), back, Breach.NO_RECEIPT, LEDGER.claim)]


def test_what_was_done_already_is_not_done_again() -> None:
    past = Still(past=Past(frozenset({oid(7)}), (OLD, NEW, OLD)))
    assert judge([commit(1)], evidence(LEDGER.alphas, receipt("alpha", 7, LEDGER.alphas), means=past)) != []


def test_a_merge_is_judged_by_what_differs_from_gits_own() -> None:
    clean, dirty = (commit(1, 2, 3, changes=(Delta("a.txt", OLD, new, (NEWER,)),)) for new in (NEW, None))
    by_git = evidence(LEDGER.alphas, means=Still(merged=NEW))
    assert judge([clean], by_git) == []
    assert [one.kind for one in judge([dirty], by_git)] == [Breach.NO_RECEIPT]
    removed = receipt("alpha", 7, LEDGER.alphas, old=NEW, new=None)
    assert judge([dirty], evidence(LEDGER.alphas, removed, means=Still(merged=NEW))) == []


def test_a_conflict_resolved_is_carried_from_each_parent_or_not_at_all() -> None:
    merge = commit(1, 2, 3, changes=(Delta("a.txt", OLD, NEW, (NEWER,)),))
    ways = [receipt("alpha", 7, LEDGER.alphas, old=old, seq=seq) for seq, old in enumerate((OLD, NEWER))]
    assert judge([merge], evidence(LEDGER.alphas, *ways)) == []
    for way in ways:
        assert [one.kind for one in judge([merge], evidence(LEDGER.alphas, way))] == [Breach.NO_RECEIPT]


def test_a_claim_that_was_on_its_way_counts_once_it_is_granted() -> None:
    mine = Evidence(LEDGER.betas, by_commit(receipt("alpha", 1, LEDGER.free)))
    assert judge([commit(1)], mine) == found(Breach.HELD_NOW, LEDGER.later)
    assert judge([commit(1)], replace(mine, means=Still())) == found(Breach.HELD_NOW, LEDGER.later)
    assert judge([commit(1)], replace(mine, means=Still(later=True))) == []
    held = Evidence(LEDGER.betas, by_commit(receipt("alpha", 1, LEDGER.betas)), means=Still(later=True))
    assert judge([commit(1)], held) == found(Breach.HELD_THEN, LEDGER.later)


def test_a_receipt_with_an_older_head_than_one_on_an_ancestor_counts_as_none() -> None:
    kept = receipt("beta", 1, LEDGER.alphas)
    backdated = receipt("beta", 2, LEDGER.free)
    commits = [commit(1, changes=()), commit(2, 1)]
    assert counting(commits, by_commit(kept, backdated)) == {oid(1): (kept,), oid(2): ()}
    judged = judge(commits, Evidence(LEDGER.alphas, by_commit(kept, backdated)))
    assert judged == found(Breach.NO_RECEIPT, LEDGER.claim, 2)


def test_positions_on_side_branches_are_joined_where_they_merge() -> None:
    newer, older = receipt("beta", 2, LEDGER.alphas), receipt("beta", 3, LEDGER.free)
    merged = receipt("beta", 4, LEDGER.free)
    commits = [commit(1), commit(2, 1), commit(3, 1), commit(4, 3, 2)]
    counted = counting(commits, by_commit(newer, older, merged))
    assert counted == {oid(1): (), oid(2): (newer,), oid(3): (older,), oid(4): ()}


def test_another_agents_older_head_still_counts() -> None:
    one, two = receipt("beta", 1, LEDGER.alphas), receipt("alpha", 2, LEDGER.free)
    assert counting([commit(1), commit(2, 1)], by_commit(one, two))[oid(2)] == (two,)


def test_exempt_paths_are_never_judged() -> None:
    rules = Rules(is_exempt=lambda name: name == "a.txt")
    assert judge([commit(1)], Evidence(LEDGER.alphas, {}, rules=rules)) == []


def test_a_path_that_needs_a_claim_is_a_violation_without_one() -> None:
    rules = Rules(needs_claim=lambda name: name == "a.txt")
    assert judge([commit(1)], Evidence(LEDGER.free, {}, rules=rules)) == found(Breach.UNCLAIMED, None)
    late = by_commit(receipt("beta", 1, LEDGER.released))
    assert judge([commit(1)], Evidence(LEDGER.betas, late, rules=rules)) == []


MOMENTS = st.sampled_from([LEDGER.free, LEDGER.alphas, LEDGER.released, LEDGER.betas])
RECEIPTS = st.lists(st.builds(receipt, st.sampled_from(["alpha", "beta"]), st.integers(1, 4), MOMENTS), max_size=6)


@given(receipts=RECEIPTS, newest=MOMENTS)
def test_whatever_receipts_say_a_judgement_never_blames_the_holder_itself(
    receipts: list[Attested], newest: State
) -> None:
    commits = [commit(1), commit(2, 1), commit(3, 1), commit(4, 2, 3)]
    evidence = Evidence(newest, by_commit(*receipts))
    counted = counting(commits, evidence.receipts)
    for one in judge(commits, evidence):
        passing = [r for r in counted[one.commit] if r.state in (LEDGER.alphas, LEDGER.betas) and _held(r)]
        assert passing == []
        assert one.kind is not Breach.HELD_NOW or all(r.agent != one.claim.holder for r in counted[one.commit])


def _held(one: Attested) -> bool:
    holder = "alpha" if one.state is LEDGER.alphas else "beta"
    return one.agent == holder and one.state is not LEDGER.free


@given(receipts=RECEIPTS)
def test_without_any_claim_nothing_is_a_violation(receipts: list[Attested]) -> None:
    free = [replace(one, state=LEDGER.free) for one in receipts]
    assert judge([commit(1), commit(2, 1)], Evidence(LEDGER.free, by_commit(*free))) == []
