"""`git coord claim --wait`: real processes that queue, are served, give up, are interrupted and killed."""

from __future__ import annotations

import signal

import pytest

from tests.cli.words import forget_sync, plain, plain_json, said, type_in
from tests.helpers import Repo
from tests.helpers.waiter import Waiters


@pytest.fixture
def team(alone: Repo) -> tuple[Repo, Repo, Repo]:
    """Return three agents of one repository without a remote."""
    beta, gamma = (alone.with_env(GIT_COORD_AGENT=name) for name in ("beta", "gamma"))
    for repo in (beta, gamma):
        repo.coord_json("init")
    return alone, beta, gamma


def queue_of(repo: Repo) -> list[str]:
    """Return who waits, after a fetch."""
    forget_sync(repo)
    return [row["agent"] for row in repo.coord_json("status")["waiting"]]


def test_a_waiter_is_granted_by_the_release_which_names_it(team: tuple[Repo, Repo, Repo], start: Waiters) -> None:
    alpha, beta, _ = team
    alpha.coord_json("claim", "src/lexer", "-m", "fix")
    waiter = start(beta, "src/lexer/scan.py", "--wait", "-m", "digits")
    assert waiter.says == "git coord: waiting behind alpha #1 (src/lexer), number 1 in the queue, for at most 10 min\n"
    line = 'waiting   beta  edit  src/lexer/scan.py  behind alpha #1  until <time>   "digits"'
    assert line in said(alpha.coord("status"))[1].splitlines()
    assert said(alpha.coord("release", "--all")) == (
        0,
        "released #1   src/lexer\ngranted  #2   beta   src/lexer/scan.py   (was waiting)\n",
        "",
    )
    code, out, err = waiter.ends()
    assert (code, err) == (0, "")
    assert plain(out) == "#2  yours until <time>, longer while you are alive\n  edit   src/lexer/scan.py   new\n"
    (claim,) = beta.coord_json("status")["claims"]
    assert (claim["agent"], claim["token"], claim["unattended"]) == ("beta", 2, False)


def test_a_waiter_in_another_clone_is_granted(pair: tuple[Repo, Repo], start: Waiters) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    waiter = start(beta, "a", "--wait", "--json")
    granted = alpha.coord_json("release", "a")["granted"]
    item = {"path": "a", "intent": "edit", "match": "literal", "blob": None}
    assert granted == [{"token": 2, "agent": "beta", "items": [item]}]
    code, answer = waiter.answer()
    assert (code, answer["token"], answer["agent"], answer["items"]) == (0, 2, "beta", [item])


def test_a_wait_in_vain_is_exit_75_and_says_who_was_in_the_way(team: tuple[Repo, Repo, Repo]) -> None:
    alpha, beta, gamma = team
    alpha.coord_json("claim", "a", "-m", "mine")
    assert said(beta.coord("claim", "a", "--wait", "1s")) == (
        75,
        "waited <age> in vain, nothing claimed\n"
        '  a   alpha #1 edit   "mine"\n'
        "      since <time>, seen <age> ago, until <time>\n"
        "next   git coord claim a --wait 10m\n"
        "       git coord post --to alpha 'need a'\n",
        "git coord: waiting behind alpha #1 (a), number 1 in the queue, for at most <age>\n",
    )
    answer = gamma.coord_json("claim", "a", "--wait=1s", code=75)
    assert (answer["ok"], answer["code"], answer["holder"], answer["token"]) == (False, "timeout", "alpha", 1)
    assert [conflict["path"] for conflict in answer["conflicts"]] == ["a"]
    assert queue_of(alpha) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_wait_leaves_nothing(
    team: tuple[Repo, Repo, Repo], start: Waiters, number: int, status: int
) -> None:
    alpha, beta, _ = team
    alpha.coord_json("claim", "a")
    waiter = start(beta, "a", "--wait")
    code, out, err = waiter.ends(number)
    assert (code, out) == (status, ""), err
    assert err == "git coord: interrupted; nothing is claimed, and nothing waits\n"
    assert queue_of(alpha) == []
    assert alpha.coord_json("release", "a")["granted"] == []


def test_an_interrupted_wait_leaves_nothing_at_the_hub(pair: tuple[Repo, Repo], start: Waiters) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    waiter = start(beta, "a", "--wait")
    assert waiter.ends(signal.SIGTERM)[0] == 143
    assert queue_of(alpha) == []


def test_a_killed_waiter_is_seen_and_what_it_is_granted_needs_a_sign_of_life(
    team: tuple[Repo, Repo, Repo], start: Waiters
) -> None:
    alpha, beta, gamma = team
    alpha.coord_json("claim", "a")
    start(beta, "a", "--wait").ends(signal.SIGKILL)
    assert queue_of(alpha) == ["beta"]
    alpha.coord_json("release", "a")
    (claim,) = gamma.coord_json("status")["claims"]
    assert (claim["agent"], claim["unattended"], claim["token"]) == ("beta", True, 2)
    assert "came while its holder was not acting: needs a sign of life by then" in gamma.coord("status").out


def test_a_newcomer_is_kept_off_and_told_who_waits(team: tuple[Repo, Repo, Repo], start: Waiters) -> None:
    alpha, beta, gamma = team
    alpha.coord_json("claim", "a")
    start(beta, "a", "b", "--wait", "-m", "both")
    assert said(gamma.coord("claim", "b")) == (
        3,
        "refused, nothing claimed\n"
        '  b   beta waiting edit   "both"\n'
        "      since <time>, not seen, keeps newcomers off until <time>\n"
        "next   git coord claim b --wait 10m\n"
        "       git coord post --to beta 'need b'\n",
        "",
    )
    answer = plain_json(gamma.coord_json("claim", "b", code=3))
    assert (answer["holder"], answer["token"], answer["waiting"]) == ("beta", None, True)
    (row,) = gamma.coord_json("check", "b", code=3)["resources"]
    assert (row["status"], row["holder"], row["token"]) == ("held", "beta", None)
    assert alpha.coord("claim", "b").code == 0


def test_a_deadlock_is_refused_with_the_round(pair: tuple[Repo, Repo], start: Waiters) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src/b.py")
    beta.coord_json("claim", "src/a.py")
    start(beta, "src/b.py", "--wait")
    done = alpha.coord("claim", "src/a.py", "--wait")
    assert said(done) == (
        3,
        "",
        "git coord: beta waits for src/b.py (#1), for at most another <age>; when you are done: "
        "git coord release '#1'\n"
        "git coord: refused, nobody would ever get on: "
        "alpha waits for beta (src/a.py), beta waits for alpha (src/b.py)\n"
        "next   git coord release '#1'\n",
    )
    answer = alpha.coord_json("claim", "src/a.py", "--wait", code=3)
    assert set(answer) == {"ok", "code", "cycle", "message", "next"}
    assert (answer["code"], answer["cycle"][1]) == (
        "deadlock",
        {"agent": "beta", "waits_for": "alpha", "path": "src/b.py"},
    )
    assert type_in(alpha, answer["next"]).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--wait", "2h"], "--wait is 7200 s, and at most 1h"),
        (["a", "--wait=soon"], "--wait is 'soon', not a duration like 90s, 30m or 2h"),
        (["--wait"], "name at least one path or task"),
    ],
    ids=str,
)
def test_a_wait_that_cannot_be_is_a_usage_error(alone: Repo, arguments: list[str], message: str) -> None:
    assert alone.coord_json("claim", *arguments, code=2)["message"] == message


def test_a_wait_may_stand_before_the_paths(alone: Repo) -> None:
    assert alone.coord_json("claim", "--wait", "a", "b")["token"] == 1
    assert alone.coord_json("claim", "--wait", "5m", "c")["items"][0]["path"] == "c"


def test_without_the_remote_nothing_waits(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    url = beta.git("config", "remote.origin.url").strip()
    beta.git("config", "remote.origin.url", f"{url}.gone")
    assert beta.coord_json("claim", "a", "--wait", code=5)["code"] == "unknown"
    assert beta.coord_json("claim", "a", "--wait", "--offline", code=2)["code"] == "usage"
    beta.git("config", "remote.origin.url", url)
    beta.coord_json("sync")
    assert queue_of(alpha) == []
    assert alpha.coord_json("release", "a")["granted"] == []


def test_a_wait_that_replaces_own_claims_loses_none(team: tuple[Repo, Repo, Repo], start: Waiters) -> None:
    alpha, beta, _ = team
    alpha.coord_json("claim", "a")
    beta.coord_json("claim", "b")
    waiter = start(alpha, "a", "b", "--wait", "--json")
    beta.coord_json("release", "b")
    code, answer = waiter.answer()
    assert (code, answer["token"], "notices" in answer) == (0, 3, False)
    done = alpha.coord("status")
    assert (done.code, done.err) == (0, "")
    assert "#1" not in done.out
