"""`git coord presence`, `post` and `posts`: who is here and what they say."""

from __future__ import annotations

import json
import os

import pytest

from git_coord.cli.status_command import agent_line
from git_coord.domain.announcements import Presence
from git_coord.domain.ids import Agent
from git_coord.service.presence import Seen
from tests.cli.words import forget_sync, plain_json, said, type_in
from tests.domain.world import START, statement
from tests.helpers import Repo, until


def test_presence_is_set_in_words_and_shown_to_others(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    assert said(alpha.coord("presence", "set", "busy", "-m", "fix string escapes", "--queue", "2")) == (
        0,
        "alpha is busy\n",
        "",
    )
    alpha.coord_json("sync")
    assert said(beta.coord("presence")) == (
        0,
        "alpha        busy <age>  main  fix string escapes   queue for <age>, 2 waiting\n"
        "beta         online <age>  main                       send for <age>\n"
        "as of <age> ago, origin\n",
        "",
    )
    agents = plain_json(beta.coord_json("presence"))["agents"]
    assert agents[0] == {
        "agent": "alpha",
        "state": "busy",
        "since": "<stamp>",
        "at": "<stamp>",
        "ttl": 900,
        "task": None,
        "note": "fix string escapes",
        "queue": 2,
        "branch": "main",
        "will": None,
        "host": None,
        "place": None,
        "future": False,
        "advice": "queue",
        "timeout": agents[0]["timeout"],
    }


@pytest.mark.parametrize(
    ("word", "state"),
    [("start", "online"), ("ready", "online"), ("standby", "dormant"), ("pause", "dormant"), ("end", "offline")],
)
def test_words_of_harnesses_mean_one_of_the_states(alone: Repo, word: str, state: str) -> None:
    answer = plain_json(alone.coord_json("presence", "set", word))
    assert answer == {"ok": True, "agent": "alpha", "state": state, "since": "<stamp>"}


def test_options_before_the_subcommand_count_too(alone: Repo) -> None:
    for line in (
        ["--json", "presence", "set", "busy"],
        ["presence", "--json", "set", "busy"],
        ["presence", "set", "busy", "--json"],
        ["--json", "--agent", "alpha", "presence", "set", "busy"],
    ):
        assert alone.coord(*line).out.startswith('{"agent":"alpha","ok":true'), line
    assert '"agent":"ghost"' not in alone.coord("--agent", "ghost", "presence", "--agent", "alpha", "--json").out
    assert alone.coord_json("--agent", "ghost", "claim", "a", code=1)["next"] is not None


def test_an_unknown_state_is_wrong_usage(alone: Repo) -> None:
    answer = alone.coord_json("presence", "set", "sleeping", code=2)
    assert answer["message"].startswith("invalid value for 'STATE': 'sleeping' is not one of 'busy', ")
    assert answer["next"] == "git coord presence set -h"


def test_a_post_is_written_updated_and_removed(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src")
    beta.coord_json("sync")
    done = beta.coord("post", "--to", "alpha", "--claim", "#1", "need", "src/lexer/scan.py")
    assert said(done) == (0, "<id>  beta to alpha about #1  open <age>   need src/lexer/scan.py\n", "")
    name = done.out.split()[0]
    beta.coord_json("sync")
    assert said(alpha.coord("posts")) == (
        0,
        "<id>  beta to alpha about #1  open <age>   need src/lexer/scan.py\nas of <age> ago, origin\n",
        "",
    )
    answer = alpha.coord_json("post", "update", name, "--status", "taken", code=4)
    assert (answer["message"], answer["next"]) == (f"post {name} is beta's", f"git coord post take {name}")
    changed = beta.coord_json("post", "update", name, "--status", "taken", "-m", "thanks")
    assert (changed["status"], changed["text"]) == ("taken", "thanks")
    beta.coord_json("post", "update", name, "--status", "done")
    assert [post["id"] for post in beta.coord_json("posts")["posts"]] == []
    assert [post["status"] for post in beta.coord_json("posts", "--all")["posts"]] == ["done"]
    assert said(beta.coord("post", "remove", name))[1] == "removed  <id>  beta to alpha about #1  done <age>   thanks\n"
    beta.coord_json("sync")
    forget_sync(alpha)
    assert alpha.coord_json("posts", "--all")["posts"] == []


def test_posts_as_json_have_the_documented_fields(alone: Repo) -> None:
    alone.coord_json("post", "hello")
    post = {"id": "<id>", "agent": "alpha", "status": "open", "text": "hello", "to": None, "at": "<stamp>"}
    post |= {"claim": None, "taken_by": None, "taker_says": None}
    assert plain_json(alone.coord_json("posts")) == {"ok": True, "posts": [post], "as_of": "<stamp>"}
    assert plain_json(alone.coord_json("post", "hello")) == {"ok": True, **post}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([""], 2, "a post needs a text"),
        (["a\nb"], 2, "TEXT must be one line of at most 500 characters without control characters"),
        (["x" * 501], 2, "TEXT must be one line of at most 500 characters without control characters"),
        (["--to", "nobody", "x"], 2, "no agent 'nobody' here"),
        (["--claim", "#9", "x"], 2, "no live claim #9"),
        (["hello", "--status", "done"], 2, "--status and -m go with: update ID"),
        (["update"], 2, "update which post? Give its ID"),
        (["update", "abc"], 2, "give --status or -m"),
        (["remove", "abc"], 4, "there is no post abc"),
    ],
    ids=lambda value: " ".join(value)[:20] if isinstance(value, list) else None,
)
def test_a_post_that_cannot_be_is_refused(alone: Repo, arguments: list[str], code: int, message: str) -> None:
    assert alone.coord_json("post", *arguments, code=code)["message"] == message
    assert alone.coord_json("posts", "--all")["posts"] == []


def test_a_last_will_is_shown_when_its_agent_fell_silent() -> None:
    words = {"branch": "main", "host": None, "note": None, "place": None, "queue": 0, "since": START, "state": "busy"}
    record = statement(3, Presence, "alpha", **words, task=None, ttl=900, will="gamma \u202egoes on")
    silent = Seen(Agent("alpha"), "unknown", record, is_future=False)
    assert agent_line(silent, record.at + 1000) == 'alpha        unknown  17 min  main  will: "gamma \u202egoes on"'


def states(repo: Repo) -> dict[str, tuple[str, str]]:
    """Return what each agent is said to be, and the advice, as the remote has it."""
    if repo.run("git", "remote").out:
        repo.coord_json("sync")
    return {row["agent"]: (row["state"], row["advice"]) for row in repo.coord_json("presence")["agents"]}


@pytest.mark.parametrize("door", ["run", "said", "edit hook"])
def test_who_said_goodbye_and_claims_again_is_online_again(pair: tuple[Repo, Repo], door: str) -> None:
    alpha, beta = pair
    if door == "run":
        assert alpha.coord("run", "--claim", "x", "--", "true").code == 0
    else:
        alpha.coord_json("presence", "set", "end", "-m", "gone home", "--queue", "3")
        alpha.coord_json("sync")
    assert states(beta)["alpha"] == ("offline", "hold")
    if door == "edit hook":
        call = {"session_id": "s", "cwd": str(alpha.path), "tool_name": "Edit"}
        call |= {"tool_input": {"file_path": str(alpha.path / "a")}}
        assert alpha.run("git-coord", "hook", "claude-code", "pre-edit", input=json.dumps(call)).code == 0
        until(lambda: beta.coord_json("sync") and states(beta)["alpha"][0] == "online")
    else:
        alpha.coord_json("claim", "a")
    assert states(beta)["alpha"] == ("online", "send")
    (line,) = [line for line in beta.coord("status").out.splitlines() if "alpha  " in line and "online" in line]
    assert "gone home" not in line
    (seen,) = [row for row in beta.coord_json("presence")["agents"] if row["agent"] == "alpha"]
    assert (seen["queue"], seen["will"] or "") == (0, "") or door == "run"


def test_without_a_remote_a_claim_brings_its_agent_back_too(alone: Repo) -> None:
    alone.coord_json("presence", "set", "end")
    assert states(alone)["alpha"] == ("offline", "hold")
    alone.coord_json("claim", "a")
    assert states(alone)["alpha"] == ("online", "send")
    alone.coord_json("presence", "set", "end")
    alone.coord_json("release", "a")
    assert states(alone)["alpha"] == ("offline", "hold")  # who tidies up after itself is not back


def test_an_agent_without_a_heartbeat_was_seen_by_what_it_did(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.git("push", "-q", "origin", ":refs/coord/presence/alpha", ":refs/coord/presence/beta")
    alpha.coord_json("claim", "a")
    alpha.git("push", "-q", "origin", ":refs/coord/presence/alpha")
    assert states(beta)["alpha"] == ("online", "send")
    assert "not seen" not in beta.coord("status").out
    refused = beta.coord("claim", "a").out
    assert "seen " in refused
    assert "not seen" not in refused


def test_host_and_place_are_told_only_when_they_are_shared(alone: Repo) -> None:
    alone.coord_json("presence", "set", "busy")
    (seen,) = alone.coord_json("presence")["agents"]
    assert (seen["host"], seen["place"]) == (None, None)
    alone.git("config", "coord.presence.share", "full")
    alone.coord_json("presence", "set", "busy")
    (seen,) = alone.coord_json("presence")["agents"]
    assert (seen["host"], seen["place"]) == (os.uname().nodename, str(alone.path))
    alone.git("config", "coord.presence.share", "everything")
    answer = alone.coord_json("presence", code=1)
    assert (answer["message"], answer["next"]) == (
        "coord.presence.share is 'everything', not none, basic or full",
        "git config --replace-all coord.presence.share basic",
    )


def test_an_unread_post_is_said_once_in_the_output_of_the_next_command(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    name = beta.coord_json("post", "--to", "alpha", "need src")["id"]
    beta.coord_json("sync")
    line = f'git coord: post {name} from beta: "need src"   git coord post take {name}\n'
    done = alpha.coord("sync")
    assert (done.code, done.err) == (0, line)
    assert alpha.coord("check", "--local", "a").err == ""
    assert said(alpha.coord("posts", "--for", "me", "--unread"))[1] == "none\nas of <age> ago, origin\n"
    assert len(alpha.coord_json("posts", "--for", "me")["posts"]) == 1
    assert alpha.coord_json("posts", "--for", "beta")["posts"] == []
    assert alpha.coord_json("posts", "--for", "nobody", code=2)["message"] == "no agent 'nobody' here"


def test_an_unread_post_is_in_the_json_of_the_next_command(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    name = beta.coord_json("post", "hello all")["id"]
    beta.coord_json("sync")
    assert alpha.coord_json("sync")["notices"] == [f'post {name} from beta: "hello all"   git coord post take {name}']
    assert "notices" not in alpha.coord_json("sync")


def test_a_post_is_taken_with_the_command_that_the_notice_names(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    name = beta.coord_json("post", "who tests?")["id"]
    beta.coord_json("sync")
    advice = alpha.coord("sync").err.rpartition("   ")[2]
    assert type_in(alpha, advice).out.split()[:3] == [name, "beta", "taken"]
    assert beta.coord("sync").err == f'git coord: alpha took your post {name} "who tests?"\n'
    alpha.coord_json("post", "update", name, "--status", "done", "-m", "all green")
    alpha.coord_json("sync")
    forget_sync(beta)
    (post,) = beta.coord_json("posts")["posts"]
    assert (post["status"], post["taken_by"], post["taker_says"]) == ("taken", "alpha", "done")
    assert said(beta.coord("posts"))[1].splitlines()[0] == (
        "<id>  beta  taken by alpha, who says done <age>   who tests?"
    )


def test_who_said_goodbye_is_seen_again_with_the_next_thing_it_does(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair

    def state() -> str:
        beta.coord_json("sync")
        return str(beta.coord_json("presence")["agents"][0]["state"])

    alpha.coord("presence", "set", "offline")
    alpha.coord_json("sync")
    assert state() == "offline"
    alpha.coord_json("claim", "a")
    assert state() == "online"
