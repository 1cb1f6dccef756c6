"""Presence, beats and posts: who may say them, who believes them, and for how long."""

from __future__ import annotations

import pytest
from tests.service.scene import Desk, Scene, again, trouble

from git_coord.domain.ids import Agent, Session
from git_coord.errors import CoordError
from git_coord.service import membership, posts, presence
from git_coord.service.beat import beat_if_due, last_acknowledged, note_beat
from git_coord.service.presence import Wish
from git_coord.service.query import picture
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import sync
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate
from git_coord.store.refnames import Family


def meet(*desks: Desk) -> None:
    """Let everybody push and then fetch what is to be shown."""
    for desk in (*desks, *desks):
        sync(desk.coord(opened=False), ROSTER_FAMILIES)


def states(desk: Desk) -> dict[str, str | None]:
    return {str(seen.agent): seen.state for seen in presence.roster(desk.coord())}


def texts(desk: Desk) -> list[tuple[str, str, str]]:
    return [(str(p.agent), p.post.status, p.post.text) for p in posts.board(desk.coord())]


def test_presence_reaches_others_and_ends_by_itself(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish("busy", note="tests", ttl=600))
    meet(alpha, beta)
    assert states(beta) == {"alpha": "busy", "beta": "online"}
    scene.clock.sleep(600)
    assert states(beta)["alpha"] == "busy"
    scene.clock.sleep(1)
    assert states(beta)["alpha"] == "unknown"


def test_who_said_goodbye_stays_offline(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish("offline", ttl=60))
    meet(alpha, beta)
    scene.clock.sleep(10_000)
    assert states(beta)["alpha"] == "offline"


def test_note_and_task_last_as_long_as_the_state(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    presence.set_presence(alpha.coord(), Wish("busy", note="n", task="t", queue=3))
    scene.clock.sleep(10)
    same = presence.set_presence(alpha.coord(), Wish("busy"))
    assert (same.note, same.task, same.queue, same.at - same.since) == ("n", "t", 3, 10)
    other = presence.set_presence(alpha.coord(), Wish("online"))
    assert (other.note, other.task, other.queue, other.at - other.since) == (None, None, 0, 0)


def test_a_heartbeat_from_the_future_is_flagged_and_keeps_no_claim_alive(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    granted = alpha.granted("a.txt", ttl=600)
    fast = again(alpha, clock=type(scene.clock)(wall=scene.clock.now() + 7200))
    presence.set_presence(fast.coord(), Wish("busy", ttl=600))
    meet(fast, beta)
    seen = {str(s.agent): s for s in presence.roster(beta.coord())}["alpha"]
    assert (seen.state, seen.is_future) == ("busy", True)
    held = picture(beta.coord()).held(granted.claim)
    assert held.lease_until == granted.claim.at + 600


def test_heartbeats_keep_claims_alive_for_everybody(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    granted = alpha.granted("a.txt", ttl=600)
    scene.clock.sleep(500)
    meet(alpha, beta)
    beat_if_due(alpha.coord())
    meet(alpha, beta)
    held = picture(beta.coord()).held(granted.claim)
    assert (held.lease_until, held.is_stale) == (scene.clock.now() + 600, False)


def test_beats_of_another_session_keep_nothing_alive(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    granted = alpha.granted("a.txt", ttl=600)
    scene.clock.sleep(500)
    elsewhere = again(alpha, session=Session("other"))
    presence.set_presence(elsewhere.coord(), Wish("busy"))
    meet(elsewhere, beta)
    assert states(beta)["alpha"] == "busy"
    assert picture(beta.coord()).held(granted.claim).lease_until == granted.claim.at + 600


def test_a_beat_rides_on_the_push_of_a_claim_and_is_then_acknowledged(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.sync()
    scene.clock.sleep(1000)
    remote = alpha.remote
    assert remote is not None
    pushes = remote.pushes
    alpha.granted("a.txt")
    assert remote.pushes - pushes == 1
    assert last_acknowledged(alpha.coord(), alpha.agent) == (scene.clock.now(), "alpha-session")
    ref = refnames.owned(Family.PRESENCE, alpha.agent)
    assert scene.hub.refs(ref) == alpha.store.refs(ref)


def test_a_beat_that_did_not_arrive_is_not_acknowledged(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.sync()
    before = last_acknowledged(alpha.coord(), alpha.agent)
    scene.clock.sleep(1000)
    assert alpha.remote is not None
    alpha.remote.offline = True
    with pytest.raises(CoordError):
        alpha.claim("a.txt")
    assert last_acknowledged(alpha.coord(), alpha.agent) == before


def test_without_a_remote_every_command_is_a_beat(local: Scene) -> None:
    (alpha,) = local.joined("alpha")
    granted = alpha.granted("a.txt", ttl=100)
    local.clock.sleep(90)
    note_beat(alpha.coord())
    assert picture(alpha.coord()).held(granted.claim).lease_until == local.clock.now() + 100


def test_a_clock_set_back_does_not_silence_the_beats(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.sync()
    scene.clock.wall -= 7200
    alpha.granted("a.txt")
    assert last_acknowledged(alpha.coord(), alpha.agent) == (scene.clock.now(), "alpha-session")


def test_posts_are_shown_to_all_the_oldest_first(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    posts.add_post(beta.coord(), "first", None, None)
    scene.clock.sleep(5)
    posts.add_post(alpha.coord(), "second", Agent("beta"), None)
    meet(alpha, beta)
    expected = [("beta", "open", "first"), ("alpha", "open", "second")]
    assert (texts(alpha), texts(beta)) == (expected, expected)


def test_only_the_author_changes_or_removes_a_post(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    made = posts.add_post(alpha.coord(), "mine", None, None)
    meet(alpha, beta)
    with pytest.raises(CoordError) as caught:
        posts.update_post(beta.coord(), made.post.id, "done", None)
    assert trouble(caught.value) == ("lost", f"post {made.post.id} is alpha's")
    with pytest.raises(CoordError) as caught:
        posts.remove_post(beta.coord(), made.post.id)
    assert trouble(caught.value) == ("lost", f"post {made.post.id} is alpha's")
    with pytest.raises(CoordError) as caught:
        posts.remove_post(beta.coord(), "ffffffff")
    assert trouble(caught.value) == ("lost", "there is no post ffffffff")
    posts.update_post(alpha.coord(), made.post.id, "done", "mine, done")
    meet(alpha, beta)
    assert texts(beta) == [("alpha", "done", "mine, done")]
    posts.remove_post(alpha.coord(), made.post.id)
    meet(alpha, beta)
    assert texts(beta) == []


def test_a_post_put_under_anothers_name_is_not_shown(scene: Scene) -> None:
    alpha, mallory = scene.joined("alpha", "mallory")
    posts.add_post(mallory.coord(), "false", None, None)
    mallory.sync()
    theirs = scene.hub.refs(refnames.owned(Family.POSTS, mallory.agent))
    (value,) = theirs.values()
    ref = refnames.owned(Family.POSTS, alpha.agent)
    scene.hub.swap([RefUpdate(ref, value, ABSENT)], "attack")
    meet(mallory, alpha)
    assert texts(alpha) == [("mallory", "open", "false")]


def test_the_board_of_an_agent_is_bounded_and_drops_what_is_done_first(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    first = posts.add_post(alpha.coord(), "0", None, None)
    for number in range(1, 64):
        posts.add_post(alpha.coord(), str(number), None, None)
    with pytest.raises(CoordError) as caught:
        posts.add_post(alpha.coord(), "too many", None, None)
    assert trouble(caught.value) == ("usage", "64 posts are open already")
    posts.update_post(alpha.coord(), first.post.id, "done", None)
    posts.add_post(alpha.coord(), "fits", None, None)
    assert len(texts(alpha)) == 64


def test_a_rotated_key_says_nothing_more(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    posts.add_post(alpha.coord(), "old", None, None)
    meet(alpha, beta)
    membership.rotate(alpha.coord(), scene.signer("new"))
    posts.add_post(alpha.coord(), "stolen", None, None)
    alpha.sync()
    meet(beta)
    assert [text for _, _, text in texts(beta)] == []
    posts.add_post(again(alpha, signer=scene.signer("new")).coord(), "new", None, None)
    meet(again(alpha, signer=scene.signer("new")), beta)
    assert [text for _, _, text in texts(beta)] == ["new"]


def advice(desk: Desk) -> dict[str, tuple[str, int | None]]:
    now = desk.clock.now()
    return {str(seen.agent): tuple(seen.advice(now)) for seen in presence.roster(desk.coord())}


@pytest.mark.parametrize(
    ("state", "queue", "expected"),
    [
        ("online", 0, ("send", 500)),
        ("online", 1, ("queue", 500)),
        ("busy", 0, ("queue", 500)),
        ("dormant", 0, ("queue", 500)),
        ("draining", 0, ("hold", 500)),
        ("offline", 0, ("hold", None)),
    ],
)
def test_the_reader_computes_how_to_reach_an_agent_and_for_how_long(
    scene: Scene, state: str, queue: int, expected: tuple[str, int | None]
) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish(state, queue=queue, ttl=600))
    meet(alpha, beta)
    scene.clock.sleep(100)
    assert advice(beta)["alpha"] == expected
    scene.clock.sleep(501)
    assert advice(beta)["alpha"] == ("hold", None)


def test_nothing_is_sent_to_whose_clock_is_wrong(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    fast = again(alpha, clock=type(scene.clock)(wall=scene.clock.now() + 7200))
    presence.set_presence(fast.coord(), Wish("online"))
    meet(fast, beta)
    seen = {str(s.agent): s for s in presence.roster(beta.coord())}["alpha"]
    assert (tuple(seen.advice(beta.clock.now())), seen.is_live) == (("hold", None), False)


def test_a_last_will_is_kept_by_the_beats_of_its_session_only(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    presence.set_presence(alpha.coord(), Wish("busy", will="gamma goes on"))
    assert presence.set_presence(alpha.coord(), Wish("online")).will == "gamma goes on"
    meet(alpha, beta)
    scene.clock.sleep(10_000)
    (seen,) = [seen for seen in presence.roster(beta.coord()) if seen.agent == "alpha"]
    assert (seen.state, seen.record and seen.record.will) == ("unknown", "gamma goes on")
    assert presence.set_presence(again(alpha, session=Session("next")).coord(), Wish("online")).will is None


WORDS = Wish("busy", note="n", task="t", queue=3, branch="main", will="w")


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("none", (None, None, None, None, 0, None, None)),
        ("basic", ("n", "t", "w", "main", 3, None, None)),
        ("full", ("n", "t", "w", "main", 3, "box", "/srv/x")),
    ],
)
def test_presence_tells_no_more_than_is_shared(scene: Scene, level: str, expected: tuple[object, ...]) -> None:
    (alpha,) = scene.joined("alpha")
    where = {"host": "box", "place": "/srv/x"} if level == "full" else {}
    made = presence.set_presence(alpha.coord(share=level, **where), WORDS)
    assert (made.note, made.task, made.will, made.branch, made.queue, made.host, made.place) == expected
    assert (made.state, made.ttl) == ("busy", presence.DEFAULT_TTL)


@pytest.mark.parametrize("text", ["/home/me/x", "see ~/notes", "at C:\\work", "log=/var/log", '"/etc/passwd"'])
def test_an_absolute_path_in_words_is_refused_or_left_out(scene: Scene, text: str) -> None:
    (alpha,) = scene.joined("alpha")
    with pytest.raises(CoordError) as caught:
        presence.set_presence(alpha.coord(), Wish("busy", note=text))
    assert trouble(caught.value)[0] == "usage"
    assert caught.value.next == "git config coord.presence.share full"
    full = presence.set_presence(alpha.coord(share="full"), Wish("busy", note=text))
    assert full.note == text
    assert presence.set_presence(alpha.coord(), Wish("busy")).note is None


def test_a_command_or_an_address_is_no_absolute_path(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    text = "run /review of src/a.py at https://example.org/a/b"
    assert presence.set_presence(alpha.coord(), Wish("busy", note=text)).note == text
