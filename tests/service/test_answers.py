"""Questions: who holds what, how old the picture is, and when the remote must be asked first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.service.scene import Desk, Scene, item, selected, trouble

from git_coord.cli.render import as_of_stamp
from git_coord.domain.items import Item
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.guard import snapshot
from git_coord.service import claims
from git_coord.service.history import recent
from git_coord.service.query import check, status
from git_coord.service.snapshot import write_snapshot
from git_coord.service.sync import freshen, picture_age
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.memory import MemoryRemote
from git_coord.store.refnames import LEDGER


def answers(desk: Desk, *items: Item) -> list[str]:
    return [answer.status for answer in check(desk.coord(), items)]


def remote_of(desk: Desk) -> MemoryRemote:
    assert desk.remote is not None
    return desk.remote


def test_each_resource_is_free_mine_held_or_stale(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("short.txt", ttl=300)
    scene.clock.sleep(200)
    alpha.granted("mine.txt")
    beta.granted("held", ttl=7200)
    beta.granted("read.txt", intent="read")
    alpha.sync()
    scene.clock.sleep(161)
    asked = [item(name) for name in ("free.txt", "mine.txt", "held/x", "short.txt", "read.txt")]
    assert answers(alpha, *asked) == ["free", "mine", "held", "stale", "held"]
    assert answers(alpha, item("read.txt", "read")) == ["free"]


def test_a_stale_claim_still_blocks(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt", ttl=300)
    scene.clock.sleep(100_000)
    assert alpha.refused("a.txt") == [("a.txt", "beta", "a.txt")]


def test_others_claims_decide_before_own_ones(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("src/mine.py")
    beta.granted("src/theirs.py")
    alpha.sync()
    assert answers(alpha, item("src"), item("src/mine.py")) == ["held", "mine"]


def test_when_a_picture_was_taken_does_not_move_with_the_clock(scene: Scene) -> None:
    alpha, _ = scene.joined("alpha", "beta")
    alpha.sync()
    taken = scene.clock.now()
    scene.clock.sleep(30)
    age = freshen(alpha.coord(), is_local=True)
    scene.clock.sleep(1)
    assert (age, as_of_stamp(age)) == (30, format_stamp(taken))


def test_a_young_picture_is_answered_from_and_an_old_one_is_fetched(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("a.txt")
    fetches = remote_of(alpha).fetches
    scene.clock.sleep(59)
    assert freshen(alpha.coord(), is_local=False) == 59
    assert (remote_of(alpha).fetches, answers(alpha, item("a.txt"))) == (fetches, ["free"])
    scene.clock.sleep(1)
    assert freshen(alpha.coord(), is_local=False) == 0
    assert (remote_of(alpha).fetches, answers(alpha, item("a.txt"))) == (fetches + 1, ["held"])


def test_an_old_picture_without_an_answer_is_unknown_never_free(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    scene.clock.sleep(300)
    remote_of(alpha).offline = True
    with pytest.raises(CoordError) as caught:
        freshen(alpha.coord(), is_local=False)
    assert trouble(caught.value) == ("unknown", "no answer from origin")
    assert caught.value.data["as_of_age"] == 300
    assert freshen(alpha.coord(), is_local=True) == 300


def test_a_clone_that_never_synced_does_not_know(scene: Scene) -> None:
    alpha = scene.desk("alpha")
    assert picture_age(alpha.coord()) is None
    remote_of(alpha).offline = True
    with pytest.raises(CoordError) as caught:
        freshen(alpha.coord(), is_local=False)
    assert caught.value.kind is Kind.UNKNOWN


def test_without_a_remote_the_picture_is_always_now(local: Scene) -> None:
    (alpha,) = local.joined("alpha")
    local.clock.sleep(10_000)
    assert freshen(alpha.coord(), is_local=False) == 0


def test_a_clock_set_back_makes_the_picture_old_not_young(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    scene.clock.wall -= 7200
    assert picture_age(alpha.coord()) is None
    fetches = remote_of(alpha).fetches
    assert freshen(alpha.coord(), is_local=False) == 0
    assert remote_of(alpha).fetches == fetches + 1


def test_a_stamp_that_is_no_number_counts_as_none(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    for text in (b"", b"soon\n", b"-5\n", b"1.5\n", b"\xff"):
        alpha.files.write("synced", text)
        assert picture_age(alpha.coord()) is None


def test_a_claim_after_one_from_a_clock_far_ahead_is_granted(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.clock = type(scene.clock)(wall=scene.clock.now() + 7200)
    beta.granted("b.txt")
    assert alpha.granted("a.txt").is_confirmed is True
    assert alpha.holdings() == {"a.txt": "alpha", "b.txt": "beta"}


def test_a_claim_dated_in_the_future_is_pointed_out(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.clock = type(scene.clock)(wall=scene.clock.now() + 7200)
    beta.granted("b.txt")
    alpha.sync()
    assert status(alpha.coord()).warnings == ["#1 of beta is dated in the future: a clock is wrong"]


def test_status_shows_members_claims_and_posts_of_the_local_view(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("b.txt")
    alpha.granted("a.txt")
    seen = status(alpha.coord())
    assert [str(one.agent) for one in seen.agents] == ["alpha", "beta"]
    assert [(held.claim.token, held.claim.holder) for held in seen.claims] == [(1, "beta"), (2, "alpha")]


def test_the_log_tells_what_was_placed_the_newest_first(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    scene.clock.sleep(5)
    alpha.release("a.txt")
    events = recent(alpha.coord(), 3)
    assert [(event.kind, event.agent, event.at) for event in events] == [
        ("release", "alpha", scene.clock.now()),
        ("claim", "alpha", scene.clock.now() - 5),
        ("join", "alpha", scene.clock.now() - 5),
    ]
    assert [event.kind for event in recent(alpha.coord(), 100)] == ["release", "claim", "join", "policy"]


def test_the_snapshot_holds_what_the_guard_has_to_know(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("held.txt")
    alpha.sync()
    remote_of(alpha).offline = True
    coord = alpha.coord(offline="allow")
    assert alpha.claim("mine.txt", coord=coord)
    write_snapshot(coord)
    data = alpha.files.read(snapshot.CLAIMS_FILE)
    assert data is not None
    assert (b"held.txt" in data, b"mine.txt" in data, b"beta" in data) == (True, True, True)
    assert str(alpha.tip()).encode() in data


def test_a_snapshot_of_an_older_picture_is_stamped_as_such_so_that_the_guard_asks_for_a_new_one(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    coord, old = alpha.coord(), str(alpha.tip()).encode()
    alpha.granted("a.txt")
    write_snapshot(coord)
    data = alpha.files.read(snapshot.CLAIMS_FILE)
    assert data is not None
    assert (old in data, str(alpha.tip()).encode() in data, b"a.txt" in data) == (True, False, False)


def test_without_a_ledger_there_is_no_snapshot(local: Scene) -> None:
    (alpha,) = local.joined("alpha")
    write_snapshot(alpha.coord())
    assert alpha.files.read(snapshot.CLAIMS_FILE) is not None
    gone = [RefUpdate(ref, ABSENT, oid) for ref, oid in alpha.store.refs("refs/").items()]
    alpha.store.swap(gone, "test")
    write_snapshot(alpha.coord())
    assert alpha.files.read(snapshot.CLAIMS_FILE) is None


def test_a_full_disk_leaves_the_old_file_whole(scene: Scene, tmp_path: Path) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.files.write("synced", b"old\n")
    os.chmod(alpha.files.common, 0o500)
    try:
        if os.access(alpha.files.common, os.W_OK):
            pytest.skip("root may write everywhere")
        with pytest.raises(PermissionError):
            alpha.files.write("synced", b"new\n")
    finally:
        os.chmod(alpha.files.common, 0o700)
    assert alpha.files.read("synced") == b"old\n"


def test_renewing_keeps_a_lease_from_going_stale(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt", ttl=300)
    scene.clock.sleep(290)
    coord = alpha.coord()
    claims.renew(coord, selected(coord, "a.txt"), None, {}, None)
    scene.clock.sleep(290)
    beta.sync()
    assert answers(beta, item("a.txt")) == ["held"]
    assert scene.hub.refs(LEDGER)[LEDGER] == beta.tip()
