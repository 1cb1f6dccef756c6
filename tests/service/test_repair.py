"""`doctor --repair-ledger`: what is kept, placed again, lost and dropped."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, trouble
from tests.service.tampering import forged, set_ledger, set_refs

from git_coord.domain.merkle import hash_object
from git_coord.errors import CoordError, Kind
from git_coord.service.repair import Repaired, repair


def test_repair_drops_a_forged_end_and_all_go_on(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    good = beta.head()
    bad = forged(scene.hub, good)
    set_ledger(scene.hub, bad)
    with pytest.raises(CoordError):
        alpha.sync()
    reason = "claim of beta cannot be placed: seq 2 is not above beta's last, 2"
    assert repair(alpha.coord()) == Repaired(good.oid, reason, (), (), (bad,))
    assert scene.hub_tip() == good.oid
    assert alpha.granted("b.txt").is_confirmed is True
    beta.sync()
    assert beta.holdings() == {"a.txt": "beta", "b.txt": "alpha"}
    assert repair(alpha.coord()) is None


def diverged(scene: Scene) -> tuple[Desk, Desk]:
    """Return alpha, who verified claims that the hub then lost, and beta, whose claim there has a bad commit on it."""
    alpha, beta = scene.joined("alpha", "beta")
    old = scene.hub.refs("refs/")
    alpha.granted("a.txt", "both.txt")
    alpha.granted("a2.txt")
    set_refs(scene.hub, old)
    beta.granted("both.txt")
    set_ledger(scene.hub, forged(scene.hub, beta.head()))
    return alpha, beta


def test_a_diverged_ledger_that_does_not_verify_is_refused_and_names_what_is_bad(scene: Scene) -> None:
    alpha, _ = diverged(scene)
    kept, there = alpha.tip(), scene.hub_tip()
    with pytest.raises(CoordError) as caught:
        alpha.sync()
    assert trouble(caught.value)[0] == "untrusted"
    assert trouble(caught.value)[1].startswith(f"refused to adopt the ledger: commit {str(there)[:10]}: ")
    assert caught.value.next == "git coord doctor --repair-ledger"
    assert (alpha.tip(), scene.hub_tip()) == (kept, there)


def test_repair_of_a_diverged_ledger_replays_ours_and_reports_what_is_refused_or_lost(scene: Scene) -> None:
    alpha, beta = diverged(scene)
    done = repair(alpha.coord())
    assert done is not None
    assert [(s.op.KIND, s.op.seq) for s in done.replayed] == [("claim", 2), ("claim", 3)]
    assert done.fault is not None
    assert done.lost == ()
    # Placed again behind beta's, the first of them was refused: it is in the ledger, and nobody holds both.txt twice.
    assert alpha.holdings() == {"both.txt": "beta", "a2.txt": "alpha"}
    beta.sync()
    assert beta.holdings() == alpha.holdings()
    assert len(done.void) == 3
    assert alpha.granted("more.txt").is_confirmed is True


def test_repair_reports_an_operation_that_cannot_be_placed_again_as_lost(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    old = scene.hub.refs("refs/")
    beta = scene.desk("beta")
    beta.init()
    beta.granted("a.txt")
    alpha.sync()
    set_refs(scene.hub, old)
    other = scene.desk("beta", clone="other", key="another")
    other.init()
    set_ledger(scene.hub, forged(scene.hub, other.head()))
    done = repair(alpha.coord())
    assert done is not None
    assert [(s.op.KIND, s.op.agent) for s in done.lost] == [("join", "beta"), ("claim", "beta")]
    assert alpha.holdings() == {}


@pytest.mark.parametrize("with_hub", [True, False])
def test_repair_puts_a_bad_live_ref_back(scene: Scene, local: Scene, with_hub: bool) -> None:
    (alpha,) = (scene if with_hub else local).joined("alpha")
    alpha.granted("a.txt")
    good = alpha.head()
    bad = forged(alpha.store, good)
    set_ledger(alpha.store, bad)
    with pytest.raises(CoordError) as caught:
        alpha.holdings()
    assert caught.value.kind is Kind.UNTRUSTED
    done = repair(alpha.coord(opened=False))
    assert done is not None
    assert (done.head, done.void) == (good.oid, (bad,))
    assert alpha.granted("b.txt").is_confirmed is True
    assert alpha.holdings() == {"a.txt": "alpha", "b.txt": "alpha"}


def test_repair_puts_a_live_ref_back_that_is_no_ledger_at_all(local: Scene) -> None:
    (alpha,) = local.joined("alpha")
    good = alpha.tip()
    blob = hash_object("blob", b"nonsense", "sha1")
    alpha.store.write([blob])
    set_ledger(alpha.store, blob.oid)
    with pytest.raises(CoordError) as caught:
        alpha.holdings()
    assert caught.value.kind is Kind.UNTRUSTED
    done = repair(alpha.coord(opened=False))
    assert done is not None
    assert (done.head, alpha.tip()) == (good, good)
