"""`git coord release --to`: a claim goes from one agent to another with nobody in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.words import forget_sync, plain_json, said, type_in
from tests.helpers import Repo


@pytest.fixture
def team(alone: Repo) -> tuple[Repo, Repo, Repo]:
    """Return three agents of one repository without a remote."""
    beta, gamma = (alone.with_env(GIT_COORD_AGENT=name) for name in ("beta", "gamma"))
    for repo in (beta, gamma):
        repo.coord_json("init")
    return alone, beta, gamma


def holdings(repo: Repo) -> dict[str, tuple[str, int]]:
    """Return holder and token by path, after a fetch."""
    forget_sync(repo)
    claims = repo.coord_json("status")["claims"]
    return {item["path"]: (claim["agent"], claim["token"]) for claim in claims for item in claim["items"]}


def test_a_part_is_handed_over_and_its_receiver_is_told_once(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a", "b", "-m", "fix")
    assert said(alpha.coord("release", "b", "--to", "beta", "--reason", "your turn")) == (
        0,
        "handed   #1 to beta as #2   b\n"
        "         beta has it till <time>, and as long as usual once it shows a sign of life\n",
        "",
    )
    assert holdings(alpha) == {"a": ("alpha", 1), "b": ("beta", 2)}
    forget_sync(beta)
    assert "git coord: #2 b came to you: waited for, or handed over" in beta.coord("status").err
    assert "came to you" not in beta.coord("status").err
    assert alpha.coord_json("release", "b", code=4)["code"] == "lost"
    assert alpha.coord_json("renew", "#2", code=4)["code"] == "lost"
    assert holdings(beta) == {"a": ("alpha", 1), "b": ("beta", 2)}
    assert beta.coord_json("renew", "b")["claims"][0]["purpose"] == "fix"


@pytest.mark.parametrize("line", [["renew", "b"], ["renew", "#2"], ["release", "b"], ["release", "--all"]])
def test_what_was_handed_over_a_moment_ago_is_not_called_lost(pair: tuple[Repo, Repo], line: list[str]) -> None:
    alpha, beta = pair
    beta.coord_json("status")  # its picture is fresh, and knows nothing of the hand-over
    alpha.coord_json("claim", "b")
    alpha.coord_json("release", "b", "--to", "beta")
    assert [claim["token"] for claim in beta.coord_json(*line)["claims"]] == [2]


def test_what_nobody_can_be_asked_about_stays_what_it_was(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.git("remote", "set-url", "origin", "/nowhere")
    assert alpha.coord_json("release", "b", code=4)["message"] == "alpha holds no claim on b"


def test_a_hand_over_as_json_has_what_the_receiver_has(team: tuple[Repo, Repo, Repo]) -> None:
    alpha, _, _ = team
    alpha.coord_json("claim", "a")
    alpha.coord_json("claim", "b")
    answer = plain_json(alpha.coord_json("release", "--all", "--to", "beta"))
    assert set(answer) == {"ok", "confirmed", "claims", "granted"}
    rows = [(row["given"], row["token"], row["agent"], row["to"], row["unattended"]) for row in answer["claims"]]
    assert rows == [(1, 3, "beta", "beta", True), (2, 4, "beta", "beta", True)]


def test_a_hand_over_passes_by_those_who_wait(team: tuple[Repo, Repo, Repo]) -> None:
    alpha, beta, gamma = team
    alpha.coord_json("claim", "a")
    gamma.with_env(GIT_COORD_FAILPOINT="after publish").run("git-coord", "claim", "a", "--wait")
    alpha.coord_json("release", "a", "--to", "beta")
    assert holdings(gamma) == {"a": ("beta", 2)}
    granted = beta.coord_json("release", "a")["granted"]
    assert [(row["agent"], row["token"]) for row in granted] == [("gamma", 3)]


def test_the_holder_is_told_once_that_somebody_waits(team: tuple[Repo, Repo, Repo]) -> None:
    alpha, beta, _ = team
    alpha.coord_json("claim", "src", "-m", "mine")
    beta.with_env(GIT_COORD_FAILPOINT="after publish").run("git-coord", "claim", "src/a", "--wait", "-m", "please")
    line = "beta waits for src/a (#1, \"please\"), for at most another <age>; when you are done: git coord release '#1'"
    assert plain_json(alpha.coord_json("log"))["notices"] == [line]
    assert "notices" not in alpha.coord_json("log")
    assert said(alpha.coord("claim", "other"))[2] == ""


@pytest.mark.parametrize(
    ("to", "code", "message"),
    [
        ("alpha", 2, "--to alpha: that is this agent itself"),
        ("nobody", 1, "no agent nobody has joined"),
        ("No Agent", 2, "--to 'No Agent' cannot be an agent's name"),
    ],
)
def test_what_cannot_be_a_receiver_is_refused(team: tuple[Repo, Repo, Repo], to: str, code: int, message: str) -> None:
    alpha = team[0]
    alpha.coord_json("claim", "a")
    assert alpha.coord_json("release", "a", "--to", to, code=code)["message"] == message
    assert holdings(alpha) == {"a": ("alpha", 1)}


def test_what_the_giver_keeps_may_not_be_in_the_way(team: tuple[Repo, Repo, Repo]) -> None:
    alpha, _, _ = team
    alpha.coord_json("claim", "other")
    alpha.coord_json("claim", "src")
    alpha.coord_json("claim", "src/a")
    answer = alpha.coord_json("release", "#1", "#2", "--to", "beta", code=3)
    assert (answer["code"], answer["message"], answer["handed"]) == (
        "conflict",
        "beta cannot have src: you keep src/a (#3); handed over before that: #4",
        [4],
    )
    assert type_in(alpha, answer["next"]).code == 0
    alpha.coord_json("release", "#2", "--to", "beta")
    assert holdings(alpha) == {"other": ("beta", 4), "src": ("beta", 5)}


def test_a_hand_over_after_which_the_receiver_waits_for_itself_is_refused(team: tuple[Repo, Repo, Repo]) -> None:
    alpha, beta, gamma = team
    alpha.coord_json("claim", "a")
    gamma.coord_json("claim", "g")
    beta.with_env(GIT_COORD_FAILPOINT="after publish").run("git-coord", "claim", "g", "--wait")
    gamma.with_env(GIT_COORD_FAILPOINT="after publish").run("git-coord", "claim", "a", "--wait")
    answer = alpha.coord_json("release", "a", "--to", "beta", code=3)
    assert (answer["code"], [row["agent"] for row in answer["cycle"]]) == ("deadlock", ["beta", "gamma"])
    assert holdings(alpha) == {"a": ("alpha", 1), "g": ("gamma", 2)}


def test_a_late_release_of_the_old_holder_changes_nothing(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    other = alpha.with_env(GIT_COORD_FAILPOINT="before publish")
    alpha.coord_json("claim", "a")
    assert other.run("git-coord", "release", "a").code == -9
    alpha.coord_json("release", "a", "--to", "beta")
    assert alpha.coord_json("release", "#1", code=4)["code"] == "lost"
    assert holdings(beta) == {"a": ("beta", 2)}


def test_a_hand_over_without_the_remote_is_carried_out_by_the_next_sync(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    hub = Path(alpha.git("config", "remote.origin.url").strip())
    hub.rename(f"{hub}.gone")
    assert said(alpha.coord("release", "a", "--to", "beta"))[:2] == (
        0,
        "to be handed over to beta: #1   a\nnot sent, the next sync carries it: no answer\n",
    )
    Path(f"{hub}.gone").rename(hub)
    alpha.coord_json("sync")
    assert holdings(beta) == {"a": ("beta", 2)}
