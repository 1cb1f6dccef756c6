"""What becomes of operations: every rule of `apply`, and what holds whatever agents do."""

from __future__ import annotations

from itertools import product

import pytest
from tests.domain.world import START, World, glob, key_of, oid_of, path, task

from git_coord.domain.ids import Nonce, Session
from git_coord.domain.items import Item
from git_coord.domain.ledger import Change, Conflict, Refusal
from git_coord.domain.loading import load_state
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Renewal, Stamp

UNKNOWN = Nonce("f" * 32)


@pytest.fixture
def world() -> World:
    """Return a ledger with two members."""
    return World.of("alpha", "beta")


def held(world: World, agent: str) -> list[Item]:
    """Return everything an agent holds, in the order of tokens."""
    return [item for claim in world.head.state.claims.values() if claim.holder == agent for _, item in claim.live()]


def test_a_claim_is_granted_whole_with_the_next_token(world: World) -> None:
    op = world.claim("alpha", path("a"), task("E"), stamps=(Stamp("n", "v"),), purpose="why")
    claim = world.granted(op)
    assert (claim.token, claim.op, claim.holder, claim.at, claim.renewed) == (1, op.nonce, "alpha", op.at, op.at)
    assert (claim.items, claim.pins, claim.gone) == (op.items, (None, None), frozenset())
    assert (claim.purpose, claim.stamps, claim.lease, claim.ttl) == ("why", (Stamp("n", "v"),), "standard", 7200)
    assert world.head.state.counters.token == 1


@pytest.mark.parametrize(
    ("theirs", "mine", "free"),
    [("read", "read", True), ("read", "edit", False), ("edit", "read", False), ("edit", "edit", False)],
)
def test_only_reads_of_two_agents_may_overlap(world: World, theirs: str, mine: str, free: bool) -> None:
    world.granted(world.claim("beta", path("a", theirs)))
    outcome = world.do(world.claim("alpha", path("a/b", mine)))
    assert held(world, "alpha") == ([path("a/b", mine)] if free else [])
    assert (getattr(outcome, "reason", None) is Refusal.CONFLICT) is not free


def test_a_refusal_names_every_holder_in_the_way_and_grants_nothing() -> None:
    world = World.of("alpha", "beta", "gamma")
    one = world.granted(world.claim("beta", path("a"), path("b")))
    two = world.granted(world.claim("gamma", glob("c/*")))
    refused = world.refused(world.claim("alpha", path("free"), path("a/x"), path("c/d"), path("b", "read")))
    assert refused.reason is Refusal.CONFLICT
    assert refused.conflicts == (
        Conflict(path("a/x"), one, path("a")),
        Conflict(path("c/d"), two, glob("c/*")),
        Conflict(path("b", "read"), one, path("b")),
    )
    assert held(world, "alpha") == []
    assert world.head.state.counters.token == 2


def test_a_refusal_counts_and_changes_nothing_else(world: World) -> None:
    world.granted(world.claim("beta", path("a")))
    before = world.head.state
    refused = world.refused(op := world.claim("alpha", path("a"), at=START + 7))
    counters, member = before.counters, before.agents[op.agent]
    assert refused.state.counters == counters._replace(ops=counters.ops + 1, at=START + 7)
    assert refused.state.agents == dict(before.agents) | {op.agent: member._replace(seq=op.seq, at=START + 7)}
    assert (refused.state.claims, refused.state.policy) == (before.claims, before.policy)


def test_an_agent_never_conflicts_with_itself(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    assert world.granted(world.claim("alpha", path("a/b"))).token == 2
    assert held(world, "alpha") == [path("a"), path("a/b")]


def test_a_claim_of_the_same_item_replaces_it_and_keeps_the_rest(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b")))
    two = world.claim("alpha", path("a"))
    outcome = world.place(two).placed[0].outcome
    assert outcome is not None
    cut = one._replace(gone=frozenset({0}))
    assert outcome.changes == (Change(one, cut), Change(None, world.head.state.claims[two.nonce]))
    assert held(world, "alpha") == [path("b"), path("a")]


@pytest.mark.parametrize("intents", list(product(("read", "edit"), repeat=3)))
def test_the_strongest_intent_is_kept_and_what_is_not_stronger_is_replaced(
    world: World, intents: tuple[str, ...]
) -> None:
    for intent in intents:
        world.granted(world.claim("alpha", path("a", intent)))
    last_edit = max((at for at, intent in enumerate(intents) if intent == "edit"), default=2)
    assert held(world, "alpha") == [path("a", intents[at]) for at in sorted({last_edit, 2})]
    assert load_state(world.files()).claims == world.head.state.claims


def test_a_read_of_what_one_edits_leaves_the_edit_as_it_was_until_that_is_released(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a", blob=oid_of("1")), path("b"), stamps=(Stamp("n", "1"),)))
    two = world.granted(world.claim("alpha", path("a", "read", blob=oid_of("2"))))
    assert world.head.state.claims == {one.op: one, two.op: two}
    assert world.refused(world.claim("beta", path("a", "read"))).conflicts[0].claim == one
    world.done(world.release("alpha", (one.op, None)))
    assert world.granted(world.claim("beta", path("a", "read"))).token == 3


def test_a_waiter_that_is_served_takes_no_edit_for_a_read_either() -> None:
    world = World.of("alpha", "beta", fold="case+nfc")
    theirs = world.granted(world.claim("beta", path("c")))
    one = world.granted(world.claim("alpha", path("a"), path("A", "read"), path("b", "read")))
    world.queued(world.wait("alpha", path("a", "read"), path("b"), path("c")))
    world.done(world.release("beta", (theirs.op, None)))
    assert world.head.state.claims[one.op].gone == frozenset({1, 2})
    assert load_state(world.files()).claims == world.head.state.claims


def test_a_claim_whose_last_item_is_replaced_is_gone(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    world.granted(two := world.claim("alpha", path("b"), path("a")))
    assert list(world.head.state.claims) == [two.nonce]
    assert one.op not in world.head.state.claims


def test_a_refused_claim_replaces_nothing(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("beta", path("b")))
    world.refused(world.claim("alpha", path("a"), path("b")))
    assert world.head.state.claims[one.op] == one


def test_names_are_the_same_as_the_fold_of_the_ledger_says() -> None:
    world = World.of("alpha", "beta", fold="case+nfc")
    world.granted(world.claim("alpha", path("README"), path("readme", "read")))
    world.granted(world.claim("alpha", path("ReadMe")))
    assert held(world, "alpha") == [path("ReadMe")]
    assert world.refused(world.claim("beta", path("rEADME/x"))).reason is Refusal.CONFLICT


@pytest.mark.parametrize(
    ("given", "kept"), [(None, (Stamp("n", "new"),)), ((), ()), ((Stamp("m", "1"),), (Stamp("m", "1"),))]
)
def test_stamps_of_the_newest_claim_replaced_are_kept_unless_given(
    world: World, given: tuple[Stamp, ...] | None, kept: tuple[Stamp, ...]
) -> None:
    world.granted(world.claim("alpha", path("b"), stamps=(Stamp("n", "new"),)))
    world.granted(world.claim("alpha", path("c"), stamps=(Stamp("n", "unrelated"),)))
    world.granted(world.claim("alpha", path("a"), path("x"), stamps=(Stamp("n", "old"),)))
    world.granted(world.claim("alpha", path("x"), path("b"), stamps=(Stamp("n", "new"),)))
    assert world.granted(world.claim("alpha", path("a"), path("b"), stamps=given)).stamps == kept


def test_a_claim_without_stamps_that_replaces_nothing_has_none(world: World) -> None:
    assert world.granted(world.claim("alpha", path("a"))).stamps == ()


def test_a_pinned_path_and_a_glob_meet_only_at_that_file(world: World) -> None:
    world.granted(world.claim("beta", path("src/a.py", blob=oid_of("1"))))
    assert world.granted(world.claim("alpha", glob("src/**/*.rs"))).token == 2
    assert world.refused(world.claim("alpha", glob("src/*.py"))).reason is Refusal.CONFLICT


def test_no_claim_takes_the_nonce_of_a_live_one(world: World) -> None:
    one = world.granted(world.claim("beta", path("a")))
    assert world.refused(world.claim("alpha", path("b"), nonce=one.op)).reason is Refusal.NONCE
    assert world.refused(world.claim("beta", path("b"), nonce=one.op)).reason is Refusal.NONCE
    assert list(world.head.state.claims.values()) == [one]
    world.done(world.release("beta", (one.op, None)))
    assert world.granted(world.claim("alpha", path("b"), nonce=one.op)).token == 2


@pytest.mark.parametrize("late", [0, 1])
def test_a_claim_is_late_when_the_ledger_is_past_its_deadline_by_more_than_the_skew(world: World, late: int) -> None:
    world.granted(newest := world.claim("beta", path("b")))
    outcome = world.do(world.claim("alpha", path("a"), not_after=newest.at - 60 - late))
    assert getattr(outcome, "reason", None) is (Refusal.LATE if late else None)


def test_lateness_is_measured_by_the_last_operation_placed_not_the_newest(world: World) -> None:
    world.granted(newest := world.claim("beta", path("b"), at=START + 86400))
    world.granted(world.claim("beta", path("c"), at=START + 60))
    assert world.granted(world.claim("alpha", path("a"), not_after=START + 60)).token == 3
    assert newest.at > START + 120


def test_operations_of_another_session_are_refused_but_policy_break_cancel_and_rejoin(world: World) -> None:
    old = world.granted(world.claim("alpha", path("a")))
    world.done(world.rejoin("alpha", "alpha-2"))
    for op in (
        world.claim("alpha", path("b")),
        world.renew("alpha", Renewal(old.op, (None,), ())),
        world.release("alpha", (old.op, None)),
        world.rotate("alpha", key_of("new")),
    ):
        assert world.refused(op).reason is Refusal.SESSION
    world.done(world.policy("alpha", takeover="never"))
    world.done(world.break_("alpha", world.granted(world.claim("beta", path("c"))).op))
    world.done(world.cancel("alpha", old.op))
    assert world.head.state.claims == {}
    world.done(world.rejoin("alpha", "alpha-1"))
    assert world.granted(world.claim("alpha", path("b"))).token == 3


def test_a_late_claim_of_another_session_is_refused_as_late(world: World) -> None:
    op = world.claim("alpha", path("a"), not_after=START, session=Session("other"))
    assert world.refused(op).reason is Refusal.LATE


@pytest.mark.parametrize("what", ["claim", "renew"])
def test_a_lease_longer_than_the_policy_allows_is_refused(world: World, what: str) -> None:
    claim = world.granted(world.claim("alpha", path("a"), ttl=86400))
    world.done(world.policy("beta", max_lease=86399))
    if what == "claim":
        assert world.refused(world.claim("alpha", path("b"), ttl=86400)).reason is Refusal.TTL
    else:
        op = world.renew("alpha", Renewal(claim.op, (None,), ()), ttl=86400)
        assert world.refused(op).reason is Refusal.TTL


def test_a_renewal_replaces_lease_pins_and_stamps_of_all_its_claims(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b"), stamps=(Stamp("n", "v"),)))
    two = world.granted(world.claim("alpha", path("c")))
    pins = (None, oid_of("2"))
    op = world.renew("alpha", Renewal(one.op, pins, ()), Renewal(two.op, (None,), (Stamp("m", ""),)))
    renewed = one._replace(renewed=op.at, ttl=86400, lease="long", pins=pins, stamps=())
    also = two._replace(renewed=op.at, ttl=86400, lease="long", stamps=(Stamp("m", ""),))
    assert world.done(op).changes == (Change(one, renewed), Change(two, also))
    assert world.head.state.claims == {one.op: renewed, two.op: also}
    assert world.head.state.counters.token == 2


def test_a_renewal_must_have_a_pin_for_every_item_ever_claimed(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b")))
    world.done(world.release("alpha", (one.op, (0,))))
    assert world.refused(world.renew("alpha", Renewal(one.op, (None,), ()))).reason is Refusal.ITEMS
    world.done(world.renew("alpha", Renewal(one.op, (None, None), ())))


def test_nobody_renews_or_releases_what_is_anothers_or_gone(world: World) -> None:
    theirs = world.granted(world.claim("beta", path("b")))
    mine = world.granted(world.claim("alpha", path("a")))
    for nonce in (theirs.op, UNKNOWN):
        renewals = (Renewal(mine.op, (None,), ()), Renewal(nonce, (None,), ()))
        assert world.refused(world.renew("alpha", *renewals)).reason is Refusal.NOT_HELD
        assert world.refused(world.release("alpha", (mine.op, None), (nonce, None))).reason is Refusal.NOT_HELD
    assert world.head.state.claims == {theirs.op: theirs, mine.op: mine}


def test_a_release_gives_back_positions_and_the_last_one_ends_the_claim(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b"), path("c")))
    done = world.done(world.release("alpha", (one.op, (0, 2))))
    assert done.changes == (Change(one, one._replace(gone=frozenset({0, 2}))),)
    assert held(world, "alpha") == [path("b")]
    world.granted(world.claim("beta", path("a")))
    world.done(world.release("alpha", (one.op, (1,))))
    assert one.op not in world.head.state.claims


@pytest.mark.parametrize("positions", [(0,), (1, 0), (2,)])
def test_positions_not_held_any_more_or_never_there_are_refused(world: World, positions: tuple[int, ...]) -> None:
    one = world.granted(world.claim("alpha", path("a"), path("b")))
    world.done(world.release("alpha", (one.op, (0,))))
    assert world.refused(world.release("alpha", (one.op, positions))).reason is Refusal.ITEMS
    assert held(world, "alpha") == [path("b")]


def test_a_release_of_several_claims_is_all_or_nothing(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("alpha", path("b")))
    assert world.refused(world.release("alpha", (one.op, None), (two.op, (5,)))).reason is Refusal.ITEMS
    assert held(world, "alpha") == [path("a"), path("b")]
    world.done(world.release("alpha", (one.op, None), (two.op, (0,))))
    assert (held(world, "alpha"), len(world.head.state.index)) == ([], 0)


def test_a_break_frees_claims_of_anybody_and_all_or_none(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("beta", path("b")))
    assert world.refused(world.break_("beta", one.op, UNKNOWN)).reason is Refusal.NOT_HELD
    assert world.done(world.break_("beta", two.op, one.op)).changes == (Change(two, None), Change(one, None))
    assert world.head.state.claims == {}


def test_a_cancel_frees_what_the_operation_was_granted_and_restores_nothing(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("alpha", path("a"), path("b")))
    assert world.done(world.cancel("alpha", two.op)).changes == (Change(two, None),)
    assert held(world, "alpha") == []


def test_a_cancel_of_anothers_or_of_nothing_changes_nothing(world: World) -> None:
    theirs = world.granted(world.claim("beta", path("b")))
    for nonce in (theirs.op, UNKNOWN):
        assert world.done(world.cancel("alpha", nonce)).changes == ()
    assert world.head.state.claims == {theirs.op: theirs}


def test_claims_are_found_by_token_and_by_holder(world: World) -> None:
    one: LiveClaim = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("alpha", path("b")))
    assert world.head.state.claim_by_token(2) == two
    assert world.head.state.claim_by_token(3) is None
    assert world.head.state.held_by(one.holder) == [one, two]
