"""Taking over: each gate by itself, who wins, and what the old holder can still do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.service.scene import NOBODY, START, Desk, Scene, again, item, trouble

from git_coord.crypto.record import seal
from git_coord.domain.announcements import Receipt, ReceiptEntry
from git_coord.domain.ids import Agent, Oid
from git_coord.domain.merkle import hash_object
from git_coord.domain.statements import BlockTasks, Claim, to_bytes
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, membership, takeover
from git_coord.service.claiming import Wanted, submit_claim
from git_coord.service.gates import Looked
from git_coord.service.here import note_here
from git_coord.service.leases import remember
from git_coord.service.ledger import view
from git_coord.service.operations import operation
from git_coord.service.place import submit
from git_coord.service.presence import Wish, set_presence
from git_coord.service.requests import flat_commit
from git_coord.service.selection import everything
from git_coord.service.takeover import TakenOver
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import Family

TTL = 600
SKEW = 60


def clean(_names: list[str]) -> list[str]:
    """Return what is changed in a clean worktree."""
    return []


def look(desk: Desk, *names: str, tokens: Sequence[int] = ()) -> list[Looked]:
    """Look at the gates of what is in the way."""
    coord = desk.coord()
    began = takeover.look_again(coord)
    meant = takeover.meant(coord, tokens, [item(name) for name in names], everything=False)
    return takeover.examine(coord, meant.claims, began)


def gates(desk: Desk, *names: str) -> dict[str, tuple[bool, str]]:
    """Return of one claim in the way which gates are open, and why."""
    return {gate.name: (gate.is_passed, gate.text) for gate in look(desk, *names)[0].gates}


def closed(desk: Desk, *names: str) -> list[str]:
    """Return the closed gates of one claim in the way."""
    return [gate.name for gate in look(desk, *names)[0].failed]


def take(
    desk: Desk, *names: str, tokens: Sequence[int] = (), ttl: int = TTL, everything: bool = False, reason: str = "gone"
) -> TakenOver:
    """Take over, as the command does; raises CoordError."""
    coord = desk.coord()
    began = takeover.look_again(coord)
    meant = takeover.meant(coord, tokens, [item(name) for name in names], everything=everything)
    looks = takeover.examine(coord, meant.claims, began)
    if (found := takeover.verdict(looks)) is not None:
        raise CoordError(found[0], found[2], data={"code": found[1]})
    takeover.check_checkout(coord, meant.claims, meant.items, clean)
    wanted = Wanted(meant.items, "", "standard", ttl, None, NOBODY)
    return takeover.take_over(coord, wanted, looks, reason)


def refusal(desk: Desk, *names: str, **options: Any) -> tuple[str, str]:
    """Return exit code and `code` of a takeover that is refused."""
    with pytest.raises(CoordError) as caught:
        take(desk, *names, **options)
    return caught.value.kind.code, str(caught.value.data.get("code", caught.value.kind.code))


@pytest.fixture
def held(team: list[Desk]) -> list[Desk]:
    """Return the team, alpha holding a.txt and b.txt for ten minutes, its beat pushed; the others have looked once."""
    alpha, beta, gamma = team
    alpha.granted("a.txt", "b.txt", ttl=TTL)
    silent(alpha)
    for desk in (beta, gamma):
        look(desk, "a.txt")
    return team


def wait(desk: Desk, seconds: float) -> None:
    """Let time pass, on every clock."""
    desk.clock.steady += seconds


def test_a_claim_whose_holder_is_silent_for_a_lease_is_taken_over(held: list[Desk]) -> None:
    _, beta, _ = held
    wait(beta, TTL + SKEW + 1)
    done = take(beta, "a.txt", reason="alpha is gone")
    assert (done.claim.token, done.claim.holder, done.claim.at) == (2, "beta", beta.clock.now())
    assert [claim.token for claim in done.taken] == [1]
    assert [each.name for each in done.freed] == ["b.txt"]
    assert beta.holdings() == {"a.txt": "beta"}


def silent(desk: Desk) -> None:
    """Push a heartbeat that is believed no longer than the lease, and then no more."""
    coord = desk.coord()
    if coord.remote is not None:
        set_presence(coord, Wish("busy", ttl=TTL))
        desk.sync()


def test_a_lease_that_runs_is_held_and_not_stale(held: list[Desk]) -> None:
    _, beta, _ = held
    assert closed(beta, "a.txt")[0] == "lease"
    assert refusal(beta, "a.txt") == ("conflict", "conflict")
    wait(beta, TTL + SKEW)
    look_ = look(beta, "a.txt")[0].gates[0]
    assert (look_.is_passed, look_.passes_at) == (False, look_.at + SKEW + 1 if look_.at else None)
    wait(beta, 1)
    assert gates(beta, "a.txt")["lease"] == (True, "over since")


def test_a_fresh_presence_says_that_roster_and_ledger_disagree(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=300)
    look(beta, "a.txt")
    wait(beta, 300 + SKEW + 1)
    found = look(beta, "a.txt")[0]
    assert [(gate.name, gate.stop) for gate in found.failed] == [("presence", "roster_disagrees")]
    assert found.passes_at == START + 900 + 1
    assert refusal(beta, "a.txt") == ("stale", "roster_disagrees")
    scene.clock.wall = found.passes_at - int(scene.clock.steady)
    assert closed(beta, "a.txt") == []


def test_an_agent_that_went_offline_is_not_here(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=300)
    set_presence(alpha.coord(), Wish("offline"))
    alpha.sync()
    look(beta, "a.txt")
    wait(beta, 300 + SKEW + 1)
    assert gates(beta, "a.txt")["presence"] == (True, "alpha went offline")


def test_who_said_goodbye_and_claims_again_is_not_gone(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    set_presence(alpha.coord(), Wish("offline", ttl=7200))
    alpha.sync()
    scene.clock.sleep(5)
    publish_claim(alpha, "a.txt")
    wait(beta, TTL + SKEW + 1)
    assert gates(beta, "a.txt")["presence"] == (False, "alpha says it is online, seen")
    assert "presence" in closed(beta, "a.txt")


def publish_claim(desk: Desk, name: str) -> None:
    """Claim as a program does that says nothing of its presence."""
    coord = desk.coord()
    wanted = Wanted((item(name),), "", "standard", TTL, None, NOBODY)
    submit(coord, lambda seq: operation(coord, Claim, seq, not_after=None, wait_until=None, **wanted._asdict()))


def test_an_operation_of_the_holder_is_a_sign_of_life(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    set_presence(alpha.coord(), Wish("busy", ttl=TTL))
    alpha.granted("a.txt", ttl=TTL)
    alpha.sync()
    wait(beta, TTL + SKEW + 1)
    coord = alpha.coord()
    submit(coord, lambda seq: operation(coord, BlockTasks, seq, tasks=("T-1",), reason="no key"))
    at = alpha.state().agents[Agent("alpha")].at
    found = look(beta, "a.txt")[0]
    assert [(gate.name, gate.at) for gate in found.gates if gate.name == "presence"] == [("presence", at)]
    assert "presence" in [gate.name for gate in found.failed]


def test_a_presence_that_is_missing_is_unknown_and_never_dead(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=TTL)
    for store in (scene.hub, alpha.store):
        for ref in list(store.refs("refs/coord/presence/alpha")):
            store._refs.pop(ref)
    look(beta, "a.txt")
    wait(beta, 7 * 86400)
    look_ = look(beta, "a.txt")[0]
    assert [(gate.name, gate.stop, gate.passes_at) for gate in look_.failed] == [("presence", "presence_unknown", None)]
    assert look_.passes_at is None
    assert refusal(beta, "a.txt") == ("stale", "presence_unknown")


def test_a_presence_from_the_future_keeps_nothing_alive_but_only_watching_tells(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    alpha.granted("a.txt", ttl=TTL)
    ahead = again(alpha, clock=type(scene.clock)(START + 86400 * 7))
    set_presence(ahead.coord(), Wish("busy"))
    ahead.sync()
    wait(beta, 4000)
    gamma.granted("c.txt")  # whose clock agrees
    found = gates(beta, "a.txt")
    assert found["presence"] == (True, "alpha's is dated in the future, and does not count:")
    assert found["watched"] == (False, f"unchanged here for 0 s of {TTL} s")
    wait(beta, TTL)
    assert closed(beta, "a.txt") == []


def test_a_new_commit_with_the_holders_receipt_says_that_its_branch_is_active(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=TTL)
    silent(alpha)
    wait(beta, TTL + SKEW)
    commit = Oid("c" * 40)
    _attach(alpha, commit)
    wait(beta, 5 * 60)
    found = look(beta, "a.txt")[0]
    assert next((gate.name, gate.stop, gate.text) for gate in found.failed) == (
        "commits",
        "branch_active",
        "alpha signed cccccccccc",
    )
    assert found.evidence.tip == commit
    assert refusal(beta, "a.txt") == ("stale", "branch_active")
    wait(beta, TTL)
    assert closed(beta, "a.txt") == []


def _attach(desk: Desk, commit: Oid) -> None:
    """Attach a receipt to a commit, and push it."""

    coord = desk.coord()
    receipt = Receipt(
        repo=coord.known.state.repo,
        agent=desk.agent,
        session=desk.session,
        seq=1,
        at=coord.clock.now(),
        nonce=coord.nonce(),
        head=coord.known.oid,
        commits=(ReceiptEntry(commit, coord.known.oid, bypass=False, paths=()),),
    )
    blob = hash_object("blob", seal(to_bytes(receipt), desk.signer), "sha1")
    oid, objects = flat_commit(coord, {str(commit): blob.oid}, receipt.at)
    ref = refnames.owned(Family.NOTES, desk.agent)
    desk.store.write([blob, *objects])
    desk.store.swap([RefUpdate(ref, oid, ABSENT)], "note")
    assert desk.remote is not None
    desk.remote.push([RefUpdate(ref, oid, ABSENT)])


def test_this_clone_must_have_watched_for_a_full_lease(held: list[Desk]) -> None:
    _, beta, _ = held
    wait(beta, TTL + SKEW + 1)
    late = again(beta, files=beta.files._replace(common=beta.files.common + "-fresh"))
    if beta.remote is None:
        late.files.write("beats/alpha", beta.files.read("beats/alpha") or b"")
    found = look(late, "a.txt")[0]
    assert [(gate.name, gate.text, gate.stop) for gate in found.failed] == [
        ("watched", f"unchanged here for 0 s of {TTL} s", None)
    ]
    assert refusal(late, "a.txt") == ("stale", "stale")
    assert found.passes_at == late.clock.now() + TTL + 1
    wait(late, TTL - 1)
    assert closed(late, "a.txt") == ["watched"]
    wait(late, 2)
    assert closed(late, "a.txt") == []


def test_a_heartbeat_begins_the_watch_anew(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=TTL)
    look(beta, "a.txt")
    wait(beta, TTL - 10)
    silent(alpha)
    wait(beta, TTL + SKEW + 1)
    assert closed(beta, "a.txt") == ["watched"]


def test_a_machine_that_slept_or_was_booted_did_not_watch(held: list[Desk]) -> None:
    _, beta, _ = held
    beta.clock.wall += 7 * 86400  # the wall clock went on, the monotonic one stood still
    assert closed(beta, "a.txt") == ["watched"]
    wait(beta, TTL)
    assert closed(beta, "a.txt") == []
    coord = beta.coord()
    coord.boot = lambda: "another"
    began = takeover.look_again(coord)
    looks = takeover.examine(coord, takeover.meant(coord, [1], [], everything=False).claims, began)
    assert [gate.name for gate in looks[0].failed] == ["watched"]


def test_long_after_the_end_a_third_agent_whose_clock_agrees_replaces_the_watch(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    alpha.granted("a.txt", ttl=TTL)
    wait(beta, 2 * TTL + 301)
    gamma.granted("c.txt")
    found = look(beta, "a.txt")[0]
    assert (found.failed, found.gates[3].text) == ((), "long over, and gamma's fresh record agrees with this clock")
    assert (found.evidence.witness, found.evidence.unchanged) == ("gamma", 0)
    assert take(beta, "a.txt").claim.token == 3


@pytest.mark.parametrize("off", [-SKEW - 1, SKEW + 1])
def test_a_third_agent_whose_clock_disagrees_is_no_witness(scene: Scene, off: int) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    alpha.granted("a.txt", ttl=TTL)
    wait(beta, 3 * TTL)
    other = again(gamma, clock=type(scene.clock)(scene.clock.wall + off, scene.clock.steady))
    set_presence(other.coord(), Wish("busy"))
    other.sync()
    assert closed(beta, "a.txt") == ["watched"]


def test_without_a_third_agent_nobody_vouches_for_this_clock(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=TTL)
    wait(beta, 7 * 86400)
    set_presence(beta.coord(), Wish("busy"))  # one's own record says what one's own clock says
    assert look(beta, "a.txt")[0].gates[3].text == (
        f"unchanged here for 0 s of {TTL} s, and nobody else's fresh record agrees with this clock"
    )


def test_what_was_seen_is_kept_in_the_record(held: list[Desk]) -> None:
    _, beta, _ = held
    wait(beta, TTL + SKEW + 1)
    seen = look(beta, "a.txt")[0].evidence
    assert seen.lease_end == START + TTL
    assert seen.beat == (None if beta.remote is None else START)
    assert (seen.unchanged, seen.witness, seen.tip) == (TTL + SKEW + 1, None, None)
    take(beta, "a.txt")
    placed = next(iter(beta.state().claims.values()))
    record = beta.store.read([f"{beta.tip()}:claims/0/2/claim"])[0]
    assert record is not None
    assert b'"kind":"takeover"' in record.data
    assert f'"unchanged":{TTL + SKEW + 1}'.encode() in record.data
    assert placed.holder == "beta"


def test_of_two_that_take_over_at_once_one_wins_and_the_other_is_told_who(held: list[Desk]) -> None:
    alpha, beta, gamma = held
    wait(beta, TTL + SKEW + 1)
    coord = gamma.coord()
    began = takeover.look_again(coord)
    meant = takeover.meant(coord, [], [item("a.txt")], everything=False)
    looks = takeover.examine(coord, meant.claims, began)
    assert takeover.verdict(looks) is None
    take(beta, "a.txt")
    with pytest.raises(CoordError) as caught:
        takeover.take_over(coord, Wanted(meant.items, "", "standard", TTL, None, NOBODY), looks, "gone")
    assert trouble(caught.value) == ("conflict", "beta was first: a.txt is held by beta (#2)")
    for desk in (alpha, beta, gamma):
        if desk.remote:
            desk.sync()
        assert desk.holdings() == {"a.txt": "beta"}


def test_who_waits_for_it_keeps_off_who_takes_over_and_is_not_called_its_holder(held: list[Desk]) -> None:
    _, beta, gamma = held
    wait(beta, TTL + SKEW + 1)
    submit_claim(gamma.coord(), Wanted((item("a.txt"),), "", "standard", TTL, None, NOBODY), 600)
    with pytest.raises(CoordError) as caught:
        take(beta, "a.txt")
    assert trouble(caught.value) == ("conflict", "gamma waits for a.txt, and comes before who is new")


def test_the_late_renew_and_release_of_the_old_holder_change_nothing(held: list[Desk]) -> None:
    alpha, beta, _ = held
    wait(beta, TTL + SKEW + 1)
    old = alpha.coord()
    mine = claims_of(alpha, old)
    take(beta, "a.txt")
    for act in (
        lambda: claims.renew(old, mine, None, {}, None),
        lambda: claims.release(alpha.coord(), mine, "done"),
    ):
        with pytest.raises(CoordError) as caught:
            act()
        assert trouble(caught.value) == ("lost", "that is not held any more")
    beta.coord()
    assert beta.holdings() == {"a.txt": "beta"}


def claims_of(desk: Desk, coord: Any) -> Any:
    """Return the selection of all that an agent holds."""

    return everything(coord.known.state, desk.agent)


def test_a_holder_that_is_back_before_the_operation_keeps_its_claim(held: list[Desk]) -> None:
    alpha, beta, _ = held
    wait(beta, TTL + SKEW + 1)
    coord = beta.coord()
    began = takeover.look_again(coord)
    meant = takeover.meant(coord, [], [item("a.txt")], everything=False)
    looks = takeover.examine(coord, meant.claims, began)
    mine = alpha.coord()
    claims.renew(mine, claims_of(alpha, mine), None, {}, None)
    with pytest.raises(CoordError) as caught:
        takeover.take_over(coord, Wanted(meant.items, "", "standard", TTL, None, NOBODY), looks, "gone")
    assert trouble(caught.value) == ("conflict", "alpha is back: its lease was renewed meanwhile")
    assert alpha.holdings() == {"a.txt": "alpha", "b.txt": "alpha"}


def test_a_token_means_all_that_its_claim_holds_and_all_items_does_for_a_path(held: list[Desk]) -> None:
    _, beta, _ = held
    wait(beta, TTL + SKEW + 1)
    coord = beta.coord()
    takeover.look_again(coord)
    whole = takeover.meant(coord, [1], [], everything=False)
    assert [each.name for each in whole.items] == ["a.txt", "b.txt"]
    assert [each.name for each in takeover.meant(coord, [], [item("a.txt")], everything=True).items] == [
        "a.txt",
        "b.txt",
    ]
    done = take(beta, tokens=[1])
    assert (done.freed, beta.holdings()) == ((), {"a.txt": "beta", "b.txt": "beta"})


def test_what_is_free_or_ones_own_is_not_taken_over(held: list[Desk]) -> None:
    alpha, beta, _ = held
    for desk, names, tokens, words in (
        (beta, ["free.txt"], [], ("error", "free.txt is free: nobody else holds it, there is nothing to take over")),
        (alpha, ["a.txt"], [], ("error", "a.txt is yours already")),
        (alpha, [], [1], ("error", "#1 is yours")),
        (beta, [], [7], ("lost", "#7 is not held by anybody")),
    ):
        with pytest.raises(CoordError) as caught:
            look(desk, *names, tokens=tokens)
        assert trouble(caught.value) == words


def test_what_is_free_is_claimed_with_the_rest_that_is_taken_over(held: list[Desk]) -> None:
    beta = held[1]
    wait(beta, TTL + SKEW + 1)
    done = take(beta, "free.txt", "a.txt")
    assert [each.name for each in done.claim.items] == ["free.txt", "a.txt"]
    assert {name for name, agent in beta.holdings().items() if agent == "beta"} == {"free.txt", "a.txt"}


def test_the_policy_may_want_no_takeovers(held: list[Desk]) -> None:
    alpha, beta, _ = held
    membership.set_policy(alpha.coord(), membership.PolicyChange(takeover="never"))
    wait(beta, TTL + SKEW + 1)
    assert refusal(beta, "a.txt") == ("stale", "takeover_off")


def test_two_agents_in_one_checkout_are_a_persons_to_sort_out(local: Scene) -> None:

    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=300)
    together = again(alpha, files=beta.files)
    look(beta, "a.txt")
    wait(beta, 300 + SKEW + 1)
    note_here(together.coord())
    assert refusal(beta, "a.txt") == ("conflict", "shared_checkout")
    wait(beta, 901)
    assert take(beta, "a.txt").claim.holder == "beta"


def test_changes_that_the_old_holder_left_here_are_not_ones_own(local: Scene) -> None:

    alpha, beta = local.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=300)
    note_here(again(alpha, files=beta.files).coord())
    wait(beta, 1000)
    coord = beta.coord()
    takeover.look_again(coord)
    meant = takeover.meant(coord, [], [item("a.txt")], everything=False)
    with pytest.raises(CoordError) as caught:
        takeover.check_checkout(coord, meant.claims, meant.items, lambda names: names)
    text = "a.txt has uncommitted changes here, where alpha worked: they may not be yours"
    assert (trouble(caught.value), caught.value.data["code"]) == (("conflict", text), "foreign_changes")
    takeover.check_checkout(coord, meant.claims, meant.items, clean)
    # An agent that never worked here left nothing here.
    takeover.check_checkout(
        again(beta, files=beta.files._replace(local="/nowhere")).coord(), meant.claims, meant.items, lambda n: n
    )


def test_without_an_answer_nothing_is_taken_over(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=TTL)
    wait(beta, 7 * 86400)
    assert beta.remote is not None
    beta.remote.offline = True
    with pytest.raises(CoordError) as caught:
        look(beta, "a.txt")
    assert caught.value.kind is Kind.UNKNOWN


def test_a_holder_that_slept_is_told_when_it_wakes(held: list[Desk]) -> None:

    alpha, beta, _ = held
    coord = alpha.coord()
    remember(coord, view(coord)[0])
    wait(beta, TTL + SKEW + 1)
    take(beta, "a.txt", reason="alpha silent since noon")
    alpha.forward()
    if alpha.remote is not None:
        alpha.sync()
    awake = alpha.coord()
    gone = remember(awake, view(awake)[0])
    assert [each.token for each in gone] == [1]
    assert alpha.forward()[-1] == 'lost: #1 a.txt, b.txt, taken over by beta 0 s ago, "alpha silent since noon"'


def queue(desk: Desk, name: str) -> None:
    """Stand in the queue for a file."""
    fields = {"items": (item(name),), "purpose": "", "lease": "standard", "ttl": TTL, "stamps": None, "base": NOBODY}
    until = desk.clock.now() + 900
    coord = desk.coord()
    submit(coord, lambda seq: operation(coord, Claim, seq, not_after=None, wait_until=until, **fields))


def test_a_takeover_that_waiters_keep_off_places_nothing_and_the_first_of_them_may(held: list[Desk]) -> None:
    _, beta, gamma = held
    wait(beta, TTL + SKEW + 1)
    queue(beta, "a.txt")
    queue(gamma, "a.txt")
    look(gamma, "a.txt")
    before = gamma.state().counters.ops
    with pytest.raises(CoordError) as caught:
        take(gamma, "a.txt")
    assert trouble(caught.value) == ("conflict", "beta waits for a.txt, and comes before who is new")
    assert gamma.state().counters.ops == before
    assert take(beta, "a.txt").claim.holder == "beta"
