"""What is said to others leaves with the command that says it; what did not is said, and counted until a sync."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.words import forget_sync, said
from tests.helpers import Repo

NOT_SENT = "not sent, the next sync carries it: "


@contextmanager
def away(hub: Repo) -> Iterator[None]:
    gone = hub.path.rename(hub.path.with_name("gone"))
    try:
        yield
    finally:
        gone.rename(hub.path)


def pushes(hub: Repo) -> Path:
    """Return the file in which the hub writes a line for each push."""
    log = hub.path / "pushes"
    hub.write("hooks/post-receive", f"#!/bin/sh\necho push >>{log}\n").chmod(0o755)
    log.write_text("")
    return log


def texts(repo: Repo) -> list[tuple[str, str]]:
    forget_sync(repo)
    return [(post["text"], post["status"]) for post in repo.coord_json("posts", "--all")["posts"]]


def test_a_post_and_each_change_of_it_is_at_the_remote_when_its_command_ends(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    log = pushes(hub)
    first = alpha.coord_json("post", "nearly done")
    assert ("sent" in first, log.read_text()) == (False, "push\n")
    assert texts(beta) == [("nearly done", "open")]
    alpha.coord_json("post", "update", first["id"], "--status", "done", "-m", "done")
    assert texts(beta) == [("done", "done")]
    alpha.coord_json("post", "remove", first["id"])
    assert texts(beta) == []
    assert log.read_text() == "push\n" * 3


def test_who_takes_a_post_lets_its_author_know_at_once(trio: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = trio
    post = alpha.coord_json("post", "who has time?")["id"]
    assert beta.coord_json("post", "take", post)["taken_by"] == "beta"
    forget_sync(alpha)
    assert [each["taken_by"] for each in alpha.coord_json("posts")["posts"]] == ["beta"]


def test_presence_is_at_the_remote_when_it_is_set(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    log = pushes(hub)
    assert said(alpha.coord("presence", "set", "busy", "-m", "fix the parser")) == (0, "alpha is busy\n", "")
    assert log.read_text() == "push\n"
    forget_sync(beta)
    seen = beta.coord_json("presence")["agents"][0]
    assert (seen["agent"], seen["state"], seen["note"]) == ("alpha", "busy", "fix the parser")
    alpha.coord_json("presence", "set", "end")
    forget_sync(beta)
    assert beta.coord_json("presence")["agents"][0]["state"] == "offline"


def test_without_an_answer_it_is_done_here_said_and_counted_until_a_sync(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    alpha.coord_json("claim", "a")
    with away(hub):
        code, out, err = said(alpha.coord("post", "first"))
        assert (code, out.splitlines()[1].startswith(NOT_SENT), err) == (0, True, "")
        second = alpha.coord_json("post", "second")
        assert (second["ok"], second["sent"], second["why"] != "") == (True, False, True)
        shown = said(alpha.coord("presence", "set", "busy"))
        assert (shown[0], shown[1].splitlines()[0]) == (0, "alpha is busy")
        assert shown[1].splitlines()[1].startswith(NOT_SENT)
        assert "not sent  2 posts, presence      git coord sync\n" in alpha.coord("status", "--local").out
        given = alpha.coord("release", "a", "--to", "beta")
        assert (given.code, given.out.splitlines()[1].startswith(NOT_SENT)) == (0, True)
        counted = {"posts": 2, "presence": 1, "operations": 1}
        assert alpha.coord_json("status", "--local")["not_sent"] == counted
        findings = alpha.coord_json("doctor", code=1)["findings"]
        assert {"level": "note", "text": "not sent: 2 posts, presence", "next": "git coord sync"} in findings
        assert any(one["text"].startswith("release ") and one["next"] == "git coord sync" for one in findings)
    alpha.coord_json("sync")
    assert "not_sent" not in alpha.coord_json("status")
    assert "not sent" not in alpha.coord("status").out + alpha.coord("doctor").out
    assert sorted(texts(beta)) == [("first", "open"), ("second", "open")]
    assert [claim["agent"] for claim in beta.coord_json("status")["claims"]] == ["beta"]


def test_a_host_that_refuses_it_is_quoted(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    hub.write("hooks/pre-receive", "#!/bin/sh\necho on holiday >&2\nexit 1\n").chmod(0o755)
    why = alpha.coord_json("post", "hello")["why"]
    assert ("pre-receive hook declined" in why, "on holiday" in why) == (True, True)
    assert alpha.coord_json("status", "--local")["not_sent"]["posts"] == 1


def test_a_take_whose_answer_is_cut_off_says_that_the_next_sync_carries_it(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    post = alpha.coord_json("post", "who has time?")["id"]
    hub.write("hooks/pre-receive", "#!/bin/sh\nexit 1\n").chmod(0o755)
    answer = beta.coord_json("post", "take", post, code=5)
    assert answer["message"].endswith(f"that you take {post} is noted here, the next sync carries it")
    assert answer["next"] == "git coord sync"


@pytest.mark.parametrize("words", [("post", "hello"), ("presence", "set", "busy")])
def test_without_a_remote_there_is_nothing_to_send(alone: Repo, words: tuple[str, ...]) -> None:
    done = alone.coord(*words)
    assert (done.code, "not sent" in done.out + done.err) == (0, False)
    assert "not_sent" not in alone.coord_json("status")


def test_what_an_agent_posts_in_two_clones_is_all_there(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    here = {"GIT_COORD_AGENT": "alpha", "GIT_COORD_SESSION": alpha.coord_json("whoami")["session"]}
    other = beta.with_env(**here)
    kept, ended, removed = (alpha.coord_json("post", text)["id"] for text in ("kept", "ended", "removed"))
    other.coord_json("sync")
    with away(hub):
        alpha.coord("post", "from here")
        alpha.coord("post", "update", ended, "--status", "done")
        other.coord("post", "from there")
        other.coord("post", "remove", removed)
    other.coord_json("sync")
    alpha.coord_json("sync")
    expected = [("ended", "done"), ("from here", "open"), ("from there", "open"), ("kept", "open")]
    for repo in (alpha, other, beta):
        assert sorted(texts(repo)) == expected
    assert kept
    # Nobody has to sync in between: the push that is refused brings the other list.
    alpha.coord_json("post", "again here")
    other.coord_json("post", "again there")
    assert {text for text, _ in texts(alpha)} >= {"again here", "again there", "from here", "from there"}
