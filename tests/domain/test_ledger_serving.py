"""Whom the queue serves, when, in which order, and that nobody waits for itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.domain.world import World, dated, glob, oid_of, path, served, task

from git_coord.domain.index import ItemIndex
from git_coord.domain.ledger import Change, Conflict, Refusal
from git_coord.domain.obstacles import cycle
from git_coord.domain.statements import Renewal, Stamp


@pytest.fixture
def world() -> World:
    """Return a ledger with four members."""
    return World.of("alpha", "beta", "gamma", "delta")


def test_who_waits_is_granted_by_the_operation_that_frees_it_unattended_for_two_minutes(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), path("b"), purpose="why", stamps=(Stamp("n", "v"),))
    world.queued(op)
    release = world.release("alpha", (held.op, None), at=op.at + 300)
    done = world.done(release)
    claim = world.head.state.claims[op.nonce]
    assert done.changes == (Change(held, None),)
    assert [(each.waiter.op, each.claim) for each in done.queueing.served] == [(op, claim)]
    assert (claim.token, claim.holder, claim.items) == (2, "beta", op.items)
    assert (claim.purpose, claim.stamps, claim.ttl) == ("why", (Stamp("n", "v"),), 7200)
    assert (claim.at, claim.renewed, claim.unattended) == (release.at, release.at, True)
    assert claim.certain_end == release.at + 120
    assert (world.head.state.waiting, world.head.state.counters.token) == ({}, 2)


def test_an_unattended_claim_shorter_than_two_minutes_ends_with_its_own_lease(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), ttl=60)
    world.queued(op)
    release = world.release("alpha", (held.op, None))
    world.done(release)
    assert world.head.state.claims[op.nonce].certain_end == release.at + 60


def test_a_renewal_makes_an_unattended_claim_last_its_lease(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"))
    world.queued(op)
    world.done(world.release("alpha", (held.op, None)))
    renew = world.renew("beta", Renewal(op.nonce, (None,), ()), ttl=900)
    world.done(renew)
    claim = world.head.state.claims[op.nonce]
    assert (claim.unattended, claim.certain_end) == (False, renew.at + 900)


def test_waiters_for_the_same_are_served_one_after_the_other_in_the_order_they_came(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    ops = [world.wait(agent, path("a")) for agent in ("delta", "beta", "gamma")]
    for op in ops:
        world.queued(op)
    now = held
    for number, op in enumerate(ops):
        assert served(world.done(world.release(now.holder, (now.op, None)))) == [(op.agent, number + 2)]
        now = world.head.state.claims[op.nonce]
    assert world.holders() == {"a": "gamma"}


def test_one_operation_serves_everybody_it_frees_with_tokens_in_the_order_of_the_queue(world: World) -> None:
    held = world.granted(world.claim("alpha", path(".")))
    for agent, name in (("gamma", "g"), ("beta", "b"), ("delta", "d")):
        world.queued(world.wait(agent, path(name)))
    done = world.done(world.release("alpha", (held.op, None)))
    assert served(done) == [("gamma", 2), ("beta", 3), ("delta", 4)]
    assert list(world.holders().items()) == [("g", "gamma"), ("b", "beta"), ("d", "delta")]


def test_readers_are_served_together_and_a_writer_before_them_alone(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a", "read")))
    world.queued(world.wait("gamma", path("a")))
    world.queued(world.wait("delta", path("a", "read")))
    assert served(world.done(world.release("alpha", (held.op, None)))) == [("beta", 2)]
    assert world.waiters() == ["gamma", "delta"]


@pytest.mark.parametrize(("seconds", "who"), [(600, []), (601, ["gamma"])])
def test_a_later_waiter_passes_an_earlier_one_that_cannot_go_only_after_600_seconds(
    world: World, seconds: int, who: list[str]
) -> None:
    world.granted(world.claim("alpha", path("a")))
    one = world.granted(world.claim("delta", path("b")))
    first = world.wait("beta", path("a"), path("b"))
    world.queued(first)
    world.queued(world.wait("gamma", path("b")))
    done = world.done(world.release("delta", (one.op, None), at=first.at + seconds))
    assert [agent for agent, _ in served(done)] == who


def test_a_waiter_is_served_past_an_earlier_one_that_waits_for_its_agent(world: World) -> None:
    world.granted(world.claim("gamma", path("a")))
    one = world.granted(world.claim("alpha", path("b")))
    world.queued(world.wait("beta", path("a"), path("b")))
    world.queued(world.wait("gamma", path("b")))
    assert served(world.done(world.release("alpha", (one.op, None)))) == [("gamma", 3)]


def test_a_refused_operation_serves_whom_it_freed_by_dropping_another(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    one = world.wait("beta", path("a"), path("b"), seconds=120)
    world.queued(one)
    world.queued(world.wait("gamma", path("b")))
    refused = world.refused(world.claim("delta", path("a"), at=one.at + 121))
    assert served(refused) == [("gamma", 2)]
    assert (world.holders(), world.head.state.counters.token) == ({"a": "alpha", "b": "gamma"}, 2)


def test_time_alone_lets_a_waiter_pass_at_the_next_operation_whatever_it_is(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    one = world.wait("beta", path("a"), path("b"))
    world.queued(one)
    world.queued(world.wait("gamma", path("b")))
    assert served(world.do(world.rejoin("delta", "delta-1"))) == []
    done = world.done(replace(world.rejoin("delta", "delta-1"), at=one.at + 601))
    assert served(done) == [("gamma", 2)]


def test_what_is_served_replaces_the_agents_own_items_of_the_same_name_and_keeps_their_stamps(world: World) -> None:
    old = world.granted(world.claim("beta", path("b"), path("c"), stamps=(Stamp("n", "old"),)))
    held = world.granted(world.claim("alpha", path("a")))
    op = world.wait("beta", path("a"), path("b"))
    world.queued(op)
    (each,) = world.done(world.release("alpha", (held.op, None))).queueing.served
    assert each.changes == (Change(old, old._replace(gone=frozenset({0}))), Change(None, each.claim))
    assert each.claim.stamps == (Stamp("n", "old"),)
    assert [item for _, item in each.claim.live()] == [path("a"), path("b")]


def test_the_queue_is_gone_through_once_what_it_frees_itself_waits_for_the_next_operation(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("gamma", path("b")))
    below = world.wait("beta", glob("b/*"))
    world.queued(below)
    world.queued(world.wait("gamma", path("a"), path("b", blob=oid_of("1"))))
    assert served(world.done(world.release("alpha", (held.op, None)))) == [("gamma", 3)]
    assert world.waiters() == ["beta"]
    assert served(world.done(world.rejoin("delta", "delta-1"))) == [("beta", 4)]


def test_a_break_and_a_cancel_serve_like_a_release(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    two = world.granted(world.claim("alpha", path("b")))
    world.queued(world.wait("beta", path("a")))
    world.queued(world.wait("gamma", path("b")))
    assert served(world.done(world.break_("delta", one.op))) == [("beta", 3)]
    assert served(world.done(world.cancel("alpha", two.op))) == [("gamma", 4)]


def test_a_claim_to_read_beside_an_edit_serves_nobody_but_the_release_of_the_edit_does(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a", "read")))
    assert served(world.done(world.renew("alpha", Renewal(held.op, (None,), ())))) == []
    assert served(world.do(world.claim("alpha", path("a", "read")))) == []
    assert served(world.done(world.release("alpha", (held.op, None)))) == [("beta", 3)]


def test_a_served_claim_is_granted_though_its_agent_has_another_session_by_then(world: World) -> None:
    held = world.granted(world.claim("alpha", path("a")))
    world.queued(world.wait("beta", path("a")))
    world.done(world.rejoin("beta", "beta-2"))
    assert served(world.done(world.release("alpha", (held.op, None)))) == [("beta", 2)]


def test_two_agents_may_not_wait_for_each_other(world: World) -> None:
    one = world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("beta", path("b")))
    world.queued(world.wait("alpha", path("b")))
    refused = world.refused(world.wait("beta", path("a")))
    assert (refused.reason, refused.cycle) == (Refusal.CYCLE, ("beta", "alpha", "beta"))
    assert refused.conflicts == (Conflict(path("a"), one, path("a")),)
    assert (world.waiters(), world.head.state.counters.queue) == (["alpha"], 1)
    assert world.refused(world.claim("beta", path("a"))).reason is Refusal.CONFLICT


def test_three_agents_may_not_wait_in_a_ring(world: World) -> None:
    for agent in ("alpha", "beta", "gamma"):
        world.granted(world.claim(agent, path(agent)))
    world.queued(world.wait("alpha", path("beta")))
    world.queued(world.wait("beta", path("gamma")))
    assert world.refused(world.wait("gamma", path("alpha"))).cycle == ("gamma", "alpha", "beta", "gamma")


def test_waiting_behind_a_waiter_counts_while_that_keeps_off(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("gamma", path("g")))
    first = world.wait("beta", path("a"), path("g/x"), path("b"))
    world.queued(first)
    world.granted(world.claim("delta", path("d")))
    world.queued(world.wait("gamma", path("d")))
    early, late = (dated(world.wait("delta", path("b")), seconds, first) for seconds in (600, 601))
    assert world.refused(early).cycle == ("delta", "beta", "gamma", "delta")
    assert world.granted(late).holder == "delta"


def test_a_grant_after_which_its_agent_would_wait_for_itself_is_refused(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("beta", path("b")))
    first = world.wait("beta", path("a"), path("c"))
    world.queued(first)
    world.queued(world.wait("delta", path("b")))
    op = dated(world.claim("delta", path("c")), 601, first)
    refused = world.refused(op)
    assert (refused.reason, refused.cycle, refused.conflicts) == (Refusal.CYCLE, ("delta", "beta", "delta"), ())
    assert world.holders() == {"a": "alpha", "b": "beta"}


def test_a_waiter_that_would_wait_for_itself_once_served_stays_in_the_queue(world: World) -> None:
    world.granted(world.claim("alpha", path("a")))
    world.granted(world.claim("beta", path("b")))
    c = world.granted(world.claim("gamma", path("c")))
    first = world.wait("beta", path("a"), path("c"))
    world.queued(first)
    world.queued(world.wait("delta", path("b")))
    world.queued(world.wait("delta", path("c")))
    done = world.done(world.release("gamma", (c.op, None), at=first.at + 601))
    assert (served(done), world.waiters()) == ([], ["beta", "delta", "delta"])


def test_giving_back_may_put_an_agent_behind_who_waits_for_it_until_that_keeps_off_no_longer(world: World) -> None:
    """What section 7 of the format says of deadlocks: nothing that is held keeps them up, and 600 s end them."""
    x = world.granted(world.claim("alpha", path("x")))
    world.granted(world.claim("alpha", path("z")))
    y = world.granted(world.claim("gamma", path("y")))
    first = world.wait("beta", path("x"), path("y"))
    world.queued(first)
    world.queued(world.wait("beta", path("z")))
    world.queued(world.wait("alpha", path("y")))
    world.done(world.release("alpha", (x.op, None)))
    assert served(world.done(world.release("gamma", (y.op, None), at=first.at + 600))) == []
    assert cycle(world.head.state, first.agent, first.at + 600) == ("beta", "alpha", "beta")
    again = replace(world.rejoin("delta", "delta-1"), at=first.at + 601)
    assert served(world.done(again)) == [("alpha", 4)]


def test_globs_and_tasks_wait_like_paths(world: World) -> None:
    held = world.granted(world.claim("alpha", path("src/a.py"), task("E-1")))
    world.queued(world.wait("beta", glob("**/*.py")))
    world.queued(world.wait("gamma", task("E-1/2")))
    assert served(world.done(world.release("alpha", (held.op, (0,))))) == [("beta", 2)]
    assert served(world.done(world.release("alpha", (held.op, (1,))))) == [("gamma", 3)]


def test_each_waiter_is_looked_at_once_however_many_of_its_files_are_met(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one that waits with a thousand files makes a claim of the folder above them take a million looks."""
    world.granted(world.claim("alpha", path("src/0")))
    world.queued(world.wait("beta", *(path(f"src/{n}") for n in range(300))))
    looks = []
    near = ItemIndex._near
    monkeypatch.setattr(ItemIndex, "_near", lambda *args: looks.append(args) or near(*args))
    assert len(world.refused(world.claim("gamma", path("src"))).conflicts) == 301
    assert len(looks) < 2 * 300
    looks.clear()
    world.granted(world.claim("alpha", path("src/new")))  # which the waiter waits for
    assert len(looks) < 2 * 300
