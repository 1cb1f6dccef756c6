"""The board as others use it: taking posts of others, whom a post is for, and being told of it exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.service.scene import Desk, Scene, again, beside, trouble

from git_coord.domain.ids import Agent, Nonce, Session
from git_coord.errors import CoordError, Kind
from git_coord.service import posts, unread, unread_marks
from git_coord.service.files import CoordFiles
from git_coord.store.interface import Store


def post(desk: Desk, text: str, to: str | None = None) -> str:
    """Post a line and let others have it."""
    made = posts.add_post(desk.coord(), text, Agent(to) if to else None, None)
    desk.sync()
    return made.post.id


def told(desk: Desk) -> list[str]:
    """Fetch, and return what the agent is then told, without ids and commands."""
    if desk.remote is not None:
        desk.sync()
    return [line.partition("   git coord")[0] for line in unread.tell(desk.coord())]


def shown(desk: Desk, post_id: str) -> tuple[str, str | None, str | None]:
    """Return status, taker and the taker's word as the desk sees them after a fetch."""
    desk.sync()
    (found,) = [posted for posted in posts.board(desk.coord()) if posted.post.id == post_id]
    return found.status, found.taker, found.taking.status if found.taking else None


def test_a_post_is_taken_in_the_takers_own_list_and_ended_by_its_author(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    name = post(alpha, "who fixes the lexer?")
    made = posts.take_post(beta.coord(), name, "I do")
    assert (made.agent, made.status, made.taker) == ("alpha", "taken", "beta")
    assert [shown(desk, name) for desk in (alpha, gamma)] == [("taken", "beta", "taken")] * 2
    posts.update_post(beta.coord(), name, "done", None)
    beta.sync()
    assert shown(alpha, name) == ("taken", "beta", "done")
    posts.update_post(alpha.coord(), name, "done", None)
    alpha.sync()
    assert shown(gamma, name) == ("done", "beta", "done")


@pytest.mark.parametrize("how", ["dropped", "removed"])
def test_who_gives_a_post_back_leaves_it_open(scene: Scene, how: str) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    name = post(alpha, "who?")
    posts.take_post(beta.coord(), name, "")
    if how == "dropped":
        posts.update_post(beta.coord(), name, "dropped", None)
    else:
        posts.remove_post(beta.coord(), name)
    beta.sync()
    assert shown(gamma, name) == ("open", None, None)
    posts.take_post(gamma.coord(), name, "")
    assert shown(alpha, name)[:2] == ("taken", "gamma")


def test_what_cannot_be_taken_is_refused_with_the_reason(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    name = post(alpha, "who?")
    posts.take_post(beta.coord(), name, "")
    over = post(alpha, "old")
    posts.update_post(alpha.coord(), over, "done", None)
    alpha.sync()
    reasons = []
    for desk, wanted in ((gamma, name), (alpha, name), (gamma, over), (gamma, "ffffffff")):
        with pytest.raises(CoordError) as caught:
            posts.take_post(desk.coord(), wanted, "")
        reasons.append(trouble(caught.value))
    assert reasons == [
        ("conflict", f"post {name} is taken by beta"),
        ("lost", f"post {name} is your own"),
        ("lost", f"alpha says that post {over} is done"),
        ("lost", "there is no post ffffffff"),
    ]
    assert posts.take_post(beta.coord(), name, "").taker == "beta", "taking again is no trouble"


def test_of_two_who_take_at_once_the_later_gives_way(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    name = post(alpha, "who?")
    late = gamma.coord()

    def while_beta_is_faster() -> Nonce:  # the first thing that the taker asks for after it looked at the board
        late.nonce = scene.nonce
        posts.take_post(beta.coord(), name, "")
        scene.clock.sleep(1)
        return scene.nonce()

    late.nonce = while_beta_is_faster
    with pytest.raises(CoordError) as caught:
        posts.take_post(late, name, "")
    assert trouble(caught.value) == ("conflict", f"post {name} is taken by beta")
    gamma.sync()
    posts.remove_post(beta.coord(), name)
    beta.sync()
    assert [shown(desk, name) for desk in (alpha, gamma)] == [("open", None, None)] * 2, "gamma left nothing behind"


def test_nobody_takes_a_post_without_asking_the_remote(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    name = post(alpha, "who?")
    beta.sync()
    assert beta.remote is not None
    beta.remote.offline = True
    with pytest.raises(CoordError) as caught:
        posts.take_post(beta.coord(), name, "")
    assert caught.value.kind is Kind.UNKNOWN
    beta.remote.offline = False
    assert shown(beta, name) == ("open", None, None)


def test_a_post_is_for_its_addressee_the_holder_of_its_claim_or_everybody(scene: Scene) -> None:
    _, beta, gamma = scene.joined("alpha", "beta", "gamma")
    claim = beta.granted("a.txt").claim
    gamma.sync()
    for to, about in ((None, None), (Agent("alpha"), None), (None, claim.op), (Agent("alpha"), claim.op)):
        posts.add_post(gamma.coord(), "x", to, about)
    board = posts.board(gamma.coord())
    addressees = [[name for name in ("alpha", "beta", "gamma") if posted.is_for(Agent(name))] for posted in board]
    assert sorted(addressees) == [["alpha"], ["alpha"], ["alpha", "beta"], ["beta"]]
    assert {posted.token for posted in board} == {None, claim.token}


def test_a_post_is_told_once_to_those_it_is_for(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    name = post(alpha, "need a.txt", to="beta")
    assert (told(beta), told(gamma), told(alpha)) == ([f'post {name} from alpha: "need a.txt"'], [], [])
    assert told(beta) == []
    posts.update_post(alpha.coord(), name, None, "need b.txt")
    alpha.sync()
    assert told(beta) == [f'post {name} from alpha: "need b.txt"'], "another text is news"
    posts.update_post(alpha.coord(), name, "done", None)
    alpha.sync()
    assert told(beta) == []


def test_the_author_is_told_who_took_its_post_and_how_that_ended(scene: Scene) -> None:
    alpha, beta, gamma = scene.joined("alpha", "beta", "gamma")
    name = post(alpha, "who?")
    assert told(gamma) == [f'post {name} from alpha: "who?"']
    posts.take_post(beta.coord(), name, "tomorrow")
    assert (told(alpha), told(gamma)) == ([f'beta took your post {name} "who?": "tomorrow"'], [])
    posts.update_post(beta.coord(), name, "done", "see main")
    beta.sync()
    assert told(alpha) == [f'beta is done with your post {name} "who?": "see main"']


def test_a_new_session_was_told_nothing_yet(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    post(alpha, "hello")
    assert len(told(beta)) == 1
    assert len(told(again(beta, session=Session("next")))) == 1
    assert told(beta) == []


def test_what_was_shown_is_not_told_any_more(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    post(alpha, "one")
    beta.sync()
    unread.mark_read(beta.coord(), posts.board(beta.coord()))
    post(alpha, "two")
    assert [line.split('"')[1] for line in told(beta)] == ["two"]


def test_agents_of_one_clone_are_each_told(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    beta = beside(alpha, "beta")
    beta.init()
    post(alpha, "hello")
    assert len(unread.tell(beta.coord())) == 1
    assert unread.tell(beta.coord()) == []


def test_many_posts_are_told_in_few_lines(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    for number in range(8):
        posts.add_post(alpha.coord(), str(number), None, None)
        scene.clock.sleep(1)
    alpha.sync()
    lines = told(beta)
    assert ([line.split('"')[1] for line in lines[:5]], lines[5:]) == (
        list("01234"),
        ["3 more posts: git coord posts --for me"],
    )


def test_without_news_nothing_is_read_but_two_small_files(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    assert unread_marks.news(beta.coord()) is None
    post(alpha, "hello")
    assert len(told(beta)) == 1
    untouchable = cast("Store", None)
    coord = beta.coord(opened=False)
    coord.store = untouchable
    assert unread.tell(coord) == []


def test_a_disk_that_takes_nothing_keeps_no_post_from_being_shown(scene: Scene, tmp_path: Path) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    post(alpha, "hello")
    beta.sync()
    (tmp_path / "file").touch()
    full = again(beta, files=CoordFiles(str(tmp_path / "file"), str(tmp_path / "file")))
    coord = full.coord()
    unread.mark_read(coord, posts.board(coord))
    assert [notice.posted.post.text for notice in unread.unread(coord)] == ["hello"]
    assert unread.tell(coord) == []
