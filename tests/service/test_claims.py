"""Claim, release, renew, break, cancel: all or nothing, in one repository and through a hub."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, selected, step, trouble, wanted

from git_coord.domain.ids import Oid
from git_coord.domain.statements import Stamp
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, membership
from git_coord.service.selection import by_token, everything


def test_a_claim_is_granted_with_a_growing_token(team: list[Desk]) -> None:
    alpha, beta, _ = team
    assert [alpha.granted("a.txt").claim.token, beta.granted("b.txt").claim.token] == [1, 2]
    step(alpha)
    assert alpha.holdings() == {"a.txt": "alpha", "b.txt": "beta"}


def test_a_claim_is_refused_whole_and_names_every_holder(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("src")
    beta.granted("b.txt")
    assert gamma.refused("free.txt", "src/x.py", "b.txt") == [
        ("src/x.py", "alpha", "src"),
        ("b.txt", "beta", "b.txt"),
    ]
    assert gamma.holdings() == {"src": "alpha", "b.txt": "beta"}


def test_a_refusal_seen_before_publishing_places_nothing(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.txt")
    step(beta)
    before = beta.state().counters.ops
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    assert beta.state().counters.ops == before


def test_readers_share_and_keep_editors_out(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    alpha.granted("a.txt", intent="read")
    beta.granted("a.txt", intent="read")
    assert gamma.refused("a.txt") == [("a.txt", "alpha", "a.txt"), ("a.txt", "beta", "a.txt")]


def test_what_is_released_is_free_for_others(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.txt")
    assert alpha.release("a.txt").is_confirmed is True
    assert beta.granted("a.txt").claim.token == 2


def test_a_part_is_released_and_the_rest_stays(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.txt", "b.txt", "c.txt")
    alpha.release("b.txt")
    assert alpha.holdings() == {"a.txt": "alpha", "c.txt": "alpha"}
    assert beta.granted("b.txt").claim.token == 2
    alpha.release("a.txt", "c.txt")
    step(beta)
    assert beta.holdings() == {"b.txt": "beta"}


def test_everything_is_released_at_once(team: list[Desk]) -> None:
    alpha = team[0]
    alpha.granted("a.txt")
    alpha.granted("b.txt")
    coord = alpha.coord()
    claims.release(coord, everything(coord.known.state, alpha.agent), "done")
    assert alpha.holdings() == {}


def test_what_is_not_held_cannot_be_released(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("src")
    step(beta)
    cases = {"src/x": "src/x is held by alpha (#1)", "b": "beta holds no claim on b"}
    for name, message in cases.items():
        with pytest.raises(CoordError) as caught:
            beta.release(name)
        assert trouble(caught.value) == ("lost", message)
    with pytest.raises(CoordError) as caught:
        alpha.release("src/x")
    assert trouble(caught.value) == ("lost", "src/x is held as part of src (#1)")


def test_a_release_that_comes_too_late_is_lost(team: list[Desk]) -> None:
    alpha, beta, _ = team
    beta.granted("a.txt")
    coord = beta.coord()
    late = selected(coord, "a.txt")
    step(alpha)
    breaking = alpha.coord()
    claims.break_claims(breaking, by_token(breaking.known.state, [1], None), "needed")
    with pytest.raises(CoordError) as caught:
        claims.release(coord, late, "")
    assert trouble(caught.value) == ("lost", "that is not held any more")


def test_claiming_again_draws_a_new_token_and_keeps_the_stamps(team: list[Desk]) -> None:
    alpha = team[0]
    stamps = (Stamp("ticket", "17"),)
    alpha.granted("a.txt", "b.txt", stamps=stamps)
    again_ = alpha.granted("a.txt").claim
    assert (again_.token, again_.stamps) == (2, stamps)
    assert sorted(c.token for c in alpha.state().claims.values()) == [1, 2]
    assert alpha.granted("a.txt", stamps=()).claim.stamps == ()


def test_an_agent_never_conflicts_with_itself(team: list[Desk]) -> None:
    alpha = team[0]
    alpha.granted("src")
    assert alpha.granted("src/x.py").claim.token == 2


def test_renewing_moves_lease_pins_and_stamps(team: list[Desk]) -> None:
    alpha = team[0]
    alpha.granted("a.txt")
    alpha.clock.sleep(1000)
    coord = alpha.coord()
    chosen, pin = selected(coord, "a.txt"), Oid("1" * 40)
    (claim, _), *_ = chosen.claims
    claims.renew(coord, chosen, ("long", 14400), {claim.op: (pin,)}, (Stamp("n", "v"),))
    (held,) = alpha.state().claims.values()
    assert (held.token, held.renewed, held.ttl, held.lease) == (1, alpha.clock.now(), 14400, "long")
    assert (held.pins, held.stamps) == ((pin,), (Stamp("n", "v"),))


def test_renewing_without_a_lease_keeps_each_claims_own(team: list[Desk]) -> None:
    alpha = team[0]
    alpha.granted("a.txt", ttl=600)
    alpha.granted("b.txt", ttl=900)
    alpha.clock.sleep(100)
    coord = alpha.coord()
    changed = claims.renew(coord, everything(coord.known.state, alpha.agent), None, {}, None)
    assert changed.is_confirmed is True
    assert sorted((c.ttl, c.renewed) for c in alpha.state().claims.values()) == [
        (600, alpha.clock.now()),
        (900, alpha.clock.now()),
    ]


def test_only_a_policy_key_breaks(team: list[Desk]) -> None:
    alpha, beta, gamma = team
    beta.granted("a.txt")
    step(alpha, gamma)
    for desk in (gamma, beta):
        coord = desk.coord()
        with pytest.raises(CoordError) as caught:
            claims.break_claims(coord, by_token(coord.known.state, [1], None), "mine now")
        assert trouble(caught.value) == ("lost", "the key here is not one of the policy's")
    coord = alpha.coord()
    changed = claims.break_claims(coord, by_token(coord.known.state, [1], None), "needed")
    assert [(c.before.holder if c.before else None, c.after) for c in changed.changes] == [("beta", None)]
    assert alpha.holdings() == {}


@pytest.mark.parametrize(("ttl", "message"), [(0, "0 s"), (-1, "-1 s"), (10**18, "1000000000000000000 s")])
def test_a_lease_out_of_bounds_is_refused_before_anything_is_published(
    team: list[Desk], ttl: int, message: str
) -> None:
    alpha = team[0]
    least = 1 if alpha.remote is None else 300
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt", ttl=ttl)
    assert trouble(caught.value) == ("usage", f"a lease of {message} is not between {least} s and 604800 s here")
    assert alpha.state().counters.ops == 4


def test_a_short_lease_is_for_repositories_without_a_remote(scene: Scene, local: Scene) -> None:
    (here,) = local.joined("alpha")
    assert here.granted("a.txt", ttl=1).claim.ttl == 1
    (there,) = scene.joined("alpha")
    with pytest.raises(CoordError) as caught:
        there.claim("a.txt", ttl=299)
    assert caught.value.kind is Kind.USAGE


def test_a_policy_that_shortened_leases_meanwhile_refuses(team: list[Desk]) -> None:
    alpha, beta, _ = team
    coord = beta.coord()
    membership.set_policy(alpha.coord(), membership.PolicyChange(max_lease=600))
    with pytest.raises(CoordError) as caught:
        claims.claim(coord, wanted("a.txt", ttl=7200))
    assert trouble(caught.value) == ("error", "refused: lease too long")
    assert beta.holdings() == {}


def test_what_nobody_would_read_again_is_never_signed_whoever_asks_for_it(team: list[Desk]) -> None:
    alpha, beta, _ = team
    many = [f"f{number}" for number in range(5001)]
    for asked in (["x" * 5000], ["a//b"], ["/a"], ["../a"], many):
        with pytest.raises(CoordError, match=r"^this claim cannot be made: ") as found:
            claims.claim(alpha.coord(), wanted(*asked))
        assert found.value.kind is Kind.USAGE
    assert alpha.granted("a.txt").claim.token == 1
    step(alpha, beta)
    assert beta.holdings() == {"a.txt": "alpha"}
