"""A remote that is away, drops its answer, refuses by policy, or is busy: what is told, and what is left behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.service.scene import Desk, Scene, item, selected, trouble

from git_coord.domain.ledger import Refusal
from git_coord.errors import CoordError, Kind
from git_coord.service import claims
from git_coord.service.claims import ClaimRefused
from git_coord.service.ledger import view
from git_coord.service.query import check
from git_coord.service.remote_ledger import own_updates
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, PushedRef, RefUpdate, Swap
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refnames import FETCHED_LEDGER, LEDGER, SEEN, Family


def remote_of(desk: Desk) -> MemoryRemote:
    assert desk.remote is not None
    return desk.remote


def away(desk: Desk, is_away: bool = True) -> None:
    remote_of(desk).offline = is_away


def pending(desk: Desk) -> set[str]:
    """Return the paths that this clone holds unconfirmed."""
    state, unconfirmed = view(desk.coord())
    return {item.name for nonce in unconfirmed for _, item in state.claims[nonce].live()}


def test_a_claim_without_an_answer_is_cancelled_and_nothing_is_held_after_the_next_sync(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    away(alpha)
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert trouble(caught.value) == ("unknown", "no answer from origin")
    assert "may still be granted" in caught.value.message
    assert pending(alpha) == set()
    away(alpha, False)
    alpha.sync()
    assert (alpha.holdings(), pending(alpha)) == ({}, set())
    assert beta.granted("a.txt").is_confirmed is True


def test_a_claim_that_landed_unseen_is_freed_by_its_cancel(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    remote = remote_of(alpha)
    coord = alpha.coord()

    def cut(name: str) -> None:
        # The push takes effect; nothing after it is heard.
        if name == "before push":
            coord.remote = _Silent(remote)

    coord.reach = cut
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt", coord=coord)
    assert caught.value.kind is Kind.UNKNOWN
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}
    alpha.sync()
    assert alpha.holdings() == {}
    assert beta.granted("a.txt").claim.token == 2


class _Silent(MemoryRemote):
    """Takes one push, and never answers again."""

    def __init__(self, below: MemoryRemote) -> None:
        super().__init__(below.hub, below.store)
        self.drop_answer = True

    def push(self, updates: Sequence[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        try:
            return super().push(updates, record=record)
        finally:
            self.offline = True


def test_a_push_whose_answer_was_lost_is_found_granted(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    remote_of(alpha).drop_answer = True
    assert alpha.granted("a.txt").is_confirmed is True
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}


def test_an_offline_claim_is_unconfirmed_until_a_sync_confirms_it(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    away(alpha)
    alpha.settings = alpha.settings._replace(offline="allow")
    assert alpha.granted("a.txt").is_confirmed is False
    assert (pending(alpha), alpha.holdings()) == ({"a.txt"}, {})
    (answer,) = check(alpha.coord(), [item("a.txt")])
    assert (answer.status, answer.held and answer.held.is_confirmed) == ("mine", False)
    away(alpha, False)
    done = alpha.sync()
    assert [placed.sealed.op.KIND for placed in done.placed] == ["claim"]
    assert (alpha.lost(), pending(alpha), alpha.holdings()) == ([], set(), {"a.txt": "alpha"})
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}


def test_an_offline_claim_that_somebody_else_was_granted_is_reported_lost(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    away(alpha)
    alpha.settings = alpha.settings._replace(offline="allow")
    alpha.granted("a.txt")
    beta.granted("a.txt")
    away(alpha, False)
    done = alpha.sync()
    assert [placed.sealed.op.KIND for placed in done.placed] == ["claim"]
    (lost,) = alpha.lost()
    assert (lost.reason, lost.holder, lost.token) == (Refusal.CONFLICT.value, "beta", 1)
    assert alpha.lost() == []
    assert alpha.holdings() == {"a.txt": "beta"}


def test_an_offline_claim_against_the_known_picture_is_refused_and_leaves_nothing(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    alpha.sync()
    away(alpha)
    alpha.settings = alpha.settings._replace(offline="allow")
    assert alpha.refused("a.txt") == [("a.txt", "beta", "a.txt")]
    away(alpha, False)
    before = alpha.state().counters.ops
    alpha.sync()
    assert alpha.state().counters.ops == before


def test_where_offline_is_allowed_an_answering_remote_still_has_the_last_word(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    alpha.sync()
    beta.release("a.txt")
    alpha.settings = alpha.settings._replace(offline="allow")
    assert alpha.granted("a.txt").is_confirmed is True


def test_a_lost_offline_claim_is_said_by_whichever_command_learns_it(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    away(alpha)
    alpha.settings = alpha.settings._replace(offline="allow")
    alpha.granted("a.txt")
    beta.granted("a.txt")
    away(alpha, False)
    alpha.forward()
    assert alpha.granted("b.txt").is_confirmed is True
    assert alpha.forward() == ["lost: alpha's claim on a.txt was refused, beta holds a.txt"]
    alpha.sync()
    assert alpha.lost() == []


def test_a_release_without_an_answer_is_pending_and_carried_out_by_the_next_sync(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    away(alpha)
    assert alpha.release("a.txt").is_confirmed is False
    assert alpha.forward() == ["pending: no answer from origin; the next sync carries it out"]
    away(alpha, False)
    alpha.sync()
    beta.sync()
    assert (alpha.holdings(), beta.holdings()) == ({}, {})
    assert beta.granted("a.txt").is_confirmed is True
    alpha.sync()
    assert alpha.holdings() == {"a.txt": "beta"}


def test_a_renewal_replaces_one_that_is_pending_and_nothing_is_said_to_be_lost(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    claim = alpha.granted("a.txt").claim

    def renew() -> bool:
        coord = alpha.coord()
        return claims.renew(coord, selected(coord, "a.txt"), None, {claim.op: claim.pins}, None).is_confirmed

    away(alpha)
    assert not renew()
    assert alpha.forward() == ["pending: no answer from origin; the next sync carries it out"]
    away(alpha, False)
    scene.clock.sleep(5)
    before = alpha.state().counters.ops
    assert renew()
    assert (alpha.forward(), alpha.state().counters.ops) == ([], before + 1)
    assert alpha.state().claims[claim.op].renewed == scene.clock.now()


def test_a_claim_placed_by_a_pending_request_of_another_is_refused_for_good(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    # Beta's request reaches the hub, but its ledger does not.
    _publish_only(beta, "a.txt")
    alpha.sync()
    result = alpha.claim("a.txt")
    assert isinstance(result, ClaimRefused)
    assert [(c.asked.name, c.claim.holder) for c in result.conflicts] == [("a.txt", "beta")]
    beta.sync()
    assert beta.holdings() == {"a.txt": "beta"}


def _publish_only(desk: Desk, *names: str) -> None:
    """Publish a claim whose request ref is pushed and whose ledger commit is not."""
    away(desk)
    desk.granted(*names, coord=desk.coord(offline="allow"))
    away(desk, False)
    coord = desk.coord()
    assert coord.remote is not None
    coord.remote.push(own_updates(coord))


def test_a_conflict_seen_locally_is_final_only_after_a_fetch(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    alpha.sync()
    beta.release("a.txt")
    assert alpha.granted("a.txt").is_confirmed is True


def test_a_conflict_seen_locally_without_an_answer_is_unknown(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    alpha.sync()
    away(alpha)
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert trouble(caught.value) == ("unknown", "no answer from origin")


def test_a_claim_too_old_to_be_placed_is_refused_as_late(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    away(alpha)
    coord = alpha.coord()

    def die(name: str) -> None:
        if name == "before push":
            raise _KilledError

    coord.reach = die
    with pytest.raises(_KilledError):
        alpha.claim("a.txt", coord=coord)
    alpha.clock.sleep(700)
    beta.granted("b.txt")
    away(alpha, False)
    alpha.sync()
    (lost,) = alpha.lost()
    assert (lost.reason, alpha.holdings()) == (Refusal.LATE.value, {"b.txt": "beta"})


class _KilledError(Exception):
    """Nothing of ours catches it: as good as a kill."""


class _Swaps(MemoryStore):
    """Notes which refs each swap moves, and lets a test move some first."""

    def __init__(self, below: MemoryStore) -> None:
        self.__dict__ = below.__dict__
        self.seen: list[set[str]] = []
        self.first: Callable[[], object] = lambda: None

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:
        if len(updates) > 1:
            self.first()
            self.first = lambda: None
        self.seen.append({update.ref for update in updates})
        return super().swap(updates, reason)


def test_what_the_remote_confirmed_is_taken_in_one_transaction(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    store = _Swaps(alpha.store)
    assert alpha.granted("a.txt", coord=alpha.coord(below=store)).is_confirmed is True
    mine = refnames.owned(Family.REQUESTS, alpha.agent)
    copies = {FETCHED_LEDGER, refnames.fetched(mine)}
    assert store.seen == [{mine}, {LEDGER, SEEN, *copies}]
    assert len(set(alpha.store.refs(LEDGER, SEEN, FETCHED_LEDGER).values())) == 1


def test_a_copy_that_somebody_else_moved_does_not_keep_the_ledger_back(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    store = _Swaps(alpha.store)
    other = refnames.fetched(refnames.owned(Family.REQUESTS, alpha.agent))
    store.first = lambda: alpha.store._set(other, ABSENT)
    assert alpha.granted("a.txt", coord=alpha.coord(below=store)).is_confirmed is True
    tips = alpha.store.refs(LEDGER, SEEN, FETCHED_LEDGER)
    assert (len(tips), set(tips.values())) == (3, {scene.hub_tip()})
