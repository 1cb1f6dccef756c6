"""A ledger that went back, vanished, diverged or was forged: never adopted, always said, and healed by repair."""

from __future__ import annotations

import pytest
from tests.service.scene import START, Desk, Scene, trouble
from tests.service.tampering import forged, set_ledger, set_refs

from git_coord.domain.ids import Oid
from git_coord.domain.state import Restored
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Settings
from git_coord.service.repair import repair
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refnames import SEEN


def ops(desk: Desk) -> int:
    return desk.state().counters.ops


@pytest.mark.parametrize("tip", ["older", None])
def test_a_remote_that_lost_the_ledger_gets_it_back_and_that_is_said(scene: Scene, tip: str | None) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    old = scene.hub_tip()
    alpha.granted("a.txt")
    before = alpha.tip()
    set_ledger(scene.hub, old if tip else None)
    alpha.sync()
    assert alpha.tip() == scene.hub_tip()
    assert alpha.head().state.restored == Restored(alpha.agent, START, ops(alpha), old if tip else None)
    what = f"the ledger at origin had gone back to {str(old)[:10]}" if tip else "origin had lost the ledger"
    hold = "until 00:10 UTC nothing is granted, so that whoever had more of it can place that again"
    assert alpha.forward() == [f"{what}; this clone put it back: {hold}"]
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}
    assert beta.forward() == [f"{what}; alpha put it back: {hold}"]
    assert before in beta.store.history(beta.head().oid, None)


def test_a_claim_against_a_remote_that_went_back_heals_it_first(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    old = scene.hub_tip()
    beta.granted("b.txt")
    alpha.sync()
    set_ledger(scene.hub, old)
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert (caught.value.kind, caught.value.data["restored_by"]) == (Kind.UNKNOWN, "alpha")
    beta.sync()
    assert beta.holdings() == {"b.txt": "beta"}
    scene.clock.steady += 600
    assert alpha.granted("a.txt").is_confirmed is True


def test_a_host_that_refuses_the_ledger_it_lost_is_told_apart(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    old = scene.hub_tip()
    alpha.granted("a.txt")
    set_ledger(scene.hub, old)
    assert alpha.remote is not None
    alpha.remote.refuse = "pre-receive hook declined"
    with pytest.raises(CoordError) as caught:
        alpha.sync()
    why = "it refuses our refs: pre-receive hook declined"
    said = f"origin lacks a part of the ledger that this clone knows ({why}): what is free cannot be told"
    assert trouble(caught.value) == ("unknown", said)
    assert alpha.holdings() == {"a.txt": "alpha"}


@pytest.mark.parametrize("tip", ["older", None])
def test_a_live_ref_that_went_back_or_vanished_is_put_forward_and_said(local: Scene, tip: str | None) -> None:
    (alpha,) = local.joined("alpha")
    old = alpha.tip()
    alpha.granted("a.txt")
    before = alpha.tip()
    set_ledger(alpha.store, old if tip else None)
    assert alpha.holdings() == {"a.txt": "alpha"}
    assert alpha.tip() == before
    what = f"had gone back to {str(old)[:10]}" if tip else "had vanished"
    assert alpha.forward() == [f"the local ledger {what}; put forward again to {str(before)[:10]}"]


def test_a_live_ref_that_somebody_moved_ahead_is_verified_and_taken(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    alpha.store.copy_objects(scene.hub)
    set_ledger(alpha.store, scene.hub_tip())
    assert alpha.holdings() == {"a.txt": "beta"}
    assert alpha.store.refs(SEEN)[SEEN] == scene.hub_tip()


def test_a_forged_commit_stops_adoption_at_the_last_good_one(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    good = beta.head()
    bad = forged(scene.hub, good)
    set_ledger(scene.hub, bad)
    with pytest.raises(CoordError) as caught:
        alpha.sync()
    reason = "claim of beta cannot be placed: seq 2 is not above beta's last, 2"
    assert trouble(caught.value) == ("untrusted", f"refused to adopt the ledger: commit {bad[:10]}: {reason}")
    assert caught.value.data == {"commit": bad, "reason": reason, "kept": good.oid}
    assert (alpha.tip(), alpha.holdings()) == (good.oid, {"a.txt": "beta"})


def test_a_claim_on_a_forged_ledger_is_not_granted_and_leaves_nothing(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    set_ledger(scene.hub, forged(scene.hub, beta.head()))
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert caught.value.kind is Kind.UNTRUSTED
    assert alpha.holdings() == {}
    assert repair(alpha.coord()) is not None
    alpha.sync()
    beta.sync()
    assert (alpha.holdings(), beta.granted("a.txt").is_confirmed) == ({}, True)


def test_a_fresh_clone_misses_a_head_that_somebody_signed(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    old = scene.hub_tip()
    beta.granted("a.txt")
    named = beta.tip()
    beta.granted("b.txt")
    set_ledger(scene.hub, old)
    fresh = scene.desk("gamma")
    with pytest.raises(CoordError) as caught:
        fresh.init()
    assert trouble(caught.value) == (
        "untrusted",
        f"the ledger has gone back: beta signed that it contained {str(named)[:10]}",
    )
    assert caught.value.data == {"agent": "beta", "head": named}
    assert fresh.tip() is None
    # Whoever saw more puts it right.
    beta.sync()
    fresh.init()
    assert fresh.holdings() == {"a.txt": "beta", "b.txt": "beta"}
    assert alpha.tip() == old


def test_a_fresh_clone_stops_at_a_forged_commit_and_names_it(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    bad = forged(scene.hub, beta.head())
    set_ledger(scene.hub, bad)
    with pytest.raises(CoordError) as caught:
        scene.desk("gamma").init()
    assert caught.value.data["commit"] == bad
    assert alpha.tip() != bad


def test_a_pinned_ledger_is_the_only_one_adopted(scene: Scene) -> None:
    scene.joined("alpha")
    root = scene.hub.history(scene.hub_tip() or Oid(""), None)[0]
    repo = "00000000-0000-4000-8000-000000000001"
    cases: dict[str, dict[str, str]] = {
        "the ledger begins at": {"pinned_root": Oid("1" * 40)},
        "the ledger is": {"pinned_repo": "00000000-0000-4000-8000-00000000000f"},
    }
    for words, pins in cases.items():
        other = scene.desk(f"beta{len(words)}")
        other.settings = Settings(**pins)  # type: ignore[arg-type]
        with pytest.raises(CoordError) as caught:
            other.init()
        assert (caught.value.kind, caught.value.message.startswith(words)) == (Kind.UNTRUSTED, True)
        assert other.tip() is None
    fits = scene.desk("gamma")
    fits.settings = fits.settings._replace(pinned_root=root, pinned_repo=repo)
    fits.init()
    assert "gamma" in {str(agent) for agent in fits.state().agents}


def test_half_a_remote_is_healed_whatever_half_is_left(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    beta.sync()
    alpha.sync()
    whole = scene.hub.refs("refs/")
    families = sorted({ref.split("/")[2] for ref in whole})
    for bits in range(1 << len(families)):
        kept = {family for i, family in enumerate(families) if bits >> i & 1}
        set_refs(scene.hub, {ref: oid for ref, oid in whole.items() if ref.split("/")[2] in kept})
        alpha.sync()
        beta.sync()
        assert beta.holdings() == {"a.txt": "alpha"}
        set_refs(scene.hub, whole)
        alpha.sync()


def test_another_hub_with_another_ledger_is_never_mixed_in(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    before = alpha.tip()
    elsewhere = MemoryStore()
    stranger = scene.desk("stranger")
    stranger.remote = MemoryRemote(elsewhere, stranger.store)
    scene.clock.sleep(1)
    stranger.init()
    alpha.remote = MemoryRemote(elsewhere, alpha.store)
    with pytest.raises(CoordError) as caught:
        alpha.sync()
    assert caught.value.kind is Kind.UNTRUSTED
    assert alpha.tip() == before
    assert ops(alpha) == 3
