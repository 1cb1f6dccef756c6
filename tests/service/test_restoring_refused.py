"""What was refused before a loss, and told so, is not granted by being placed again."""

from __future__ import annotations

import pytest
from tests.service.scene import Scene, selected
from tests.service.tampering import set_ledger, set_refs
from tests.service.test_restoring import HOLD, claimed_offline, on_hold, wiped

from git_coord.domain.ids import Agent
from git_coord.errors import CoordError
from git_coord.service import handover


class KilledError(BaseException):
    """Nothing of ours catches it."""


def test_a_claim_that_the_hold_refused_is_not_granted_by_a_replay(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    on_hold(beta, "b.txt")
    on_hold(beta, "c.txt")
    set_ledger(scene.hub, gamma.head().oid)
    scene.clock.steady += HOLD
    for desk in (gamma, beta, alpha, beta):
        desk.sync()
    assert beta.holdings() == {"a.txt": "alpha"}


def test_a_claim_that_a_holder_refused_is_not_granted_by_a_replay(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.sync()
    alpha.granted("a.txt")
    before = alpha.head().oid
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    set_ledger(scene.hub, before)
    alpha.release("a.txt")
    beta.sync()
    assert beta.holdings() == {}


def test_a_kill_right_after_the_hold_refused_leaves_nothing_to_grant_but_until_its_author_syncs(scene: Scene) -> None:
    """The cancel was not made; a helper on the old ledger grants the claim, and its author gives it back at once."""
    alpha, beta, gamma = wiped(scene)
    coord = beta.coord()
    steps: list[str] = []

    def reach(name: str) -> None:
        steps.append(name)
        if steps.count("before publish") == 2:
            raise KilledError

    coord.reach = reach
    with pytest.raises(KilledError):
        beta.claim("b.txt", coord=coord)
    requests = scene.hub.refs("refs/coord/requests/beta")
    set_ledger(scene.hub, gamma.head().oid)
    set_refs(scene.hub, {**scene.hub.refs("refs/coord/"), **requests})
    scene.clock.steady += HOLD
    gamma.sync()
    for desk in (beta, alpha, gamma):
        desk.sync()
        assert desk.holdings() == {"a.txt": "alpha"}, desk.agent


def test_a_hand_over_that_the_hold_refused_is_not_done_by_a_replay(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    beta.granted("b.txt")
    for desk in (alpha, gamma, beta):
        desk.sync()
    gone = scene.hub.refs("refs/")
    alpha.granted("a.txt")
    set_refs(scene.hub, {})
    coord = beta.coord()
    with pytest.raises(CoordError) as caught:
        handover.hand_over(coord, selected(coord, "b.txt"), Agent("gamma"), "")
    assert "hold_until" in caught.value.data
    requests = scene.hub.refs("refs/coord/requests/beta")
    set_refs(scene.hub, {**gone, **requests})
    scene.clock.steady += HOLD
    for desk in (gamma, beta, alpha, beta):
        desk.sync()
    assert beta.holdings() == {"a.txt": "alpha", "b.txt": "beta"}


def test_what_a_holder_refused_and_a_helper_on_an_older_ledger_grants_is_given_back(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    for desk in (alpha, gamma):
        desk.sync()
    before = gamma.head().oid
    alpha.granted("a.txt")
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    requests = {ref: oid for ref, oid in scene.hub.refs("refs/coord/requests/").items() if ref.endswith("beta")}
    set_ledger(scene.hub, before)
    assert requests
    gamma.sync()
    for desk in (beta, alpha, beta, gamma):
        desk.sync()
    assert "beta" not in gamma.holdings().values()


def test_a_pending_claim_that_a_sync_has_refused_by_the_hold_is_not_granted_by_a_replay(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    claimed_offline(beta, "b.txt")
    beta.sync()
    assert [loss.reason for loss in beta.lost()] == ["restored"]
    set_ledger(scene.hub, gamma.head().oid)
    scene.clock.steady += HOLD
    for desk in (gamma, beta, alpha, beta):
        desk.sync()
        assert desk.holdings() == {"a.txt": "alpha"}
