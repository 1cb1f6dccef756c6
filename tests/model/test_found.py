"""What the machines found, small enough to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_coord.errors import CoordError, Kind
from git_coord.service import claims, membership
from git_coord.service.claims import Changed
from git_coord.service.remote_ledger import own_updates
from git_coord.service.repair import repair
from git_coord.service.selection import by_token
from tests.service.scene import Desk, Scene, again
from tests.service.tampering import forged, set_ledger

from .world import KilledError, kill, set_refs, stepping


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def two_clones(scene: Scene) -> tuple[Desk, Desk]:
    """Return alpha with its policy key, and alpha in another clone."""
    (first,) = scene.joined("alpha")
    second = scene.desk("alpha", clone="second")
    second.sync()
    return first, second


def test_a_break_whose_number_another_clone_used_is_published_again(scene: Scene) -> None:
    first, second = two_clones(scene)
    admins = (scene.signer("policy").key,)
    membership.set_policy(first.coord(), membership.PolicyChange(admins=admins))
    first.policy_signer = lambda: scene.signer("policy")
    token = first.granted("a.txt").claim.token
    second.sync()
    second.granted("b.txt")
    coord = first.coord()
    done = claims.break_claims(coord, by_token(coord.known.state, [token], None), "")
    assert isinstance(done, Changed)
    assert first.holdings() == {"b.txt": "alpha"}


def test_a_claim_behind_a_pending_rotation_says_which_key_is_missing(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    coord = stepping(alpha, alpha.coord(), "after publish", kill)
    with pytest.raises(KilledError):
        membership.rotate(coord, scene.signer("next"))
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert (caught.value.kind, caught.value.message) == (
        Kind.ERROR,
        "claim of alpha cannot be placed: it is not signed by alpha's key",
    )
    renewed = again(alpha, signer=scene.signer("next"))
    renewed.sync()
    assert renewed.granted("a.txt").is_confirmed is True


def test_a_second_repair_does_not_call_lost_what_the_first_has_placed_again(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    old = scene.hub.refs("refs/")
    alpha.granted("a.txt")
    beta.sync()
    set_refs(scene.hub, old)
    gamma.granted("g.txt")
    set_ledger(scene.hub, forged(scene.hub, gamma.head()))
    first, second = repair(alpha.coord()), repair(beta.coord())
    assert first is not None
    assert [sealed.op.KIND for sealed in first.replayed] == ["claim"]
    assert second is None
    assert (alpha.lost(), beta.lost()) == ([], [])
    assert beta.holdings() == {"a.txt": "alpha", "g.txt": "gamma"}


def test_an_offline_claim_that_another_clone_of_the_agent_overtook_is_said_to_be_lost(scene: Scene) -> None:
    first, second = two_clones(scene)
    assert first.remote is not None
    first.remote.offline = True
    assert first.granted("a.txt", coord=first.coord(offline="allow")).is_confirmed is False
    second.granted("b.txt")
    first.remote.offline = False
    first.forward()
    first.sync()
    assert first.holdings() == {"b.txt": "alpha"}
    assert first.forward() == ["lost: a claim of alpha that was pending: another clone of alpha has used its number"]
    first.sync()
    assert first.forward() == []


def test_what_was_signed_by_a_clock_ahead_is_said_when_the_next_operation_overtakes_it(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    assert alpha.remote is not None
    alpha.remote.offline = True
    alpha.clock.wall += 3600
    alpha.granted("a.txt", coord=alpha.coord(offline="allow"))
    alpha.clock.wall -= 3600
    alpha.remote.offline = False
    alpha.sync()
    assert (alpha.holdings(), alpha.forward()) == ({}, [])
    alpha.granted("b.txt")
    words = "lost: a claim of alpha that was pending: dated 2026-01-01T01:00:00Z"
    assert (alpha.holdings(), alpha.forward()) == ({"b.txt": "alpha"}, [words])
    alpha.clock.wall += 7200
    alpha.sync()
    assert alpha.holdings() == {"b.txt": "alpha"}


def test_a_lost_claim_is_said_by_a_claim_that_is_refused_itself(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("b.txt")
    alpha.sync()
    remote = alpha.remote
    assert remote is not None
    remote.offline = True
    alpha.granted("a.txt", coord=alpha.coord(offline="allow"))
    remote.offline = False
    remote.push(own_updates(alpha.coord()))
    beta.clock.sleep(1)
    # Beta holds a.txt before it sees what alpha has published.
    beta.granted("a.txt")
    alpha.forward()
    beta.sync()
    assert alpha.refused("b.txt") == [("b.txt", "beta", "b.txt")]
    assert alpha.forward() == ["lost: alpha's claim on a.txt was refused, beta holds a.txt"]


def test_a_sync_that_fails_after_it_learned_of_a_loss_says_so(scene: Scene) -> None:
    first, second = two_clones(scene)
    remote = first.remote
    assert remote is not None
    remote.offline = True
    first.granted("a.txt", coord=first.coord(offline="allow"))
    first.granted("c.txt", coord=first.coord(offline="allow"))
    second.granted("b.txt")
    remote.offline, remote.refuse = False, "pre-receive hook declined"
    first.forward()
    with pytest.raises(CoordError) as caught:
        first.sync()
    assert caught.value.kind is Kind.UNKNOWN
    assert first.forward() == ["lost: a claim of alpha that was pending: another clone of alpha has used its number"]
