"""`git coord preflight`: what is around before work, and whether to go, wait, or ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.past import claim_long_ago
from tests.cli.words import forget_sync, hints, plain_json, said, type_in
from tests.helpers import Repo

HERE = "here      beta         online <age>  main\n"


def test_nothing_in_the_way_is_go_with_the_line_to_claim(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    done = alpha.coord("preflight", "src/a b.py")
    assert said(done) == (
        0,
        f"branch    main, nothing changed\n{HERE}"
        "paths     free  src/a b.py   new\n"
        "go\n"
        "next      git coord claim 'src/a b.py'\n"
        "as of <age> ago, origin\n",
        "",
    )
    assert type_in(alpha, hints(done)[0]).code == 0
    assert alpha.coord("preflight", "src").code == 0, "what is mine is not in my way"


def test_a_path_that_is_held_is_wait_and_says_by_whom(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    beta.coord_json("claim", "src", "-m", "why")
    done = alpha.coord("preflight", "src/a.py", "free")
    assert said(done) == (
        3,
        f"branch    main, nothing changed\n{HERE}"
        'paths     held  src/a.py   beta #1 edit src   "why"   until <time>\n'
        "          free  free       new\n"
        "wait      src/a.py is held by beta\n"
        "next      git coord post --to beta 'need src/a.py'\n"
        "          git coord claim src/a.py free --wait 10m\n"
        "as of <age> ago, origin\n",
        "",
    )
    assert type_in(alpha, hints(done)[0]).code == 0
    answer = alpha.coord_json("preflight", "src/a.py", code=3)
    assert (answer["ok"], answer["code"], answer["decision"]) == (False, "conflict", "wait")
    assert answer["reasons"] == [{"kind": "held", "text": "src/a.py is held by beta", "agent": "beta"}]
    (resource,) = answer["resources"]
    assert (resource["path"], resource["status"], resource["holder"], resource["changed"]) == (
        *("src/a.py", "held", "beta"),
        False,
    )


def test_the_remote_is_asked_even_when_that_was_a_moment_ago(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    assert alpha.coord("preflight", "src").code == 0
    beta.coord_json("claim", "src")
    assert alpha.coord("preflight", "src", "--local").code == 0
    assert alpha.coord("preflight", "src").code == 3


def test_a_changed_file_that_somebody_holds_is_found_without_naming_it(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    beta.coord_json("claim", "src")
    alpha.write("src/new.py", "")
    alpha.write("mine.py", "")
    answer = alpha.coord_json("preflight", code=3)
    assert (answer["dirty"], answer["branch"]) == (["mine.py", "src/new.py"], "main")
    assert [reason["text"] for reason in answer["reasons"]] == ["src/new.py, changed here, is held by beta"]
    assert said(alpha.coord("preflight"))[1].splitlines()[0] == "branch    main, 2 changed: mine.py  src/new.py"


def test_a_lease_that_is_over_is_ask(alone: Repo) -> None:
    beta = alone.with_env(GIT_COORD_AGENT="beta", GIT_COORD_SESSION="elsewhere")
    assert beta.coord("init", "--agent", "beta").code == 0
    claim_long_ago(beta, "a", ago=1000, ttl=5)
    assert alone.coord("check", "a").code == 7
    answer = alone.coord("preflight", "a", "--json")
    assert answer.code == 7
    assert '"text":"a is held by beta, whose lease is over"' in answer.out


def test_a_checkout_shared_with_a_live_agent_is_ask_with_the_line_for_one_of_its_own(alone: Repo) -> None:
    beta = alone.with_env(GIT_COORD_AGENT="beta")
    assert beta.coord("init", "--agent", "beta").code == 0
    done = alone.coord("preflight")
    assert (done.code, "ask       beta is at work in this checkout too\n" in done.out) == (7, True)
    line = f"git worktree add -b alpha {alone.path}-alpha"
    assert hints(done) == [line]
    answer = alone.coord_json("preflight", code=7)
    assert (answer["decision"], answer["shared_with"], answer["worktree"], answer["next"]) == (
        "ask",
        ["beta"],
        line,
        line,
    )
    assert type_in(alone, line).code == 0
    assert alone.coord_json("preflight", code=7)["worktree"] == f"git worktree add -b alpha-2 {alone.path}-alpha-2"
    beta.coord_json("presence", "set", "end")
    assert alone.coord_json("preflight")["shared_with"] == []


def test_agents_in_worktrees_of_their_own_share_nothing(alone: Repo) -> None:
    alone.git("worktree", "add", "-q", "../other")
    beta = Repo(alone.path.parent / "other", alone.env)
    assert beta.coord("init", "--agent", "beta").code == 0
    assert [alone.coord_json("preflight")["shared_with"], beta.coord_json("preflight")["shared_with"]] == [[], []]
    assert [seen["agent"] for seen in alone.coord_json("preflight")["agents"]] == ["beta"]


def test_who_was_only_refused_in_a_worktree_does_not_work_there(alone: Repo) -> None:
    alone.git("worktree", "add", "-q", "../other")
    other = Repo(alone.path.parent / "other", alone.env)
    assert other.coord("claim", "a", "--agent", "alpha").code == 4  # which is at work in the main checkout
    assert other.coord("init", "--agent", "beta").code == 0
    assert other.coord_json("preflight")["shared_with"] == []


def test_another_session_is_ask_with_rejoin(alone: Repo) -> None:
    other = alone.with_env(GIT_COORD_SESSION="other")
    done = other.coord("preflight", "a")
    assert (done.code, hints(done)) == (7, ["git coord rejoin"])
    assert type_in(other, hints(done)[0]).code == 0
    assert other.coord("preflight", "a").code == 0


def test_where_nobody_is_set_up_it_is_ask_with_init(trio: tuple[Repo, Repo, Repo], tmp_path: Path) -> None:
    hub, alpha, _ = trio
    alpha.git("clone", "-q", str(hub.path), str(tmp_path / "fresh"))
    fresh = Repo(tmp_path / "fresh", alpha.env)
    done = fresh.coord("preflight", "a")
    assert (done.code, hints(done)) == (7, ["git coord init"])
    assert "ask       no agent is set up here\n" in done.out
    stranger = alpha.with_env(GIT_COORD_AGENT="gamma")
    reasons = [reason["text"] for reason in stranger.coord_json("preflight", "a", code=7)["reasons"]]
    assert reasons == ["alpha is at work in this checkout too", "gamma has not joined"]


def test_a_remote_that_cannot_be_asked_is_unknown_and_not_go(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    hub.path.rename(hub.path.parent / "away")
    forget_sync(alpha)
    answer = alpha.coord_json("preflight", "a", code=5)
    assert (answer["decision"], answer["next"]) == ("unknown", "git coord preflight a --local")
    assert type_in(alpha, answer["next"]).code == 0


def test_preflight_as_json_has_the_documented_fields(alone: Repo) -> None:
    assert plain_json(alone.coord_json("preflight")) == {
        "ok": True,
        "code": "ok",
        "decision": "go",
        "reasons": [],
        "agents": [],
        "shared_with": [],
        "resources": [],
        "branch": "main",
        "dirty": [],
        "next": None,
        "worktree": None,
        "new": [],
        "as_of": "<stamp>",
    }


def test_names_that_would_steer_a_terminal_are_escaped(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    beta.coord_json("claim", "a\x1b[31m", "b\udcff")
    alpha.write("a\x1b[31m", "")
    done = alpha.coord("preflight", "b\udcff")
    assert (done.code, "\x1b" in done.out, "b\\xff is held by beta" in done.out) == (3, False, True)
    answer = alpha.coord_json("preflight", "b\udcff", code=3)
    assert ([row["path"] for row in answer["resources"]], answer["dirty"]) == (
        [{"b64": "Yv8="}, "a\x1b[31m"],
        ["a\x1b[31m"],
    )


@pytest.mark.parametrize("path", ["../x", "a/../../y"])
def test_a_path_outside_is_wrong_usage(alone: Repo, path: str) -> None:
    assert alone.coord_json("preflight", path, code=2)["next"] is not None
