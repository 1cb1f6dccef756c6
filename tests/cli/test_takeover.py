"""`git coord takeover`: each gate is shown, a refusal says when it may open, and a dry run takes nothing."""

from __future__ import annotations

from typing import Any

from tests.cli.past import claim_long_ago, watched_long_ago
from tests.cli.words import hints, plain, plain_json, said, type_in
from tests.helpers import Repo

GATES = ["lease", "presence", "commits", "watched"]


def opened(answer: dict[str, Any]) -> dict[str, bool]:
    """Return of the first claim which gates are open."""
    return {gate["gate"]: gate["passed"] for gate in answer["claims"][0]["gates"]}


def test_a_claim_is_taken_over_once_this_clone_has_watched_it_for_a_lease(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    claim_long_ago(alpha, "src/a.py", "src/b.py", purpose="fix the parser")
    done = beta.coord("takeover", "src/a.py")
    assert done.code == 7
    assert plain(done.out).splitlines() == [
        "refused, nothing taken over: #1 of alpha cannot be taken over yet",
        '  #1  alpha   src/a.py  src/b.py   "fix the parser"',
        "    open    lease     over since <time>",
        "    open    presence  alpha was seen last <time>",
        "    open    commits   none with a receipt of alpha",
        "    closed  watched   unchanged here for <age> of <age>, "
        "and nobody else's fresh record agrees with this clock, not before <time>",
        "next   git coord takeover src/a.py      (not before <time>)",
        "       git coord post --to alpha 'need src/a.py'",
    ]
    watched_long_ago(beta, 300)
    again = type_in(beta, hints(done)[0])
    assert (again.code, plain(again.out).splitlines()[:4]) == (
        0,
        [
            "#2  yours until <time>, longer while you are alive",
            "  edit   src/a.py",
            "  free   src/b.py",
            '  #1  alpha   src/a.py  src/b.py   "fix the parser"',
        ],
    )
    assert beta.coord_json("check", "src/a.py")["resources"][0]["status"] == "mine"
    assert [claim["purpose"] for claim in beta.coord_json("status")["claims"]] == ["fix the parser"]
    # The old holder hears of it in whatever it does next, and its late renewal changes nothing.
    late = alpha.coord("renew", "src/a.py")
    assert late.code == 4
    assert plain(late.err).splitlines()[0] == (
        'git coord: lost: #1 src/a.py, src/b.py, taken over by beta <age> ago, "alpha silent since <stamp>"'
    )
    assert beta.coord_json("status")["claims"][0]["agent"] == "beta"


def test_a_dry_run_shows_the_gates_and_takes_nothing(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    claim_long_ago(alpha, "a")
    assert opened(beta.coord_json("takeover", "#1", "--dry-run", code=7)) == {
        **dict.fromkeys(GATES, True),
        "watched": False,
    }
    watched_long_ago(beta, 300)
    tip = beta.rev("refs/coord/claims")
    done = beta.coord("takeover", "#1", "--dry-run")
    assert (done.code, done.out.splitlines()[0], hints(done)) == (0, "may be taken over", ["git coord takeover '#1'"])
    answer = beta.coord_json("takeover", "#1", "--dry-run")
    assert (answer["dry_run"], opened(answer), answer["items"][0]["path"]) == (True, dict.fromkeys(GATES, True), "a")
    assert beta.rev("refs/coord/claims") == tip


def test_a_refusal_of_a_lease_that_runs_is_a_conflict(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    answer = beta.coord_json("takeover", "a", code=3)
    assert (answer["code"], answer["holder"], answer["token"]) == ("conflict", "alpha", 1)
    assert answer["message"] == "#1 is held by alpha, and its lease is not over"
    assert answer["next"] == "git coord post --to alpha 'need a'"
    assert opened(answer) == {"lease": False, "presence": False, "commits": True, "watched": False}
    gate = answer["claims"][0]["gates"][0]
    assert plain_json(gate) == {
        "gate": "lease",
        "passed": False,
        "text": "runs until",
        "at": "<stamp>",
        "passes_at": "<stamp>",
    }
    assert answer["may_pass_at"] > gate["at"]


def test_a_holder_that_is_seen_is_a_persons_to_judge(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    claim_long_ago(alpha, "a", ago=400, ttl=300)  # its heartbeat is good for a quarter of an hour
    done = beta.coord("takeover", "a")
    assert done.code == 7
    assert plain(done.out).splitlines()[0] == (
        "refused, nothing taken over: #1: the ledger says that the lease is over, the roster that alpha is here; "
        "ask the person who runs it"
    )
    assert beta.coord_json("takeover", "a", code=7)["code"] == "roster_disagrees"


def test_in_one_repository_a_takeover_needs_no_remote(alone: Repo) -> None:
    other = alone.worktree("beta", agent="beta")
    assert other.coord("init", "--agent", "beta").code == 0
    claim_long_ago(alone, "a")
    assert other.coord_json("takeover", "a", code=7)["code"] == "stale"
    watched_long_ago(alone, 300)
    answer = other.coord_json("takeover", "a", "-m", "alpha has left", "--purpose", "go on")
    assert (answer["token"], answer["freed"], opened(answer)) == (2, [], dict.fromkeys(GATES, True))
    assert "#2 beta takes over a (edit): alpha #1" in other.coord("log").out


def test_what_is_not_in_the_way_and_what_the_policy_forbids(alone: Repo) -> None:
    other = alone.worktree("beta", agent="beta")
    assert other.coord("init", "--agent", "beta").code == 0
    claim_long_ago(alone, "a")
    assert said(other.coord("takeover", "b", "it's")) == (
        1,
        "",
        "git coord: b, it's are free: nobody else holds them, there is nothing to take over\n"
        "next   git coord claim b 'it'\"'\"'s'\n",
    )
    assert other.coord_json("takeover", code=2)["message"] == "name at least one path or #token"
    alone.coord_json("policy", "--takeover", "never")
    answer = other.coord_json("takeover", "a", code=7)
    assert (answer["code"], answer["next"]) == ("takeover_off", "git coord break '#1' -m TEXT")


def test_a_claim_refused_by_a_stale_one_shows_the_way_to_a_takeover(alone: Repo) -> None:
    other = alone.worktree("beta", agent="beta")
    assert other.coord("init", "--agent", "beta").code == 0
    claim_long_ago(alone, "a")
    done = other.coord("claim", "a")
    assert (done.code, hints(done)[:2]) == (3, ["git coord claim a --wait 10m", "git coord takeover '#1' --dry-run"])
    assert "watched" in type_in(other, hints(done)[1]).out


def test_a_wait_for_a_holder_who_is_gone_ends_with_the_takeover_to_type(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    claim_long_ago(alpha, "a")
    assert beta.coord("takeover", "a").code == 7  # which begins to watch
    watched_long_ago(beta, 300)
    done = beta.coord("claim", "a", "b", "--wait")
    assert (done.code, done.out.splitlines()[0]) == (7, "nobody is left to wait for, nothing claimed")
    assert hints(done)[0] == "git coord takeover a b"
    assert beta.coord_json("claim", "a", "--wait", code=7)["next"] == "git coord takeover a"
    assert type_in(beta, hints(done)[0]).code == 0
    assert {row["status"] for row in beta.coord_json("check", "a", "b")["resources"]} == {"mine"}
