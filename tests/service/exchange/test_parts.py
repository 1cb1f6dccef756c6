"""Hosts that take only so many refs in one push: all of it arrives, what matters first, in few pushes."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, beside, trouble

from git_coord.domain.ids import Agent
from git_coord.errors import CoordError
from git_coord.service.exchange import parts
from git_coord.service.posts import add_post
from git_coord.service.remote_ledger import own_updates
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, PushedRef, PushStatus, RefUpdate
from git_coord.store.memory import MemoryRemote
from git_coord.store.refnames import Family


def remote_of(desk: Desk) -> MemoryRemote:
    assert desk.remote is not None
    return desk.remote


def crew(scene: Scene) -> list[Desk]:
    """Return five agents of one clone; each has a post to push, and the first a claim."""
    (first,) = scene.joined("a1")
    desks = [first, *(beside(first, f"a{n}") for n in range(2, 6))]
    for desk in desks[1:]:
        desk.init()
        desk.granted(f"{desk.agent}.txt")
    first.sync()
    remote_of(first).offline = True
    for desk in desks:
        add_post(desk.coord(), "hello", None, None)
    first.granted("a.txt", coord=first.coord(offline="allow"))
    remote_of(first).offline = False
    return desks


def unsent(desk: Desk) -> list[str]:
    """Return the live refs that the hub has not."""
    names = [refnames.prefix(family) for family in (Family.CLAIMS, Family.POSTS, Family.PRESENCE)]
    there = desk.scene.hub.refs(*names)
    return [ref for ref, oid in desk.store.refs(*names).items() if there.get(ref) != oid]


def sent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list that fills with what each push carries: family and agent."""
    log: list[list[str]] = []
    below = MemoryRemote.push

    def push(self: MemoryRemote, updates: list[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        names = [refnames.parse(update.ref) for update in updates]
        log.append([f"{name.family.value}/{name.agent or ''}" for name in names if name])
        return below(self, updates, record=record)

    monkeypatch.setattr(MemoryRemote, "push", push)
    return log


@pytest.mark.parametrize(("limit", "pushes"), [(0, 1), (7, 3), (5, 4), (3, 6), (2, 7), (1, 11)])
def test_a_sync_brings_all_of_five_agents_in_few_pushes(scene: Scene, limit: int, pushes: int) -> None:
    first, *_ = crew(scene)
    remote = remote_of(first)
    remote.limit, before = limit, remote.pushes
    first.sync()
    assert (unsent(first), first.holdings()["a.txt"]) == ([], "a1")
    assert remote.pushes - before <= pushes, remote.pushes - before


def test_what_matters_goes_first(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = crew(scene)
    remote_of(first).limit = 2
    log = sent(first, monkeypatch)
    first.sync()
    done = [part for part in log if len(part) <= 2]
    assert done[:2] == [["claims/"], ["requests/a1", "posts/a1"]]


def test_presence_of_who_holds_something_goes_before_that_of_others(scene: Scene) -> None:
    first, *_ = crew(scene)
    tip = first.head().oid
    families, agents = (Family.NOTES, Family.POSTS, Family.PRESENCE), (Agent("zz"), Agent("a2"), Agent("a1"))
    updates = [RefUpdate(refnames.owned(family, agent), tip, ABSENT) for family in families for agent in agents]
    names = [refnames.parse(update.ref) for update in parts._ordered(first.coord(), updates)]
    assert [(name.family, name.agent) for name in names if name] == [
        (family, agent) for family in reversed(families) for agent in reversed(agents)
    ]


def test_the_number_is_remembered_for_a_day_and_then_forgotten(scene: Scene) -> None:
    first, *_ = crew(scene)
    remote = remote_of(first)
    remote.limit = 3
    first.sync()
    remote.offline = True
    for desk in (first, beside(first, "a2"), beside(first, "a3"), beside(first, "a4")):
        add_post(desk.coord(), "again", None, None)
    remote.offline, before = False, remote.pushes
    first.sync()
    assert (unsent(first), remote.pushes - before) == ([], 2)
    scene.clock.steady += parts.LEARNED_SECONDS
    assert parts._limit(first.coord()) is None


@pytest.mark.parametrize("limit", [5, 3, 2])
def test_a_claim_is_granted_at_once_where_the_number_is_known(scene: Scene, limit: int) -> None:
    first, second, *_ = crew(scene)
    remote_of(first).limit = limit
    first.sync()
    pushes = remote_of(first).pushes
    assert second.granted("b.txt").is_confirmed is True
    assert remote_of(first).pushes - pushes == 1


def test_a_host_that_takes_one_ref_refuses_the_first_claim_and_takes_the_next(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    remote = remote_of(alpha)
    remote.limit, pushes = 1, remote.pushes
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert trouble(caught.value) == (
        "unknown",
        "origin refuses our refs: pre-receive hook declined: 2 refs are too many",
    )
    assert remote.pushes - pushes == 1
    assert alpha.granted("a.txt").is_confirmed is True


@pytest.mark.parametrize("refs", [3, 12])
def test_a_host_that_declines_everything_is_asked_twice_however_much_there_is(scene: Scene, refs: int) -> None:
    desks = crew(scene)
    remote = remote_of(desks[0])
    if refs == 3:
        desks = scene.joined("alone")
        add_post(desks[0].coord(), "hello", None, None)
        remote = remote_of(desks[0])
        remote.offline = True
        desks[0].granted("b.txt", coord=desks[0].coord(offline="allow"))
        remote.offline = False
    remote.refuse, pushes = "pre-receive hook declined", remote.pushes
    with pytest.raises(CoordError) as caught:
        desks[0].sync()
    assert caught.value.kind.code == "unknown"
    assert remote.pushes - pushes == 2
    assert parts._limit(desks[0].coord()) is None


def test_what_a_host_declines_for_itself_does_not_stop_the_rest(scene: Scene) -> None:
    first, *_ = crew(scene)
    remote = remote_of(first)
    remote.dislikes, before = refnames.owned(Family.POSTS, first.agent), remote.pushes
    with pytest.raises(CoordError) as caught:
        first.sync()
    assert caught.value.message.startswith("origin refuses our refs: pre-receive hook declined")
    assert unsent(first) == [remote.dislikes]
    assert remote.pushes - before <= parts.MOST_PUSHES
    assert first.granted("b.txt").is_confirmed is True


def test_an_answer_that_is_cut_off_later_hides_nothing_of_what_was_taken(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = crew(scene)
    remote = remote_of(first)
    remote.limit = 5
    coord, below = first.coord(), remote.push
    asked = []

    def push(updates: list[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        asked.append(len(updates))
        remote.offline = len(asked) == 3
        return below(updates, record=record)

    monkeypatch.setattr(remote, "push", push)
    results = parts.push(coord, own_updates(coord))
    assert [result.status for result in results].count(PushStatus.LANDED) == 1
    assert {result.reason for result in results if result.status is PushStatus.REJECTED} == {"no answer from origin"}
