"""A new epoch: the same state on a short chain, followed by everybody, believed by nobody without a policy key."""

from __future__ import annotations

import pytest
from tests.service.eras import begin, chain_of, drop_kept, forgetting, fresh, kept, only_reachable
from tests.service.scene import Scene

from git_coord.domain.ids import Agent, Oid
from git_coord.errors import CoordError, Kind
from git_coord.service import epochs
from git_coord.service.announce import read_all
from git_coord.service.claims import ClaimGranted, ClaimRefused
from git_coord.service.epochs import Begun
from git_coord.service.history import recent
from git_coord.service.lineage import lineage
from git_coord.service.posts import add_post
from git_coord.service.presence import Wish, set_presence
from git_coord.store import refnames
from git_coord.store.refnames import Family


def test_an_epoch_has_the_state_of_the_one_before_on_a_chain_of_one(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    beta.granted("b.txt")
    alpha.sync()
    before, old = alpha.state(), alpha.tip()
    assert begin(alpha) == Begun(1, 5)
    after = alpha.state()
    assert (after.claims, after.policy, after.counters.token) == (before.claims, before.policy, before.counters.token)
    assert after.counters.ops == before.counters.ops + 1
    assert (alpha.tip(), chain_of(scene.hub)) == (scene.hub_tip(), 1)
    assert scene.hub.refs(refnames.epoch(1)) == {refnames.epoch(1): old}
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    assert beta.tip() == alpha.tip()
    assert beta.forward() == []


def test_without_a_remote_the_old_head_is_kept_beside_the_ledger(local: Scene) -> None:
    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a.txt")
    begin(alpha)
    assert kept(alpha.store) == [refnames.epoch(1)]
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    beta.granted("b.txt")
    begin(alpha)
    assert kept(alpha.store) == [refnames.epoch(2)]
    assert alpha.holdings() == {"a.txt": "alpha", "b.txt": "beta"}


def test_the_log_goes_on_before_the_epoch(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    begin(alpha)
    alpha.granted("b.txt")
    lines = [event.line.partition(" ledger ")[0] for event in recent(alpha.coord(), 100)]
    assert lines == [
        "#2 alpha claims b.txt (edit)",
        "alpha begins epoch 1",
        "#1 alpha claims a.txt (edit)",
        "alpha joins",
        "alpha begins",
    ]


def test_a_clone_that_was_away_verifies_through_what_is_kept(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    begin(alpha)
    alpha.granted("b.txt")
    assert beta.remote is not None
    beta.remote.hub = forgetting(scene)
    beta.sync()
    assert (beta.tip(), beta.forward()) == (alpha.tip(), [])
    assert beta.holdings() == {"a.txt": "alpha", "b.txt": "alpha"}


def test_a_clone_that_missed_an_epoch_takes_the_next_from_a_policy_key_it_knows(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("x.txt")
    begin(alpha)
    alpha.release("x.txt")
    alpha.granted("a.txt")
    begin(alpha)
    assert beta.remote is not None
    beta.remote.hub = forgetting(scene)
    beta.store = only_reachable(beta.store)
    beta.remote.store = beta.store
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}
    assert beta.forward() == ["epochs began while this clone was away; what came before epoch 1 was not seen"]


def test_a_fresh_clone_takes_a_ledger_from_its_checkpoint_when_nothing_older_is_kept(scene: Scene) -> None:
    alpha, _ = scene.joined("alpha", "beta")
    root = alpha.tip() and lineage(alpha.store, alpha.tip(), None)[0]  # type: ignore[arg-type]
    alpha.granted("a.txt")
    begin(alpha)
    alpha.granted("b.txt")
    drop_kept(scene.hub)
    gamma = fresh(scene, forgetting(scene), pinned_root=root)
    gamma.init()
    assert gamma.holdings() == {"a.txt": "alpha", "b.txt": "alpha"}
    other = fresh(scene, forgetting(scene), pinned_root=Oid("f" * 40))
    with pytest.raises(CoordError, match=f"begins at {root}, but .coord.toml pins f+"):
        other.init()


def test_claims_made_while_an_epoch_begins_are_placed_in_it(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    stale = beta.coord()
    begin(alpha)
    result = beta.claim("b.txt", coord=stale)
    assert isinstance(result, ClaimGranted)
    assert beta.state().epoch == alpha.state().epoch
    alpha.sync()
    assert alpha.holdings() == {"b.txt": "beta"}


def test_an_epoch_that_somebody_else_began_meanwhile_is_enough(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.policy_signer = lambda: scene.signer("alpha")
    stale = beta.coord()
    begin(alpha)
    assert epochs.begin(stale).number == 1
    assert alpha.tip() == scene.hub_tip()


def test_a_hub_that_lost_what_came_before_gets_it_back_from_who_has_it(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    old = alpha.tip()
    begin(alpha)
    beta.sync()
    drop_kept(scene.hub)
    beta.store = only_reachable(beta.store)
    assert beta.remote is not None
    beta.remote.store = beta.store
    beta.sync()
    assert scene.hub.refs(refnames.epoch(1)) == {refnames.epoch(1): old}
    pushes = beta.remote.pushes
    beta.sync()
    assert beta.remote.pushes == pushes


def test_a_clone_that_lacks_what_came_before_is_told_what_helps_and_that_does(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    begin(alpha)
    assert alpha.remote is not None
    assert beta.remote is not None
    drop_kept(scene.hub)
    scene.hub = alpha.remote.hub = beta.remote.hub = forgetting(scene)
    beta.store = beta.remote.store = only_reachable(beta.store)
    with pytest.raises(CoordError) as caught:
        beta.sync()
    assert (caught.value.kind, caught.value.next) == (Kind.UNTRUSTED, "git coord sync")
    assert caught.value.message.endswith("is missing; a clone that has it gives it back: git coord sync there")
    alpha.sync()
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}


def test_a_lost_answer_begins_no_second_epoch(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    assert alpha.remote is not None
    alpha.remote.drop_answer = True  # of the push that keeps the old head
    with pytest.raises(CoordError):
        begin(alpha)
    assert begin(alpha).number == 1
    alpha.sync()
    assert alpha.holdings() == {"a.txt": "alpha"}
    assert chain_of(scene.hub) == 1


def test_an_agent_silent_for_a_month_that_holds_nothing_leaves_nothing(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    for desk in (beta, gamma):
        set_presence(desk.coord(), Wish(state="busy"))
        add_post(desk.coord(), "hello", None, None)
        desk.sync()
    gamma.granted("kept.txt")
    scene.clock.steady += epochs.GONE_SECONDS + 10
    set_presence(alpha.coord(), Wish(state="busy"))
    alpha.sync()
    coord = alpha.coord()
    coord.remote.fetch((Family.PRESENCE, Family.POSTS))  # type: ignore[union-attr]
    assert epochs.drop_leftovers(coord) == ["beta"]
    assert sorted(read_all(alpha.coord(), Family.PRESENCE)) == ["alpha", "gamma"]
    assert sorted(read_all(alpha.coord(), Family.POSTS)) == ["gamma"]
    names = {refnames.owned(family, Agent("beta")) for family in (Family.PRESENCE, Family.POSTS)}
    assert names.isdisjoint(scene.hub.refs("refs/"))
    assert not isinstance(beta.claim("b.txt"), ClaimRefused)
