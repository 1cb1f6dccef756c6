"""`git coord block`, `unblock`, and the entry check of a task with its four exits."""

from __future__ import annotations

from tests.cli.past import claim_long_ago
from tests.cli.words import hints, plain_json, said, type_in
from tests.helpers import Repo


def test_the_entry_check_is_free_held_stale_or_blocked(alone: Repo) -> None:
    beta = _second(alone)
    assert beta.coord("check", "task:E-1").code == 0
    alone.coord_json("claim", "task:E-1")
    assert beta.coord("check", "task:E-1/2").code == 3
    alone.coord_json("release", "task:E-1")
    claim_long_ago(alone, "task:E-1", ago=70, ttl=5)
    assert beta.coord("check", "task:E-1/2").code == 7
    alone.coord_json("block", "task:E-1", "-m", "waits for a decision")
    assert beta.coord("check", "task:E-1/2").code == 8


def _second(repo: Repo) -> Repo:
    beta = repo.worktree("beta")
    assert beta.coord("init", "--agent", "beta").code == 0
    return beta


def test_a_blocked_task_says_who_since_when_and_why(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    done = alpha.coord("block", "task:E-1", "-m", "waits for a decision")
    assert said(done) == (0, "blocked   task:E-1\n", "")
    assert said(beta.coord("check", "task:E-1/2", "a")) == (
        8,
        'blocked task:E-1/2   by alpha since <time>   "waits for a decision"\n'
        "free    a            new\n"
        "as of <age> ago, origin\n"
        "next   git coord post --to alpha 'is task:E-1/2 still blocked?'\n",
        "",
    )
    assert plain_json(beta.coord_json("check", "task:E-1", code=8)) == {
        "ok": False,
        "code": "blocked",
        "as_of": "<stamp>",
        "next": "git coord post --to alpha 'is task:E-1 still blocked?'",
        "resources": [
            {
                "path": "task:E-1",
                "status": "blocked",
                "holder": None,
                "blocked_by": "alpha",
                "since": "<stamp>",
                "reason": "waits for a decision",
                "tasks": ["task:E-1"],
            }
        ],
        "new": [],
    }


def test_a_claim_of_a_blocked_task_exits_8_and_names_who_to_ask(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("block", "task:E-1", "-m", "not yet")
    done = beta.coord("claim", "a", "task:E-1/2")
    assert said(done) == (
        8,
        "",
        'git coord: nothing claimed: task:E-1/2 is blocked by alpha since <stamp>: "not yet"\n'
        "next   git coord post --to alpha 'is task:E-1/2 still blocked?'\n",
    )
    assert type_in(beta, hints(done)[0]).code == 0
    answer = beta.coord_json("claim", "task:E-1", code=8)
    assert (answer["code"], answer["blocked_by"], answer["reason"]) == ("blocked", "alpha", "not yet")
    assert beta.coord_json("log")["events"][0]["text"] == "beta is refused claim a (edit) +1: blocked"
    assert said(alpha.coord("claim", "task:E-1/2"))[2].endswith("next   git coord unblock task:E-1\n")


def test_what_is_above_or_beside_a_blocked_story_stays_free(alone: Repo) -> None:
    alone.coord_json("block", "task:E-1/2", "-m", "x")
    assert alone.coord_json("claim", "task:E-1/3", "task:E-10")["token"] == 1
    assert alone.coord_json("claim", "task:E-1")["token"] == 2
    alone.coord_json("claim", "task:E-1/2/a", code=8)


def test_who_holds_a_task_keeps_it_when_it_is_blocked(alone: Repo) -> None:
    alone.coord_json("claim", "task:E-1", "-m", "mine")
    alone.coord_json("block", "task:E-1", "-m", "x")
    row = alone.coord_json("check", "task:E-1", code=8)["resources"][0]
    assert (row["status"], row["holder"], row["token"]) == ("blocked", "alpha", 1)
    assert [claim["token"] for claim in alone.coord_json("status")["claims"]] == [1]
    assert alone.coord("release", "task:E-1", "--reason", "ejected").code == 0


def test_anybody_lifts_a_block_and_the_task_is_free(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("block", "task:A", "-m", "x")
    assert said(beta.coord("unblock", "task:A", "-m", "decided")) == (
        0,
        "unblocked   task:A   (blocked by alpha)\n",
        "",
    )
    assert beta.coord_json("claim", "task:A")["token"] == 1


def test_of_tasks_blocked_together_the_others_stay_blocked(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("block", "task:A", "task:B", "-m", "why")
    answer = beta.coord_json("unblock", "task:A")
    assert (answer["tasks"], answer["still_blocked"]) == (["task:A"], ["task:B"])
    rows = [(row["blocked_by"], row["reason"], row["tasks"]) for row in beta.coord_json("status")["blocked"]]
    assert rows == [("beta", "why", ["task:B"])]
    assert alpha.coord("unblock", "--all").out == "unblocked   task:B   (blocked by beta)\n"
    assert alpha.coord_json("status")["blocked"] == []


def test_lifting_an_epic_lifts_its_stories_and_not_the_other_way_round(alone: Repo) -> None:
    alone.coord_json("block", "task:E/1", "-m", "x")
    alone.coord_json("block", "task:E", "-m", "y")
    assert said(alone.coord("unblock", "task:E/2")) == (
        1,
        "",
        "git coord: task:E/2 is blocked as part of task:E\nnext   git coord unblock task:E\n",
    )
    assert alone.coord("unblock", "task:E").out == "unblocked   task:E/1  task:E\n"
    assert alone.coord_json("unblock", "task:E", code=1)["message"] == "task:E is not blocked"
    assert alone.coord_json("unblock", "--all", code=1)["message"] == "no task is blocked"


def test_only_tasks_can_be_blocked(alone: Repo) -> None:
    for line in (["block", "src", "-m", "x"], ["block", "branch:main", "-m", "x"], ["unblock", "src"]):
        assert alone.coord_json(*line, code=2)["message"].endswith("is no task; only tasks can be blocked: task:NAME")
    assert alone.coord("block", "task:A").code == 2
    assert alone.coord_json("unblock", code=2)["message"] == "name tasks, or give --all"


def test_status_and_preflight_tell_of_blocked_tasks(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("block", "task:A", "task:B/1", "-m", "no budget")
    assert 'blocked   task:A  task:B/1   by alpha since <time>   "no budget"\n' in said(beta.coord("status"))[1]
    found = beta.coord_json("preflight", "task:B/1/x", code=8)
    assert (found["decision"], found["code"]) == ("wait", "blocked")
    assert found["reasons"] == [
        {"kind": "blocked", "text": 'task:B/1/x is blocked by alpha: "no budget"', "agent": "alpha"}
    ]


def test_the_log_shows_why_something_was_released_or_blocked(alone: Repo) -> None:
    for number, word in enumerate(("merged", "ejected", "abort", "done"), 1):
        alone.coord_json("claim", "task:A")
        assert alone.coord("release", "--all", "--reason", word).out == f"released #{number}   task:A\n"
    alone.coord_json("block", "task:A", "-m", "no more")
    events = alone.coord_json("log", "-n", "3")["events"]
    assert [(event["text"], event["reason"]) for event in events] == [
        ("alpha blocks task:A", "no more"),
        ("alpha releases #4", "done"),
        ("#4 alpha claims task:A (edit)", None),
    ]
    assert '  alpha releases #4   "done"\n' in alone.coord("log").out


def test_a_block_without_an_answer_is_pending_and_the_next_sync_carries_it_out(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    hub.path.rename(hub.path.with_name("gone"))
    answer = alpha.coord_json("block", "task:A", "-m", "x")
    assert answer["confirmed"] is False
    assert alpha.coord("claim", "task:A", "--offline").code == 8
    hub.path.with_name("gone").rename(hub.path)
    alpha.coord_json("sync")
    assert beta.coord("check", "task:A").code == 8
