"""Processes of one clone that adopt at the same time: each still learns what became of its own operations."""

from __future__ import annotations

from tests.service.scene import Scene, beside


def test_what_a_helper_placed_is_known_though_a_neighbour_adopts_it_first(scene: Scene) -> None:
    alpha, gamma = scene.joined("alpha", "gamma")
    alpha.sync()
    beta = beside(alpha, "beta")
    beta.init()
    alpha.granted("a.txt")
    gamma.sync()
    coord = alpha.coord()
    steps: list[str] = []

    def others(step: str) -> None:
        steps.append(step)
        if step == "before push" and steps.count(step) == 1:
            gamma.granted("other.txt")  # alpha's ledger push loses, its request lands
        elif step == "before push" and steps.count(step) == 2:
            gamma.granted("third.txt")  # places alpha's release on the way
        elif step == "before local move" and steps.count(step) == 2:
            beta.sync()  # adopts that in alpha's clone, while alpha is about to

    coord.reach = others
    assert [change.after for change in alpha.release("a.txt", coord=coord).changes] == [None]
    assert steps.count("after publish") == 1
    assert alpha.holdings() == {"other.txt": "gamma", "third.txt": "gamma"}
