"""Coming back: what was at risk and why, what others ended; nothing is stolen and nothing broken."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, again, step
from tests.service.test_takeover import SKEW, TTL, take, wait

from git_coord.domain.ids import Session
from git_coord.errors import CoordError, Kind
from git_coord.service.rejoin import Rejoined, rejoin
from git_coord.service.selection import Selection


def back(desk: Desk, session: str = "tomorrow") -> Rejoined:
    """Come back in another session, files as they were."""
    return rejoin(again(desk, session=Session(session)).coord(opened=False), _pins)


def _pins(chosen: Selection) -> dict[object, object]:
    return {claim.op: claim.pins for claim, _ in chosen.claims}


def risks(done: Rejoined) -> list[list[str]]:
    """Return why each claim was at risk."""
    return [[risk.kind for risk in found.risks] for found in done.found]


def test_what_is_well_is_intact_and_held_by_the_new_session(team: list[Desk]) -> None:
    alpha = team[0]
    alpha.granted("a.txt", ttl=TTL)
    wait(alpha, 60)
    done = back(alpha)
    assert (risks(done), done.lost, done.is_confirmed) == ([[]], [], True)
    assert done.found[0].held.claim.renewed == alpha.clock.now()
    with pytest.raises(CoordError) as caught:
        alpha.granted("b.txt")
    assert caught.value.kind is Kind.LOST


def test_a_lease_that_was_nearly_over_or_over_was_at_risk_and_begins_anew(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt", ttl=TTL)
    wait(alpha, TTL - 100)
    assert risks(back(alpha)) == [["lease"]]
    wait(alpha, TTL + SKEW + 1)
    done = back(alpha, "later")
    assert risks(done) == [["lease", "takeover"]]
    assert done.found[0].held.lease_until == alpha.clock.now() + TTL


def test_what_was_taken_over_is_lost_and_not_taken_back(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=TTL)
    alpha.granted("b.txt", ttl=4 * TTL)
    with pytest.raises(CoordError):
        take(beta, "a.txt")  # begins to watch
    wait(beta, 1000)
    take(beta, "a.txt", reason="silent")
    elsewhere = again(alpha, files=alpha.files._replace(common=alpha.files.common + "-other"))  # remembers nothing
    done = back(elsewhere)
    assert [(gone.token, gone.ended.kind, gone.ended.by, gone.ended.reason) for gone in done.lost] == [
        (1, "takeover", "beta", "silent")
    ]
    assert [found.held.claim.token for found in done.found] == [2]
    step(beta)
    assert beta.holdings() == {"a.txt": "beta", "b.txt": "alpha"}


def test_who_holds_nothing_only_shows_itself(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("b.txt")
    done = back(alpha)
    assert (done.found, done.lost, done.posts) == ([], [], [])
    seen = {ref.rpartition("/")[2] for ref in scene.hub.refs("refs/coord/presence/")}
    assert "alpha" in seen


def test_without_an_answer_nothing_is_said_to_be_intact(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    assert alpha.remote is not None
    alpha.remote.offline = True
    with pytest.raises(CoordError) as caught:
        back(alpha)
    assert caught.value.kind is Kind.UNKNOWN
