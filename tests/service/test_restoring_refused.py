"""What was refused before a loss, and told so, is not granted by being placed again."""

from __future__ import annotations

from tests.service.scene import Scene
from tests.service.tampering import set_ledger


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
