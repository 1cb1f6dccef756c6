"""Claims that are cancelled, interrupted, raced by their own agent, or deceived: each is held as it says, or not."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, again, beside, item, step, trouble, wanted

from git_coord.domain.ids import Session
from git_coord.errors import CoordError, Kind
from git_coord.service import claims
from git_coord.service.claims import ClaimGranted
from git_coord.service.requests import Request, read_requests


def test_a_cancel_frees_what_became_of_a_claim_and_restores_nothing(team: list[Desk]) -> None:
    alpha, beta, _ = team
    alpha.granted("a.txt")
    coord = alpha.coord()
    replacing = claims.claim(coord, wanted("a.txt", "b.txt"))
    assert isinstance(replacing, ClaimGranted)
    claims.cancel(coord, replacing.claim.op)
    step(alpha, beta)
    assert beta.holdings() == {}


def test_an_interrupted_claim_takes_itself_back_and_nobody_elses(team: list[Desk]) -> None:
    alpha, beta, _ = team
    kept = alpha.granted("kept.txt")
    coord = alpha.coord()
    sleepy = again(alpha)

    def interrupt(name: str) -> None:
        if name == "after publish":
            # Another process of the same agent is at it too.
            sleepy.granted("other.txt")
            raise KeyboardInterrupt

    coord.reach = interrupt
    with pytest.raises(KeyboardInterrupt):
        claims.claim(coord, wanted("a.txt"))
    step(alpha, beta)
    assert beta.holdings() == {"kept.txt": "alpha", "other.txt": "alpha"}
    assert kept.claim.op in beta.state().claims


def test_an_interrupt_before_publishing_leaves_nothing_held(team: list[Desk]) -> None:
    alpha = team[0]
    coord = alpha.coord()

    def interrupt(_name: str) -> None:
        coord.reach = lambda _name: None
        raise KeyboardInterrupt

    coord.reach = interrupt
    with pytest.raises(KeyboardInterrupt):
        claims.claim(coord, wanted("a.txt"))
    assert alpha.holdings() == {}
    step(alpha)
    assert alpha.holdings() == {}


class _Dead:
    """A signer that gives no answer."""

    def __init__(self, desk: Desk) -> None:
        self.key = desk.signer.key

    def sign(self, message: bytes, namespace: str) -> bytes:
        raise CoordError(Kind.ERROR, "cannot sign with key file k: no answer")


def test_a_signer_that_fails_leaves_no_half_written_claim(team: list[Desk]) -> None:
    alpha = team[0]
    before = alpha.store.refs("refs/coord/")
    with pytest.raises(CoordError) as caught:
        again(alpha, signer=_Dead(alpha)).claim("a.txt")
    assert trouble(caught.value) == ("error", "cannot sign with key file k: no answer")
    assert alpha.store.refs("refs/coord/") == before


def test_agents_beside_each_other_in_one_clone_conflict_as_anybody(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    neighbour = beside(alpha, "neighbour")
    neighbour.init()
    alpha.granted("a.txt")
    assert neighbour.refused("a.txt") == [("a.txt", "alpha", "a.txt")]


def test_two_processes_of_one_agent_draw_different_numbers(team: list[Desk]) -> None:
    alpha, beta, _ = team
    first, second = alpha.coord(), alpha.coord()
    assert isinstance(alpha.claim("a.txt", coord=first), ClaimGranted)
    assert isinstance(alpha.claim("b.txt", coord=second), ClaimGranted)
    step(alpha, beta)
    assert beta.holdings() == {"a.txt": "alpha", "b.txt": "alpha"}


def test_an_operation_that_another_process_of_the_clone_placed_is_found_done(team: list[Desk]) -> None:
    alpha = team[0]
    coord = alpha.coord()

    def help_first(name: str) -> None:
        if name == "after publish":
            coord.reach = lambda _name: None
            again(alpha).sync()

    # Force the slow way: another operation comes in between reading and swapping.
    again(alpha).granted("first.txt")
    coord.reach = help_first
    result = alpha.claim("a.txt", coord=coord)
    assert isinstance(result, ClaimGranted)
    assert result.is_confirmed is True
    assert alpha.holdings() == {"first.txt": "alpha", "a.txt": "alpha"}


def test_a_claim_under_a_copied_nonce_deceives_nobody(scene: Scene) -> None:
    alpha, mallory = scene.joined("alpha", "mallory")
    coord = alpha.coord()

    def copy(name: str) -> None:
        if name != "before push":
            return
        coord.reach = lambda _name: None
        (request,) = [r for r in _requests(alpha) if r.agent == "alpha"]
        nonce = next(sealed.op.nonce for sealed in request.operations.values() if sealed)
        forging = mallory.coord()
        forging.nonce = lambda: nonce
        claims.claim(forging, wanted("other.txt"))

    coord.reach = copy
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt", coord=coord)
    assert trouble(caught.value) == ("error", "refused: nonce in use")
    assert alpha.holdings() == {"other.txt": "mallory"}


def _requests(desk: Desk) -> list[Request]:
    return read_requests(desk.coord(), fetched=False)


def test_the_session_of_a_claim_is_checked_where_it_is_made(team: list[Desk]) -> None:
    alpha = team[0]
    with pytest.raises(CoordError) as caught:
        again(alpha, session=Session("second")).claim("a.txt")
    assert caught.value.kind is Kind.LOST
    assert item("a.txt").name not in alpha.holdings()
