"""Operations place themselves through whoever pushes next; nobody can stand in another's way."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, again, wanted

from git_coord.crypto.keys import Signer
from git_coord.domain import chain
from git_coord.domain.chain import Sealed
from git_coord.domain.ids import Agent
from git_coord.domain.merkle import hash_object
from git_coord.domain.placing import MAX_PLACED, turn_order
from git_coord.domain.statements import Claim, Operation
from git_coord.errors import CoordError, Kind
from git_coord.service.claims import ClaimGranted
from git_coord.service.operations import operation
from git_coord.service.records import seal_operation
from git_coord.service.remote_ledger import own_updates
from git_coord.service.requests import flat_commit, publish, read_requests
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import Family


def claim_of(desk: Desk, *names: str, ahead: int = 0) -> Operation:
    """Return a claim that the desk's agent may publish next, dated that many seconds from now."""
    coord, want = desk.coord(), wanted(*names)
    fields = {name: getattr(want, name) for name in ("items", "purpose", "lease", "ttl", "stamps", "base")}
    made = operation(coord, Claim, coord.known.state.agents[desk.agent].seq + 1, not_after=None, **fields)
    return made if not ahead else type(made)(**{n: getattr(made, n) for n in _names(made)} | {"at": made.at + ahead})


def _names(op: Operation) -> list[str]:
    return [name for cls in type(op).__mro__ for name in getattr(cls, "__slots__", ())]


def push_request(desk: Desk, *names: str, ahead: int = 0, signer: Signer | None = None) -> Sealed:
    """Publish a claim and push only the request ref: it waits at the hub for a helper."""
    coord = desk.coord()

    def make(seq: int) -> Operation:
        op = claim_of(desk, *names, ahead=ahead)
        return type(op)(**{n: getattr(op, n) for n in _names(op)} | {"seq": seq})

    made = publish(coord, make, signer or desk.signer)
    assert coord.remote is not None
    coord.remote.push(own_updates(coord))
    return made.sealed


def test_a_push_places_what_others_have_pending(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    push_request(alpha, "a.txt")
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}
    done = alpha.sync()
    assert ([p.sealed.op.KIND for p in done.placed], alpha.holdings()) == (["claim"], {"a.txt": "alpha"})


def test_who_loses_the_race_finds_its_claim_placed_by_fetching(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    coord = alpha.coord()
    remote = alpha.remote
    assert remote is not None

    def race(name: str) -> None:
        if name == "before push" and "b.txt" not in beta.holdings():
            beta.granted("b.txt")
        elif name == "after push":
            coord.reach = lambda _name: None
            beta.sync()

    pushes = remote.pushes
    coord.reach = race
    result = alpha.claim("a.txt", coord=coord)
    assert isinstance(result, ClaimGranted)
    assert (result.is_confirmed, remote.pushes - pushes) == (True, 1)
    assert alpha.holdings() == {"a.txt": "alpha", "b.txt": "beta"}


def test_two_claims_of_one_path_are_decided_the_same_way_everywhere(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    push_request(alpha, "a.txt")
    push_request(beta, "a.txt")
    order = turn_order(gamma.head().oid, [alpha.agent, beta.agent])
    gamma.sync()
    assert gamma.holdings() == {"a.txt": order[0]}
    for desk in (alpha, beta):
        desk.sync()
    lost = {str(desk.agent): len(desk.lost()) for desk in (alpha, beta)}
    assert lost == {order[0]: 0, order[1]: 1}


def test_an_operation_dated_beyond_the_skew_waits_for_its_time(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    push_request(alpha, "a.txt", ahead=61)
    beta.sync()
    assert beta.holdings() == {}
    scene.clock.sleep(1)
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}


def test_a_blocked_operation_of_one_agent_stops_nobody_else(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    push_request(alpha, "a.txt", signer=scene.signer("not-alphas"))
    push_request(beta, "b.txt")
    gamma.sync()
    assert gamma.holdings() == {"b.txt": "beta"}
    # Nor its own agent, once that acts again.
    assert alpha.granted("c.txt").is_confirmed is True
    assert alpha.holdings() == {"b.txt": "beta", "c.txt": "alpha"}


def test_requests_under_anothers_name_are_not_believed(scene: Scene) -> None:
    alpha, mallory, gamma = scene.joined("alpha", "mallory", "gamma")
    forged = seal_operation(claim_of(alpha, "a.txt"), mallory.signer)
    coord = gamma.coord()
    blob = hash_object("blob", forged.record, "sha1")
    commit, objects = flat_commit(coord, {"0000000002": blob.oid}, scene.clock.now())
    scene.hub.write([blob, *objects])
    ref = refnames.owned(Family.REQUESTS, alpha.agent)
    scene.hub.swap([RefUpdate(ref, commit, scene.hub.refs(ref).get(ref, ABSENT))], "attack")
    before = gamma.state().counters.ops
    gamma.sync()
    assert (gamma.holdings(), gamma.state().counters.ops) == ({}, before)
    assert alpha.granted("b.txt").is_confirmed is True


def test_garbage_in_request_refs_is_passed_over(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    coord = beta.coord()
    blob = hash_object("blob", b"nonsense", "sha1")
    names = ("0000000009", "000000000\u0663", "README")  # the second is a digit to Unicode only
    rows = [b"100644 %s\0%s" % (name.encode(), bytes.fromhex(blob.oid)) for name in names]
    tree = hash_object("tree", b"".join(rows), "sha1")
    _, (_, made) = flat_commit(coord, {}, scene.clock.now())
    commit_ = hash_object("commit", made.data.replace(made.data[5:45], tree.oid.encode(), 1), "sha1")
    scene.hub.write([blob, tree, commit_])
    commit = commit_.oid
    scene.hub.swap([RefUpdate(refnames.owned(Family.REQUESTS, Agent("zeta")), commit, ABSENT)], "attack")
    scene.hub.swap([RefUpdate(refnames.owned(Family.REQUESTS, Agent("eta")), blob.oid, ABSENT)], "attack")
    beta.sync()
    assert beta.granted("b.txt").is_confirmed is True
    alpha.sync()
    assert alpha.holdings() == {"b.txt": "beta"}


def test_more_pending_than_fits_is_placed_in_turns(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    count = MAX_PLACED + 10
    coord = alpha.coord()
    sealed = [seal_operation(_claim(alpha, seq, f"f{seq}"), alpha.signer) for seq in range(2, count + 2)]
    blobs = {f"{s.op.seq:010}": hash_object("blob", s.record, "sha1") for s in sealed}
    commit, objects = flat_commit(coord, {name: blob.oid for name, blob in blobs.items()}, scene.clock.now())
    scene.hub.write([*blobs.values(), *objects])
    ref = refnames.owned(Family.REQUESTS, alpha.agent)
    scene.hub.swap([RefUpdate(ref, commit, scene.hub.refs(ref)[ref])], "test")
    before = len(scene.hub.history(alpha.head().oid, None))
    beta.sync()
    assert beta.granted("mine.txt").is_confirmed is True
    assert len(beta.holdings()) == count + 1
    assert len(scene.hub.history(beta.head().oid, None)) == before + 3


def test_a_sync_with_nothing_pending_leaves_another_clones_requests_alone(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    second = scene.desk("alpha", clone="second")
    second.sync()
    second.granted("first.txt")
    alpha.sync()
    push_request(alpha, "later.txt", ahead=100)
    second.sync()
    scene.clock.sleep(100)
    second.sync()
    assert second.holdings() == {"first.txt": "alpha", "later.txt": "alpha"}


def _claim(desk: Desk, seq: int, name: str) -> Operation:
    op = claim_of(desk, name)
    return type(op)(**{n: getattr(op, n) for n in _names(op)} | {"seq": seq})


def test_helpers_that_place_the_same_build_the_same_commit(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    push_request(alpha, "a.txt")
    tips = []
    for desk in (beta, gamma):
        coord = desk.coord()
        assert coord.remote is not None
        coord.remote.fetch([Family.CLAIMS, Family.REQUESTS])
        waiting = [s for r in read_requests(coord, fetched=True) for s in r.operations.values() if s]
        made = chain.extend(coord.known, waiting, "sha1")
        assert made is not None
        tips.append(made.head.oid)
    assert tips[0] == tips[1]


def test_same_on_push_is_a_win(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.sync()
    coord = alpha.coord()

    def overtake(name: str) -> None:
        if name == "before push":
            coord.reach = lambda _name: None
            # The very commit that alpha is about to push, by a helper that saw the request.
            push_only_request(alpha)
            beta.sync()

    coord.reach = overtake
    result = alpha.claim("a.txt", coord=coord)
    assert isinstance(result, ClaimGranted)
    assert (result.claim.holder, alpha.tip()) == ("alpha", scene.hub_tip())


def push_only_request(desk: Desk) -> None:
    coord = again(desk).coord()
    assert coord.remote is not None
    coord.remote.push(own_updates(coord))


def test_a_claim_bigger_than_a_record_may_be_is_refused_before_publishing(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    before = alpha.store.refs("refs/coord/")
    with pytest.raises(CoordError) as caught:
        alpha.claim(*(f"{'x' * 400}/{n}" for n in range(4000)))
    assert caught.value.kind is Kind.USAGE
    assert alpha.store.refs("refs/coord/") == before
