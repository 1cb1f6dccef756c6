"""Founding a ledger, joining, sessions, keys and the policy."""

from __future__ import annotations

import pytest
from tests.service.scene import REPO, Desk, Scene, again, trouble

from git_coord.domain.ids import Agent, Session
from git_coord.domain.statements import Join, Listed
from git_coord.errors import CoordError, Kind
from git_coord.service import membership
from git_coord.service.membership import Birth, Founding, PolicyChange
from git_coord.service.operations import operation
from git_coord.service.requests import publish
from git_coord.store.refnames import LEDGER


def test_the_first_init_founds_a_ledger_and_joins(scene: Scene) -> None:
    alpha = scene.desk("alpha")
    assert alpha.init() is Founding.NEW
    assert list(alpha.state().agents) == ["alpha"]
    assert alpha.tip() == scene.hub_tip()


def test_doing_init_again_changes_nothing(scene: Scene) -> None:
    alpha = scene.desk("alpha")
    alpha.init()
    before = scene.hub.refs("refs/coord/"), alpha.tip()
    assert alpha.init() is Founding.KEPT
    assert (scene.hub.refs("refs/coord/"), alpha.tip()) == before


def test_the_second_clone_adopts_what_the_first_founded(scene: Scene) -> None:
    scene.desk("alpha").init()
    beta = scene.desk("beta")
    assert beta.init() is Founding.ADOPTED
    assert set(beta.state().agents) == {"alpha", "beta"}
    assert beta.state().policy.admins == (scene.signer("alpha").key,)


def test_two_racing_inits_end_with_one_ledger_and_both_join(scene: Scene) -> None:
    alpha, beta = scene.desk("alpha"), scene.desk("beta")

    def birth() -> Birth:
        # Beta has looked and found nothing; now alpha is faster.
        assert alpha.init() is Founding.NEW
        return Birth("00000000-0000-4000-8000-000000000002", "none", beta.signer)

    coord = beta.coord(opened=False)
    assert membership.found_or_adopt(coord, birth) is Founding.ADOPTED
    assert membership.join(coord) is True
    assert coord.known.state.repo == REPO
    alpha.sync()
    assert set(alpha.state().agents) == {"alpha", "beta"}


def test_two_racing_inits_in_one_repository_end_with_one_ledger(local: Scene) -> None:
    alpha, beta = local.desk("alpha"), local.desk("beta")

    def birth() -> Birth:
        assert alpha.init() is Founding.NEW
        return Birth("00000000-0000-4000-8000-000000000002", "none", beta.signer)

    coord = beta.coord(opened=False)
    assert membership.found_or_adopt(coord, birth) is Founding.ADOPTED
    assert membership.join(coord) is True
    assert set(alpha.state().agents) == {"alpha", "beta"}


def test_a_ledger_is_never_begun_blindly(scene: Scene) -> None:
    alpha = scene.desk("alpha")
    assert alpha.remote is not None
    alpha.remote.offline = True
    with pytest.raises(CoordError) as caught:
        alpha.init()
    assert caught.value.kind is Kind.UNKNOWN
    assert alpha.store.refs("refs/coord/") == {}


def test_an_init_whose_answer_was_lost_is_found_done_by_the_next(scene: Scene) -> None:
    alpha = scene.desk("alpha")
    assert alpha.remote is not None
    alpha.remote.drop_answer = True
    with pytest.raises(CoordError) as caught:
        alpha.init()
    assert caught.value.kind is Kind.UNKNOWN
    assert alpha.init() is Founding.ADOPTED
    assert list(alpha.state().agents) == ["alpha"]


def test_a_host_that_refuses_the_root_is_told_apart_from_a_lost_race(scene: Scene) -> None:
    alpha = scene.desk("alpha")
    assert alpha.remote is not None
    alpha.remote.refuse = "pre-receive hook declined"
    with pytest.raises(CoordError) as caught:
        alpha.init()
    assert trouble(caught.value) == ("unknown", "origin refuses our refs: pre-receive hook declined")
    assert (alpha.remote.pushes, scene.hub_tip(), alpha.tip()) == (1, None, None)


def test_a_name_that_is_taken_is_refused_with_a_free_one(scene: Scene) -> None:
    scene.joined("alpha")
    other = scene.desk("alpha", clone="other", key="another")
    with pytest.raises(CoordError) as caught:
        other.init()
    assert trouble(caught.value) == ("lost", "the name alpha belongs to another key")
    assert caught.value.next == "git coord init --agent alpha-2"


def test_who_loses_the_race_for_a_name_is_told_so_and_leaves_nothing_behind(scene: Scene) -> None:
    scene.joined("admin")
    first, second = scene.desk("alpha"), scene.desk("alpha", clone="other", key="another")
    coord = second.coord(opened=False)
    membership.found_or_adopt(coord, _never)
    first.init()
    with pytest.raises(CoordError) as caught:
        membership.join(coord)
    assert trouble(caught.value) == ("lost", "the name alpha belongs to another key")
    # Its own request must not stand where the real alpha's requests are pushed from.
    requests = "refs/coord/requests/alpha"
    assert second.store.refs(requests) == {}
    before = scene.hub.refs(requests)
    renamed = again(second, agent="beta")
    renamed.init()
    renamed.sync()
    assert scene.hub.refs(requests) == before
    assert set(renamed.state().agents) == {"admin", "alpha", "beta"}


def _never() -> Birth:
    raise AssertionError("there is a ledger")


@pytest.mark.parametrize("with_hub", [True, False])
def test_an_init_cut_off_after_it_published_its_join_is_finished_by_the_next(
    scene: Scene, local: Scene, with_hub: bool
) -> None:
    here = scene if with_hub else local
    here.joined("admin")
    alpha = here.desk("alpha")
    coord = alpha.coord(opened=False)
    membership.found_or_adopt(coord, _never)
    publish(coord, lambda seq: operation(coord, Join, seq, key=alpha.signer.key), alpha.signer)
    alpha.init()
    assert alpha.granted("a.txt").is_confirmed is True
    assert len(alpha.state().agents) == 2


def test_a_key_in_use_joins_under_no_other_name(scene: Scene) -> None:
    scene.joined("alpha")
    with pytest.raises(CoordError) as caught:
        scene.desk("beta", key="alpha").init()
    assert trouble(caught.value) == ("lost", "beta cannot join: its key belongs to another agent, or did")


def test_under_a_listed_policy_only_listed_keys_join(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    listed = (Listed(None, scene.signer("beta").key),)
    membership.set_policy(alpha.coord(), PolicyChange(join="listed", listed=listed))
    with pytest.raises(CoordError) as caught:
        scene.desk("gamma").init()
    assert trouble(caught.value) == ("lost", "gamma cannot join: the policy does not list its key for this name")
    assert scene.hub.refs("refs/coord/requests/gamma") == {}
    scene.desk("beta").init()
    alpha.sync()
    assert set(alpha.state().agents) == {"alpha", "beta"}


def test_only_a_policy_key_changes_the_policy(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    with pytest.raises(CoordError) as caught:
        membership.set_policy(beta.coord(), PolicyChange(max_lease=600))
    assert trouble(caught.value) == ("lost", "the key here is not one of the policy's")
    assert beta.store.refs(LEDGER)[LEDGER] == scene.hub_tip()
    assert membership.set_policy(alpha.coord(), PolicyChange(max_lease=600)).max_lease == 600
    beta.sync()
    assert beta.state().policy.max_lease == 600


def test_who_stops_being_an_admin_meanwhile_is_refused_and_is_not_stuck(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    both = (alpha.signer.key, beta.signer.key)
    membership.set_policy(alpha.coord(), PolicyChange(admins=both))
    beta.sync()
    coord = beta.coord()
    membership.set_policy(alpha.coord(), PolicyChange(admins=both[:1]))
    with pytest.raises(CoordError) as caught:
        membership.set_policy(coord, PolicyChange(max_lease=600))
    assert caught.value.data == {"reason": "it is not signed by a policy key"}
    assert beta.granted("a.txt").is_confirmed is True
    assert beta.state().policy.max_lease != 600


def test_another_session_of_the_same_agent_is_refused_and_named(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    elsewhere = again(alpha, session=Session("other"))
    with pytest.raises(CoordError) as caught:
        elsewhere.claim("a.txt")
    assert trouble(caught.value) == (
        "lost",
        "alpha is at work in another session (alpha-session), of another clone, seen 0 s ago: "
        "a worktree needs a name of its own",
    )
    assert caught.value.next == "git coord init"
    assert caught.value.data == {"agent": "alpha", "session": "alpha-session", "worktree": None}
    assert alpha.holdings() == {}


def test_rejoin_moves_the_session_and_keeps_the_claims(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    elsewhere = again(alpha, session=Session("other"))
    membership.rejoin(elsewhere.coord())
    assert elsewhere.state().agents[alpha.agent].session == "other"
    assert elsewhere.release("a.txt").is_confirmed is True
    with pytest.raises(CoordError) as caught:
        alpha.claim("b.txt")
    assert caught.value.kind is Kind.LOST


def test_a_session_taken_over_between_check_and_placing_makes_the_claim_lost(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    coord = alpha.coord()
    clone = scene.desk("alpha", clone="other", session="other")
    clone.sync()
    membership.rejoin(clone.coord())
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt", coord=coord)
    assert trouble(caught.value) == ("lost", "another session of this agent took over meanwhile")
    assert alpha.holdings() == {}


def test_after_a_rotation_the_old_key_is_refused_and_the_new_one_works(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    membership.rotate(alpha.coord(), scene.signer("new"))
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt")
    assert trouble(caught.value) == ("lost", "the name alpha belongs to another key")
    assert again(alpha, signer=scene.signer("new")).granted("a.txt").claim.token == 1
    beta.sync()
    assert beta.holdings() == {"a.txt": "alpha"}


def test_an_operation_of_the_old_key_published_before_the_rotation_landed_is_not_placed(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    coord = alpha.coord()
    clone = scene.desk("alpha", clone="other")
    clone.sync()
    membership.rotate(clone.coord(), scene.signer("new"))
    with pytest.raises(CoordError) as caught:
        alpha.claim("a.txt", coord=coord)
    # Two things are wrong with it, its key and its number: either may be named.
    assert (caught.value.kind, "claim of alpha cannot be placed" in caught.value.message) == (Kind.ERROR, True)
    assert alpha.holdings() == {}
    assert again(alpha, signer=scene.signer("new")).granted("a.txt").is_confirmed is True


class _Impostor:
    """Says it holds a key, and signs with another."""

    def __init__(self, scene: Scene) -> None:
        self.key = scene.signer("victim").key
        self._by = scene.signer("mallory")

    def sign(self, message: bytes, namespace: str) -> bytes:
        return self._by.sign(message, namespace)


def test_a_rotation_needs_proof_that_the_new_key_is_at_hand(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    with pytest.raises(CoordError):
        membership.rotate(alpha.coord(), _Impostor(scene))
    beta.sync()
    assert beta.state().agents[Agent("alpha")].key == scene.signer("alpha").key
    assert alpha.granted("a.txt").is_confirmed is True


def test_a_rotation_to_a_key_in_use_is_refused_and_the_agent_is_not_stuck(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    with pytest.raises(CoordError) as caught:
        membership.rotate(alpha.coord(), beta.signer)
    assert caught.value.data == {"reason": "its new key is or was in use"}
    assert alpha.granted("a.txt").is_confirmed is True


def _keys(desk: Desk) -> int:
    return len(desk.state().agents[desk.agent].keys)


def test_every_key_of_an_agent_stays_known_with_its_position(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    membership.rotate(alpha.coord(), scene.signer("new"))
    assert _keys(alpha) == 2
