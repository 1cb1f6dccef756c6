"""`git coord check`: free, mine, held, stale, unknown; each with its own exit status."""

from __future__ import annotations

from pathlib import Path

from tests.cli.past import claim_long_ago
from tests.cli.words import hints, plain, plain_json, said, type_in
from tests.helpers import Repo


def test_each_answer_is_a_line_and_the_gravest_is_the_exit_status(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src", "-m", "fix the parser")
    beta.coord_json("claim", "mine.txt")
    done = beta.coord("check", "README.md", "src/parser.py", "mine.txt")
    assert said(done) == (
        3,
        "free  README.md\n"
        'held  src/parser.py   alpha #1 edit src   "fix the parser"   until <time>\n'
        "mine  mine.txt        beta #2 edit   until <time>\n"
        "as of <age> ago, origin\n",
        "",
    )


def test_as_json_each_resource_says_who_and_until_when(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a", "-m", "why")
    assert plain_json(beta.coord_json("check", "a", "b", code=3)) == {
        "ok": False,
        "code": "conflict",
        "as_of": "<stamp>",
        "resources": [
            {
                "path": "a",
                "status": "held",
                "holder": "alpha",
                "held": "a",
                "intent": "edit",
                "token": 1,
                "confirmed": True,
                "purpose": "why",
                "claimed_at": "<stamp>",
                "lease_until": "<stamp>",
                "holder_stale": False,
            },
            {"path": "b", "status": "free", "holder": None},
        ],
        "new": [{"path": "b", "similar": None}],
    }
    answer = beta.coord_json("check", "b")
    assert (answer["ok"], answer["code"]) == (True, "ok")


def test_a_lease_that_is_over_is_stale_and_still_blocks(alone: Repo) -> None:
    beta = _second_agent(alone)
    claim_long_ago(alone, "a", ago=70, ttl=5)
    assert beta.coord_json("check", "a", code=7)["resources"][0]["holder_stale"] is True
    assert said(beta.coord("check", "a", "b")) == (
        7,
        "stale a   alpha #1 edit   stale since <time>\nfree  b   new\nlocal, no remote\n",
        "",
    )
    assert beta.coord_json("claim", "a", code=3)["holder_stale"] is True


def _second_agent(repo: Repo) -> Repo:
    beta = repo.worktree("beta")
    assert beta.coord("init", "--agent", "beta").code == 0
    return beta


def test_no_answer_is_unknown_and_never_free(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    alpha.coord_json("claim", "a.txt")
    beta.coord_json("sync")
    for path in (beta.path / ".git/coord").glob("synced*"):
        path.write_text("1700000000\n")
    hub.path.rename(hub.path.with_name("gone"))
    done = beta.coord("check", "a.txt", "b c")
    assert (done.code, done.out) == (5, "")
    first, *rest = plain(done.err).splitlines()
    assert first.startswith("unknown: origin: ")
    assert rest == [
        "  a.txt   was held by alpha #1, until <stamp>",
        "next   git coord check a.txt 'b c' --local        (answer from the old picture)",
    ]
    assert type_in(beta, hints(done)[0]).code == 3
    answer = beta.coord_json("check", "a.txt", "b", code=5)
    assert [row["status"] for row in answer["resources"]] == ["unknown", "unknown"]
    assert (answer["code"], answer["as_of"]) == ("unknown", "2023-11-14T22:13:20Z")
    assert type_in(beta, answer["next"]).code == 3


def test_a_clone_that_never_saw_the_ledger_answers_unknown(trio: tuple[Repo, Repo, Repo], tmp_path: Path) -> None:
    hub, alpha, _ = trio
    gamma = Repo(tmp_path / "gamma", alpha.env)
    alpha.git("clone", "-q", str(hub.path), str(gamma.path))
    hub.path.rename(hub.path.with_name("gone"))
    answer = gamma.coord_json("check", "a", code=5)
    assert answer["resources"] == [{"path": "a", "status": "unknown", "holder": None}]
    assert answer["as_of"] is None


def test_a_clone_without_an_agent_may_look(trio: tuple[Repo, Repo, Repo], tmp_path: Path) -> None:
    hub, alpha, _ = trio
    alpha.coord_json("claim", "a")
    gamma = Repo(tmp_path / "gamma", alpha.env)
    alpha.git("clone", "-q", str(hub.path), str(gamma.path))
    assert gamma.coord_json("check", "a", code=3)["resources"][0]["holder"] == "alpha"
    assert gamma.coord_json("status")["claims"][0]["agent"] == "alpha"


def test_another_time_zone_changes_nothing_but_the_clock_shown(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    for zone in ("Asia/Kolkata", "America/St_Johns"):
        row = beta.with_env(TZ=zone).coord_json("check", "a", code=3)["resources"][0]
        assert row["status"] == "held"
        assert row["claimed_at"].endswith("Z")


def test_nothing_to_check_is_wrong_usage(alone: Repo) -> None:
    assert said(alone.coord("check")) == (
        2,
        "",
        "git coord: name at least one path or task\nnext   git coord check -h\n",
    )


def test_holding_a_file_of_a_folder_is_not_holding_the_folder(alone: Repo) -> None:
    alone.coord_json("claim", "src/x.py", "lib")
    rows = alone.coord_json("check", "src", "src/x.py", "lib/new.py", ".")["resources"]
    assert [row["status"] for row in rows] == ["free", "mine", "mine", "free"]


def test_an_absolute_path_inside_the_worktree_is_as_good_as_a_relative_one(alone: Repo) -> None:
    alone.write("src/x.py", "x\n")
    alone.coord_json("claim", str(alone.path / "src" / "x.py"))
    answer = alone.coord_json("check", str(alone.path / "src" / "x.py"), "src/x.py")
    assert [(row["path"], row["status"]) for row in answer["resources"]] == [("src/x.py", "mine")]
