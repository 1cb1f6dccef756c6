"""A hub that lost the ledger: put back, held, placed again by who was ahead; nobody is told "yours" beside another."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, again
from tests.service.tampering import set_ledger, set_refs

from git_coord.domain.statements import Replay, Restore
from git_coord.errors import CoordError, Kind
from git_coord.service import sync
from git_coord.service.adopt import walk
from git_coord.service.claiming import ClaimRefused
from git_coord.service.evidence import states_at
from git_coord.service.follow import Follower
from git_coord.service.ledger import open_ledger
from git_coord.service.lineage import lineage
from git_coord.store.refnames import LEDGER

HOLD = 600


def wiped(scene: Scene) -> tuple[Desk, Desk, Desk]:
    """Return alpha, who holds a.txt in a ledger that the hub has lost, gamma, who saw that, and beta, who did not."""
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    for desk in (alpha, beta, gamma):
        desk.sync()
    alpha.granted("a.txt")
    gamma.sync()
    set_refs(scene.hub, {})
    return alpha, beta, gamma


def on_hold(desk: Desk, *names: str) -> CoordError:
    """Claim, which must be refused because a restored ledger grants nothing."""
    with pytest.raises(CoordError) as caught:
        desk.claim(*names)
    assert (caught.value.kind, "hold_until" in caught.value.data) == (Kind.UNKNOWN, True), caught.value
    return caught.value


def kinds(desk: Desk) -> list[str]:
    """Return what the clone's ledger placed, oldest first, one entry a commit."""
    coord = desk.coord()
    done = walk(coord, None, lineage(coord.store, coord.known.oid, None))
    return [placed.sealed.op.KIND for placed in done.placed.values()]


def test_who_is_behind_is_granted_nothing_and_who_was_ahead_has_it_again(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    trouble = on_hold(beta, "a.txt")
    assert trouble.message == (
        "beta put back a ledger that the remote had lost, at 00:00 UTC: until 00:10 UTC (10 min) nothing is granted, "
        "so that whoever had more of it can place that again"
    )
    scene.clock.steady += HOLD - 1
    on_hold(beta, "b.txt")
    alpha.sync()
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    scene.clock.steady += 1
    assert beta.granted("b.txt").is_confirmed is True
    for desk in (alpha, beta, gamma):
        desk.sync()
        assert desk.holdings() == {"a.txt": "alpha", "b.txt": "beta"}
    assert alpha.lost() == beta.lost() == gamma.lost() == []


def test_a_restored_ledger_is_never_at_the_hub_without_the_restore(scene: Scene) -> None:
    _, beta, _ = wiped(scene)
    before = beta.head()
    seen: list[object] = []

    def reach(name: str) -> None:
        if name == "after push":
            seen.append(scene.hub_tip())

    coord = beta.coord()
    coord.reach = reach
    sync.sync(coord)
    assert len(seen) == 1
    assert [
        isinstance(placed.sealed.op, Restore) for placed in walk(coord, before, [coord.known.oid]).placed.values()
    ] == [True]
    assert seen == [coord.known.oid]


@pytest.mark.parametrize("order", ["alpha gamma", "gamma alpha"])
def test_clones_ahead_by_different_amounts_place_again_in_any_order(scene: Scene, order: str) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    for desk in (alpha, beta):
        desk.sync()
    old = scene.hub.refs("refs/")
    alpha.granted("a.txt")
    gamma.granted("g.txt")
    alpha.sync()
    gamma.granted("h.txt")
    gamma.release("g.txt")
    set_refs(scene.hub, old)
    set_ledger(scene.hub, None)
    beta.sync()
    for name in order.split():
        {"alpha": alpha, "gamma": gamma}[name].sync()
    for desk in (alpha, beta, gamma):
        desk.sync()
        assert desk.holdings() == {"a.txt": "alpha", "h.txt": "gamma"}, desk.agent
        assert desk.lost() == []
    assert kinds(beta) == kinds(alpha) == kinds(gamma)


def test_operations_of_others_are_placed_again_by_any_member_that_knows_them(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    beta.sync()
    gamma.sync()
    assert gamma.holdings() == {"a.txt": "alpha"}
    assert beta.refused("a.txt") == [("a.txt", "alpha", "a.txt")]
    alpha.sync()
    assert (alpha.holdings(), alpha.lost()) == ({"a.txt": "alpha"}, [])


def test_what_another_holds_by_now_is_lost_and_told_to_both(scene: Scene) -> None:
    alpha, beta, _ = wiped(scene)
    beta.sync()
    scene.clock.steady += HOLD
    assert beta.granted("a.txt").is_confirmed is True
    beta.forward()
    alpha.sync()
    said = [line for line in alpha.forward() if line.startswith("lost")]
    assert said == ["lost: alpha's claim on a.txt, with a part of the ledger that was lost: beta holds a.txt now"]
    beta.sync()
    (line,) = [line for line in beta.forward() if "alpha held a.txt" in line]
    assert line.startswith("alpha held a.txt in the part of the ledger that was lost, and may have changed it: your #")
    assert alpha.holdings() == beta.holdings() == {"a.txt": "beta"}


def test_a_hub_that_went_back_is_put_back_by_who_is_ahead_and_who_is_exactly_there_cannot_know(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    beta.sync()
    old = scene.hub.refs("refs/")
    alpha.granted("a.txt")
    set_refs(scene.hub, old)
    assert beta.granted("a.txt").is_confirmed is True  # as docs/security.md says
    alpha.sync()
    assert alpha.holdings() == {"a.txt": "beta"}
    assert len(alpha.lost()) == 1
    assert "restore" in kinds(alpha)
    on_hold(gamma, "c.txt")


def test_who_cannot_sign_answers_unknown_until_the_hold_is_over(scene: Scene) -> None:
    alpha, beta, _ = wiped(scene)
    reader = again(alpha, signer=scene.signer("nobody"))
    for _ in range(2):
        with pytest.raises(CoordError) as caught:
            reader.sync()
        assert caught.value.kind is Kind.UNKNOWN
        assert "only who has joined can put it back" in caught.value.message
        assert caught.value.next == "git coord status --local", "a sync would end with these very words"
        assert reader.coord().files.read("synced") is None
    assert scene.hub_tip() is None
    beta.sync()
    with pytest.raises(CoordError) as caught:
        reader.sync()
    assert "only who has joined can place it again" in caught.value.message
    scene.clock.steady += HOLD
    reader.sync()
    assert reader.holdings() == {}
    assert any("1 operation that this clone knew, not in the ledger any more" in line for line in reader.forward())


def test_a_hub_that_is_read_only_for_the_restorer_leaves_it_unknown(scene: Scene) -> None:
    alpha, beta, _ = wiped(scene)
    assert beta.remote is not None
    assert alpha.remote is not None
    beta.remote.refuse = alpha.remote.refuse = "pre-receive hook declined"
    for desk in (beta, alpha):
        with pytest.raises(CoordError) as caught:
            desk.claim("z.txt")
        assert (caught.value.kind, "origin lacks" in caught.value.message) == (Kind.UNKNOWN, True)
    assert alpha.holdings() == {"a.txt": "alpha"}
    beta.remote.refuse = ""
    beta.sync()
    with pytest.raises(CoordError, match="origin lacks"):
        alpha.sync()
    alpha.remote.refuse = ""
    alpha.sync()
    assert alpha.holdings() == {"a.txt": "alpha"}


def test_helpers_leave_a_claim_that_may_have_been_granted_to_who_knows(scene: Scene) -> None:
    """Only the ledger was lost: alpha's request is there still, and beta would have it refused for good."""
    alpha, beta, _ = scene.joined("alpha", "beta", "gamma")
    beta.sync()
    alpha.granted("a.txt")
    set_ledger(scene.hub, None)
    beta.sync()
    assert kinds(beta)[-1] == "restore"
    alpha.sync()
    assert (alpha.holdings(), alpha.lost()) == ({"a.txt": "alpha"}, [])


@pytest.mark.parametrize("step", ["before push", "after push", "before local move", "after local move"])
def test_a_kill_before_and_after_the_push_forgets_nothing(scene: Scene, step: str) -> None:
    alpha, beta, _ = wiped(scene)
    beta.sync()
    coord = alpha.coord()

    def reach(name: str) -> None:
        if name == step:
            raise KeyboardInterrupt

    coord.reach = reach
    with pytest.raises(KeyboardInterrupt):
        sync.sync(coord)
    alpha.sync()
    beta.sync()
    assert alpha.holdings() == beta.holdings() == {"a.txt": "alpha"}
    assert alpha.lost() == []


def test_two_that_restore_at_once_make_one_ledger(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    coord = beta.coord()
    raced: list[str] = []

    def reach(name: str) -> None:
        if name == "before push" and not raced:
            raced.append(name)
            gamma.sync()

    coord.reach = reach
    sync.sync(coord)
    for desk in (alpha, beta, gamma):
        desk.sync()
        assert desk.holdings() == {"a.txt": "alpha"}
    assert kinds(alpha).count("restore") == 1


def test_a_second_wipe_during_the_hold_loses_nothing_either(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    beta.sync()
    alpha.sync()
    set_refs(scene.hub, {})
    gamma.sync()
    for desk in (beta, alpha, gamma, beta):
        desk.sync()
    for desk in (alpha, beta, gamma):
        assert desk.holdings() == {"a.txt": "alpha"}
        assert desk.lost() == []


def test_the_joins_of_the_lost_part_come_back_and_their_authors_can_place_the_rest(scene: Scene) -> None:
    (beta,) = scene.joined("beta")
    alpha = scene.desk("alpha")
    alpha.init()
    alpha.granted("a.txt")
    set_refs(scene.hub, {})
    beta.sync()
    alpha.sync()
    assert alpha.holdings() == {"a.txt": "alpha"}
    beta.sync()
    assert isinstance(beta.claim("a.txt"), ClaimRefused)


def test_tokens_of_the_lost_part_are_never_drawn_again(scene: Scene) -> None:
    alpha, beta, _ = wiped(scene)
    token = max(claim.token for claim in alpha.state().claims.values())
    beta.sync()
    alpha.sync()
    assert min(claim.token for claim in alpha.state().claims.values()) > token


def claimed_offline(desk: Desk, name: str) -> None:
    """Let a desk claim something while the remote is away, which is back then."""
    offline = again(desk, settings=desk.settings._replace(offline="allow"))
    assert offline.remote is not None
    offline.remote.offline = True
    assert offline.granted(name).is_confirmed is False
    offline.remote.offline = False


def test_a_pending_claim_of_before_is_told_lost_once_the_hold_refuses_it(scene: Scene) -> None:
    alpha, beta, _ = wiped(scene)
    claimed_offline(beta, "a.txt")
    alpha.sync()
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}
    assert [loss.reason for loss in beta.lost()] == ["conflict"]


def test_a_replay_is_made_once(scene: Scene) -> None:
    alpha, beta, gamma = wiped(scene)
    beta.sync()
    for desk in (alpha, gamma, beta, alpha, gamma):
        desk.sync()
    assert [kinds(desk).count(Replay.KIND) for desk in (alpha, beta, gamma)] == [1, 1, 1]
    assert scene.hub.refs(LEDGER) == {LEDGER: alpha.tip()}


def test_a_fresh_clone_believes_a_restored_ledger_though_others_signed_what_was_lost(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    beta.sync()
    alpha.granted("a.txt")
    gamma.sync()
    gamma.granted("g.txt")  # signed with a head that is lost with it
    set_ledger(scene.hub, None)
    beta.sync()
    assert scene.desk("fresh").coord(opened=False).head is None
    fresh = scene.desk("fresh")
    fresh.sync()
    assert fresh.holdings() == {}
    gamma.sync()
    late = scene.desk("late")
    late.sync()
    assert late.holdings() == {"a.txt": "alpha", "g.txt": "gamma"}


def test_a_lost_head_stands_for_where_what_it_had_is_placed_again(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.sync()
    alpha.granted("a.txt")
    first = alpha.head()
    alpha.granted("b.txt")
    alpha.release("a.txt")
    second = alpha.head()
    set_refs(scene.hub, {})
    beta.sync()
    alpha.sync()
    coord = alpha.coord()
    states = states_at(coord, {first.oid, second.oid}, lambda: lineage(coord.store, coord.known.oid, None))
    held = {oid: {c.items[0].name for c in state.claims.values()} for oid, state in states.items()}
    assert held == {first.oid: {"a.txt"}, second.oid: {"b.txt"}}


def test_a_watch_goes_on_where_the_chains_part_and_tells_of_the_restore(scene: Scene) -> None:
    alpha, beta, _ = wiped(scene)
    coord = alpha.coord()
    follower = Follower(coord, None)
    assert list(follower.look()) == []
    beta.sync()
    alpha.sync()
    coord.store.forget()  # type: ignore[attr-defined]
    open_ledger(coord)
    events = [(event.kind, event.agent) for event in follower.look()]
    assert events == [("ledger.restored", "beta"), ("claim.granted", "alpha")]
