"""The remote in memory answers as the one over git does, and fails when told to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from git_coord.domain.ids import Agent, Oid
from git_coord.errors import CoordError, Kind
from git_coord.store.interface import ABSENT, PushedRef, PushStatus, RefUpdate, Remote, Store
from git_coord.store.memory import MemoryRemote, MemoryStore
from git_coord.store.refnames import FETCHED_LEDGER, LEDGER, Family, fetched, owned
from tests.helpers import Repo

from .conftest import commit
from .test_remote import Clone

ALPHA = owned(Family.REQUESTS, Agent("alpha"))
SYNCED = (Family.CLAIMS, Family.REQUESTS)
Side = tuple[Store, Remote]


@pytest.fixture(params=["memory", "git"])
def sides(request: pytest.FixtureRequest, hub_and_clones: Callable[..., tuple[Repo, ...]]) -> tuple[Side, Side]:
    if request.param == "git":
        _, *repos = hub_and_clones("alpha", "beta")
        alpha, beta = (Clone(repo) for repo in repos)
        return (alpha.store, alpha.remote), (beta.store, beta.remote)
    hub, one, two = MemoryStore(), MemoryStore(), MemoryStore()
    return (one, MemoryRemote(hub, one)), (two, MemoryRemote(hub, two))


def make(store: Store, text: str) -> Oid:
    return commit(store, {"op": text}).oid


def test_both_remotes_land_reject_and_know_the_same(sides: tuple[Side, Side]) -> None:
    (alpha, alphas), (beta, betas) = sides
    one, two = make(alpha, "1"), make(beta, "2")
    assert make(beta, "1") == one
    landed = PushStatus.LANDED
    assert alphas.push([RefUpdate(LEDGER, one, ABSENT), RefUpdate(ALPHA, one, ABSENT)]) == [
        PushedRef(LEDGER, landed, ""),
        PushedRef(ALPHA, landed, ""),
    ]
    assert alpha.refs("refs/coord/", "refs/coord-remote/") == {FETCHED_LEDGER: one, fetched(ALPHA): one}
    for stale in (
        RefUpdate(LEDGER, two, ABSENT),
        RefUpdate(LEDGER, two, two),
        RefUpdate(LEDGER, ABSENT, two),
    ):
        assert betas.push([stale]) == [PushedRef(LEDGER, PushStatus.REJECTED, "stale info")]
    assert betas.push([RefUpdate(LEDGER, one, ABSENT)]) == [PushedRef(LEDGER, PushStatus.SAME, "")]
    assert alphas.push([RefUpdate(ALPHA, ABSENT, one)]) == [PushedRef(ALPHA, landed, "")]
    betas.fetch(SYNCED)
    assert beta.refs("refs/coord/", "refs/coord-remote/") == {FETCHED_LEDGER: one}
    assert betas.push([RefUpdate(LEDGER, two, one)]) == [PushedRef(LEDGER, landed, "")]
    alphas.fetch([Family.REQUESTS])
    assert alpha.refs("refs/coord-remote/") == {FETCHED_LEDGER: one}
    alphas.fetch([Family.CLAIMS])
    assert alpha.refs("refs/coord-remote/") == {FETCHED_LEDGER: two}
    assert alpha.history(two, None) == [two]


def test_offline_nothing_is_known() -> None:
    hub, store = MemoryStore(), MemoryStore()
    remote = MemoryRemote(hub, store, offline=True)
    one = make(store, "1")
    for attempt in (
        lambda: remote.fetch(SYNCED),
        lambda: remote.push([RefUpdate(LEDGER, one, ABSENT)]),
        lambda: remote.deepen(1, one),
    ):
        with pytest.raises(CoordError) as caught:
            attempt()
        assert caught.value.kind is Kind.UNKNOWN
    assert hub.refs(LEDGER) == {}


def test_a_refusal_has_the_hooks_words() -> None:
    hub, store = MemoryStore(), MemoryStore()
    remote = MemoryRemote(hub, store, refuse="pre-receive hook declined")
    answers = remote.push([RefUpdate(LEDGER, make(store, "1"), ABSENT)])
    assert answers == [PushedRef(LEDGER, PushStatus.REJECTED, "pre-receive hook declined")]
    assert hub.refs(LEDGER) == store.refs(FETCHED_LEDGER) == {}


def test_a_dropped_answer_took_effect_and_the_next_one_arrives() -> None:
    hub, store = MemoryStore(), MemoryStore()
    remote = MemoryRemote(hub, store, drop_answer=True)
    one = make(store, "1")
    with pytest.raises(CoordError) as caught:
        remote.push([RefUpdate(LEDGER, one, ABSENT)])
    assert caught.value.kind is Kind.UNKNOWN
    assert (hub.refs(LEDGER), store.refs(FETCHED_LEDGER)) == ({LEDGER: one}, {})
    assert remote.push([RefUpdate(LEDGER, one, ABSENT)]) == [PushedRef(LEDGER, PushStatus.SAME, "")]
