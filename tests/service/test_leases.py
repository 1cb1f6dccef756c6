"""What a holder may rely on: by the last beat that arrived, until somebody took it, and said before it ends."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, selected, trouble

from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.guard import beats
from git_coord.service import claims, presence
from git_coord.service.beat import last_acknowledged
from git_coord.service.heartbeat import push_beat
from git_coord.service.leases import afterwards, alive, own_leases, remember
from git_coord.service.ledger import view
from git_coord.service.presence import Wish
from git_coord.service.query import picture
from git_coord.service.selection import by_token
from git_coord.service.snapshot import write_snapshot
from git_coord.service.superseded import MANY, MIN_AGE, clear_away, has_many
from git_coord.store import refnames
from git_coord.store.refnames import Family


def is_lost(desk: Desk) -> list[bool]:
    now = picture(desk.coord())
    return [now.is_lost(claim) for claim in now.state.held_by(desk.agent)]


def offline(desk: Desk, value: bool = True) -> None:
    assert desk.remote is not None
    desk.remote.offline = value


def broken(by: Desk, token: int, reason: str) -> None:
    coord = by.coord()
    claims.break_claims(coord, by_token(coord.known.state, [token], None), reason)


def test_a_claim_can_be_vouched_for_until_the_last_beat_that_arrived_is_too_old(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt", ttl=600)
    scene.clock.sleep(540)
    assert is_lost(alpha) == [False]
    scene.clock.sleep(1)
    assert is_lost(alpha) == [True]
    assert push_beat(alpha.coord())
    assert is_lost(alpha) == [False]
    assert [own.until - scene.clock.now() for own in own_leases(alpha.coord(), alpha.state())] == [540]


def test_without_a_remote_there_is_no_skew_and_any_command_is_a_beat(local: Scene) -> None:
    (alpha,) = local.joined("alpha")
    alpha.granted("a.txt", ttl=600)
    write_snapshot(alpha.coord())
    local.clock.sleep(600)
    assert is_lost(alpha) == [False]
    local.clock.sleep(61)
    assert is_lost(alpha) == [True]
    alive(alpha.coord())
    assert alpha.forward() == ["#1 a.txt had ended 61 s ago; nobody took it, so this command begins its lease anew"]
    assert is_lost(alpha) == [False]
    alive(alpha.coord())
    assert alpha.forward() == []


def test_the_end_is_announced_in_the_last_quarter_and_with_the_cause(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt", ttl=600)
    write_snapshot(alpha.coord())
    scene.clock.sleep(389)
    afterwards(alpha.coord())
    assert alpha.forward() == []
    offline(alpha)
    with pytest.raises(CoordError, match="no answer"):
        push_beat(alpha.coord())
    afterwards(alpha.coord())
    (said,) = alpha.forward()
    assert said.startswith("the last sign of life did not arrive (")
    assert said.endswith("; what you hold is good for another 3 min")
    scene.clock.sleep(31)
    afterwards(alpha.coord())
    (said,) = alpha.forward()
    assert said.startswith("#1 a.txt ends in 2 min: no sign of life arrived for 7 min (")
    scene.clock.sleep(121)
    afterwards(alpha.coord())
    (said,) = alpha.forward()
    assert said.startswith("#1 a.txt can be vouched for no longer: no sign of life arrived for 9 min (")
    assert said.endswith("Treat as lost until this has worked: git coord sync")
    offline(alpha, False)
    push_beat(alpha.coord())
    write_snapshot(alpha.coord())
    afterwards(alpha.coord())
    assert alpha.forward() == []


def test_a_late_renewal_that_cannot_be_confirmed_is_lost_and_one_that_can_is_not(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    granted = alpha.granted("a.txt", ttl=600)

    def renew() -> claims.Changed:
        coord = alpha.coord()
        return claims.renew(coord, selected(coord, "a.txt"), None, {granted.claim.op: granted.claim.pins}, None)

    offline(alpha)
    scene.clock.sleep(540)
    assert not renew().is_confirmed
    scene.clock.sleep(1)
    with pytest.raises(CoordError) as caught:
        renew()
    assert trouble(caught.value)[0] == Kind.LOST.code
    assert is_lost(alpha) == [True]  # what is pending vouches for nothing
    offline(alpha, False)
    assert renew().is_confirmed
    assert is_lost(alpha) == [False]


def test_who_wakes_late_is_told_who_ended_its_claim_and_hurts_nobody(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt", ttl=600)
    write_snapshot(beta.coord())
    scene.clock.sleep(4000)
    alpha.sync()
    broken(alpha, 1, "silent since noon")
    theirs = alpha.granted("a.txt")
    scene.clock.sleep(60)
    late = beta.coord()
    chosen = selected(late, "a.txt")
    for change in (
        lambda: claims.renew(late, chosen, None, {}, None),
        lambda: claims.release(late, chosen, "done"),
    ):
        with pytest.raises(CoordError) as caught:
            change()
        assert caught.value.kind is Kind.LOST
    gone = write_snapshot(beta.coord())
    assert [(each.token, [item.name for item in each.items]) for each in gone] == [(1, ["a.txt"])]
    assert beta.forward()[-1] == 'lost: #1 a.txt, broken by alpha 60 s ago, "silent since noon"'
    assert write_snapshot(beta.coord()) == []
    assert alpha.state().claims == {theirs.claim.op: theirs.claim}
    alpha.sync()
    assert alpha.state().claims == {theirs.claim.op: theirs.claim}


def test_what_one_gave_up_oneself_is_no_loss(team: list[Desk]) -> None:
    alpha = team[0]
    for name in ("a.txt", "b.txt", "c.txt"):
        alpha.granted(name)
    write_snapshot(alpha.coord())
    alpha.release("a.txt")
    alpha.granted("b.txt")
    assert write_snapshot(alpha.coord()) == []
    assert alpha.forward() == []


def test_a_beat_after_the_end_counts_only_once_the_ledger_was_read(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt", ttl=600)
    write_snapshot(beta.coord())
    scene.clock.sleep(4000)
    alpha.sync()
    broken(alpha, 1, "")
    coord = beta.coord()
    assert push_beat(coord)
    assert [gone.token for gone in write_snapshot(coord)] == [1]
    assert beta.state().claims == {}


def test_a_beat_whose_ledger_could_not_be_read_is_not_acknowledged(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt", ttl=600)
    before = last_acknowledged(alpha.coord(), alpha.agent)
    scene.clock.sleep(1000)
    coord = alpha.coord()
    assert alpha.remote is not None
    coord.reach = lambda name: offline(alpha) if name == "after beat" else None
    with pytest.raises(CoordError):
        push_beat(coord)
    ref = refnames.owned(Family.PRESENCE, alpha.agent)
    assert scene.hub.refs(ref) == alpha.store.refs(ref)
    assert last_acknowledged(alpha.coord(), alpha.agent) == before


def test_a_beat_of_another_clone_of_the_agent_is_no_obstacle(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    twin = scene.desk("alpha", clone="twin", session="alpha-session")
    twin.sync()
    alpha.granted("a.txt", ttl=600)
    scene.clock.sleep(300)
    twin.sync()
    push_beat(twin.coord())
    assert push_beat(alpha.coord())
    assert last_acknowledged(alpha.coord(), alpha.agent) == (scene.clock.now(), "alpha-session")


def due(desk: Desk) -> bool:
    return beats.is_due(desk.files.common, desk.agent, desk.clock.now())


def test_a_beat_is_due_only_while_something_depends_on_it(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    write_snapshot(alpha.coord())
    scene.clock.sleep(1000)
    assert not due(alpha)
    alpha.granted("a.txt", ttl=600)
    write_snapshot(alpha.coord())
    assert not due(alpha)
    scene.clock.sleep(200)
    assert due(alpha)
    push_beat(alpha.coord())
    assert not due(alpha)
    scene.clock.sleep(1000)
    alpha.release("a.txt")
    write_snapshot(alpha.coord())
    scene.clock.sleep(1000)
    assert not due(alpha)


def test_a_presence_that_was_set_is_kept_alive_until_it_is_offline(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")

    def show(state: str) -> None:
        coord = alpha.coord()
        presence.set_presence(coord, Wish(state))
        remember(coord, view(coord)[0], shows=state != "offline")

    show("busy")
    alpha.sync()
    scene.clock.sleep(300)
    assert due(alpha)
    write_snapshot(alpha.coord())
    assert due(alpha)
    show("offline")
    assert not due(alpha)
    alpha.sync()
    scene.clock.sleep(300)
    alpha.sync()
    assert {seen.state for seen in presence.roster(alpha.coord())} == {"offline"}


def test_superseded_heartbeats_are_cleared_away_when_there_are_many(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    asked: list[set[Oid]] = []

    def discard(objects: object, seconds: int) -> set[Oid]:
        assert isinstance(objects, set)
        assert seconds == MIN_AGE
        asked.append(objects)
        return objects

    for _ in range(MANY + 1):
        assert not has_many(alpha.coord())
        presence.set_presence(alpha.coord(), Wish("busy"))
        scene.clock.sleep(300)
    assert has_many(alpha.coord())
    assert clear_away(alpha.coord(), discard) == 3 * (MANY + 1)
    ref = refnames.owned(Family.PRESENCE, alpha.agent)
    (live,) = alpha.store.refs(ref).values()
    assert live not in asked[0]
    assert not has_many(alpha.coord())
    assert clear_away(alpha.coord(), discard) == 0
