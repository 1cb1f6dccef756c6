"""How often a host is asked: once when it declines, three times when it may be busy, not at all without need."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, again, trouble

from git_coord.errors import CoordError
from git_coord.service.claims import ClaimGranted
from git_coord.service.ledger import view
from git_coord.store.memory import MemoryRemote
from git_coord.store.refnames import LEDGER


def remote_of(desk: Desk) -> MemoryRemote:
    assert desk.remote is not None
    return desk.remote


def away(desk: Desk, is_away: bool = True) -> None:
    remote_of(desk).offline = is_away


def pending(desk: Desk) -> set[str]:
    """Return the paths that this clone holds unconfirmed."""
    state, unconfirmed = view(desk.coord())
    return {item.name for nonce in unconfirmed for _, item in state.claims[nonce].live()}


def test_a_host_that_declines_is_asked_once_and_quoted(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    remote = remote_of(alpha)
    remote.refuse = "pre-receive hook declined"
    before, pushes = scene.hub.refs("refs/coord/"), remote.pushes
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert trouble(caught.value) == ("unknown", "origin refuses our refs: pre-receive hook declined")
    assert caught.value.data["reason"] == "pre-receive hook declined"
    assert (remote.pushes - pushes, scene.hub.refs("refs/coord/")) == (1, before)
    remote.refuse = ""
    alpha.sync()
    assert alpha.holdings() == {}
    assert beta.granted("a.txt").is_confirmed is True


def test_a_sync_that_the_host_declines_asks_once(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    away(alpha)
    alpha.granted("a.txt", coord=alpha.coord(offline="allow"))
    away(alpha, False)
    remote = remote_of(alpha)
    remote.refuse, pushes = "pre-receive hook declined", remote.pushes
    with pytest.raises(CoordError) as caught:
        alpha.sync()
    assert trouble(caught.value) == ("unknown", "origin refuses our refs: pre-receive hook declined")
    assert remote.pushes - pushes == 1
    assert pending(alpha) == {"a.txt"}


def test_a_refusal_that_may_be_a_lock_is_tried_three_times(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    remote = remote_of(alpha)
    remote.refuse, pushes = "failed to update ref", remote.pushes
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert trouble(caught.value) == ("unknown", "origin refuses our refs: failed to update ref")
    assert remote.pushes - pushes == 3


def test_a_brief_lock_at_the_host_goes_unnoticed(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    remote = remote_of(alpha)
    remote.refuse = "failed to update ref"
    coord = alpha.coord()

    def mend(name: str) -> None:
        if name == "after push":
            remote.refuse = ""

    coord.reach = mend
    assert isinstance(alpha.claim("a.txt", coord=coord), ClaimGranted)


def test_pushing_costs_one_push_and_no_fetch_when_nobody_is_in_the_way(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    remote = remote_of(alpha)
    pushes, fetches = remote.pushes, remote.fetches
    alpha.granted("a.txt")
    assert (remote.pushes - pushes, remote.fetches - fetches) == (1, 0)


def test_nothing_to_do_costs_a_sync_one_fetch(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.sync()
    remote = remote_of(alpha)
    pushes, fetches = remote.pushes, remote.fetches
    alpha.sync()
    assert (remote.pushes - pushes, remote.fetches - fetches) == (0, 1)


def test_a_second_clone_of_an_agent_syncs_whatever_the_first_has_pushed(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    second = scene.desk("alpha", clone="second")
    second.sync()
    again(alpha).sync()
    second.sync()
    assert second.tip() == scene.hub.refs(LEDGER)[LEDGER]
