"""The verdict as a function: every rule of section 7, and what holds for any history."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.world import World, path

from git_coord.domain.announcements import ReceiptEntry, TouchedPath
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.state import LiveClaim, State
from git_coord.domain.statements import Base
from git_coord.domain.verdict import Attested, Breach, Delta, Evidence, Rules, UserCommit, Violation, counting, judge

HEAD = Oid("f" * 40)


def oid(number: int) -> Oid:
    return Oid(f"{number:040x}")


OLD, NEW, NEWER = oid(0xA1), oid(0xA2), oid(0xA3)


def commit(number: int, *parents: int, changes: tuple[Delta, ...] | None = None) -> UserCommit:
    deltas = (Delta("a.txt", OLD, NEW),) if changes is None else changes
    return UserCommit(oid(number), tuple(map(oid, parents)), deltas)


def receipt(
    agent: str, number: int, state: State, *, bypass: bool = False, blob: Oid | None = NEW, seq: int = 1
) -> Attested:
    entry = ReceiptEntry(oid(number), HEAD, bypass, (TouchedPath("a.txt", blob),))
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


def test_a_copy_of_what_the_holder_committed_passes() -> None:
    squashed = Evidence(LEDGER.alphas, {}, {("a.txt", NEW): [receipt("alpha", 7, LEDGER.alphas)]})
    assert judge([commit(1)], squashed) == []
    assert judge([commit(1)], replace(squashed, rules=Rules(needs_claim=lambda _: True))) == []


def test_a_copy_of_what_did_not_pass_does_not_pass() -> None:
    for carrier in (receipt("beta", 7, LEDGER.alphas), receipt("beta", 7, LEDGER.free)):
        evidence = Evidence(LEDGER.alphas, {}, {("a.txt", NEW): [carrier]})
        assert judge([commit(1)], evidence) == found(Breach.NO_RECEIPT, LEDGER.claim)
    bypassed = receipt("alpha", 7, LEDGER.alphas, bypass=True)
    assert judge([commit(1)], Evidence(LEDGER.alphas, {}, {("a.txt", NEW): [bypassed]})) != []


def test_a_deletion_is_carried_like_any_other_content() -> None:
    deletion = commit(1, changes=(Delta("a.txt", OLD, None),))
    carried = Evidence(LEDGER.alphas, {}, {("a.txt", None): [receipt("alpha", 7, LEDGER.alphas, blob=None)]})
    assert judge([deletion], carried) == []


def test_going_back_to_what_the_holder_had_replaced_is_a_revert_not_a_copy() -> None:
    first, second = receipt("alpha", 7, LEDGER.alphas), receipt("alpha", 8, LEDGER.alphas, blob=NEWER, seq=2)
    carriers = {("a.txt", NEW): [first], ("a.txt", NEWER): [second]}
    back, forth = Delta("a.txt", NEWER, NEW), Delta("a.txt", NEW, NEWER)
    evidence = Evidence(LEDGER.alphas, {}, carriers)
    assert judge([commit(1, changes=(forth,))], evidence) == []
    assert judge([commit(1, changes=(back,))], evidence) == [Violation(oid(1), back, Breach.NO_RECEIPT, LEDGER.claim)]


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
