"""`git coord release` and `git coord renew`: own claims, by path, by token, in part, all."""

from __future__ import annotations

import pytest

from tests.cli.words import forget_sync, hints, plain_json, said, type_in
from tests.helpers import Repo


def _held(repo: Repo) -> list[str]:
    claims = repo.coord_json("status")["claims"]
    return [item["path"] for claim in claims for item in claim["items"]]


def test_a_release_names_what_it_gave_back(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src/parser.py", "src/lexer")
    done = alpha.coord("release", "--all", "--reason", "merged")
    assert said(done) == (0, "released #1   src/parser.py  src/lexer\n", "")
    assert beta.coord_json("claim", "src/lexer/scan.py")["token"] == 2


def test_a_release_as_json_has_the_claims_with_what_was_given_back(alone: Repo) -> None:
    alone.coord_json("claim", "a", "b")
    answer = plain_json(alone.coord_json("release", "b"))
    assert answer == {
        "ok": True,
        "confirmed": True,
        "claims": [
            {
                "token": 1,
                "confirmed": True,
                "agent": "alpha",
                "items": [{"path": "b", "intent": "edit", "match": "literal", "blob": None}],
                "purpose": "",
                "lease": "standard",
                "ttl": 7200,
                "claimed_at": "<stamp>",
                "lease_until": "<stamp>",
                "holder_stale": False,
                "unattended": False,
                "stamps": [],
            }
        ],
        "granted": [],
    }


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["a"], ["src/x", "src/y/z", "*.c", "task:T1", "b"]),
        (["src"], ["a", "*.c", "task:T1", "b"]),
        (["src/y", "task:T1"], ["a", "src/x", "*.c", "b"]),
        (["--glob", "*.c"], ["a", "src/x", "src/y/z", "task:T1", "b"]),
        (["#1"], ["b"]),
        (["#1", "b"], []),
        (["#1", "a"], ["b"]),
        (["."], ["*.c", "task:T1"]),
        (["--all"], []),
    ],
    ids=" ".join,
)
def test_what_is_named_is_given_back_and_nothing_else(alone: Repo, arguments: list[str], left: list[str]) -> None:
    alone.coord_json("claim", "a", "src/x", "src/y/z", "--glob", "*.c", "task:T1")
    alone.coord_json("claim", "b")
    alone.coord_json("release", *arguments)
    assert sorted(_held(alone)) == sorted(left)


def test_a_release_from_below_means_paths_there(alone: Repo) -> None:
    alone.commit("src", **{"src/x": ""})
    alone.coord_json("claim", "src/x", "x")
    assert said(Repo(alone.path / "src", alone.env).coord("release", "x")) == (0, "released #1   src/x\n", "")


def test_a_release_in_another_shell_needs_no_variable(alone: Repo) -> None:
    alone.coord_json("claim", "b.txt")
    assert alone.with_env(TERM="other").coord("release", "b.txt").code == 0


@pytest.mark.parametrize(
    ("argument", "message", "step"),
    [
        ("free", "alpha holds no claim on free", "git coord status"),
        ("dir/x", "dir/x is held as part of dir (#1)", "git coord release dir"),
        ("his", "his is held by beta (#2)", None),
        ("#2", "#2 is held by beta", None),
        ("#9", "#9 is not held by anybody", "git coord log"),
    ],
)
def test_what_is_not_held_cannot_be_given_back(
    pair: tuple[Repo, Repo], argument: str, message: str, step: str | None
) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "dir")
    beta.coord_json("claim", "his")
    alpha.coord_json("sync")
    answer = alpha.coord_json("release", argument, code=4)
    assert (answer["code"], answer["message"], answer["next"]) == ("lost", message, step)
    assert step is None or type_in(alpha, step).code == 0


def test_uncommitted_changes_are_pointed_out_from_below_as_from_the_top(alone: Repo) -> None:
    alone.commit("src", **{"src/x.py": "1\n", "src/y.py": "1\n"})
    alone.write("src/x.py", "2\n")
    alone.coord_json("claim", "src/x.py", "src/y.py")
    below = Repo(alone.path / "src", alone.env)
    assert said(below.coord("release", "x.py")) == (
        0,
        "released #1   src/x.py\n",
        "git coord: uncommitted changes in src/x.py\n",
    )
    assert said(alone.coord("release", "src/y.py")) == (0, "released #1   src/y.py\n", "")
    alone.coord_json("claim", ".", "task:src")
    assert alone.coord("release", "task:src").err == ""
    assert alone.coord("release", ".").err == "git coord: uncommitted changes in src/x.py\n"


def test_an_offline_release_is_pending_and_the_next_sync_carries_it_out(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    alpha.coord_json("claim", "a")
    hub.path.rename(hub.path.with_name("gone"))
    done = alpha.coord("release", "a")
    assert done.code == 0
    assert done.out == "to be released #1   a\n"
    assert done.err.startswith("git coord: pending: origin: ")
    assert done.err.endswith("; the next sync carries it out\n")
    hub.path.with_name("gone").rename(hub.path)
    assert beta.coord_json("claim", "a", code=3)["holder"] == "alpha"
    assert said(alpha.coord("sync"))[:2] == (
        0,
        "placed   alpha releases #1\nin step with origin: the ledger moved, 2 refs pushed\n",
    )
    assert beta.coord_json("claim", "a")["token"] == 2
    alpha.coord_json("sync")
    assert [claim["agent"] for claim in alpha.coord_json("status")["claims"]] == ["beta"]


def test_a_renewal_without_an_answer_is_exit_five_and_says_how_long_the_claim_is_good(
    trio: tuple[Repo, Repo, Repo],
) -> None:
    hub, alpha, _ = trio
    alpha.coord_json("claim", "a")
    alpha.coord_json("claim", "b")
    hub.path.rename(hub.path.with_name("gone"))
    code, out, err = said(alpha.coord("renew", "--all"))
    pending, *rest = err.splitlines()
    assert (code, out, pending.startswith("git coord: pending: origin: ")) == (5, "", True)
    assert rest == [
        "git coord: the renewal is not confirmed by origin; without it #1 and 1 more are good until <time>",
        "next   git coord sync",
    ]
    answer = alpha.coord_json("renew", "a", code=5)
    assert (answer["code"], answer["confirmed"], answer["next"]) == ("unknown", False, "git coord sync")
    assert answer["message"].startswith("the renewal is not confirmed by origin; without it #1 is good until ")
    assert alpha.coord_json("renew", "a", "--offline")["confirmed"] is False


def test_a_renewal_of_what_nobody_has_confirmed_yet_has_nothing_to_say_of_its_lease(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.git("remote", "set-url", "origin", "/nowhere")
    alpha.coord_json("claim", "a", "--offline")
    answer = alpha.coord_json("renew", "a", code=5)
    assert (answer["message"], answer["next"]) == ("the renewal is not confirmed by origin", "git coord sync")
    assert answer["lease_until"] is None


def test_renewals_of_the_same_claims_do_not_pile_up(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    alpha.coord_json("claim", "a")
    alpha.coord_json("claim", "b")
    hub.path.rename(hub.path.with_name("gone"))

    def pending() -> list[str]:
        return alpha.git("ls-tree", "--name-only", "refs/coord/requests/alpha").splitlines()

    for ttl in ("1h", "2h", "3h"):
        assert alpha.coord("renew", "#1", "--ttl", ttl).code == 5
    assert len(pending()) == 1
    assert alpha.coord("renew", "--all", "--ttl", "4h").code == 5
    assert len(pending()) == 2
    hub.path.with_name("gone").rename(hub.path)
    code, out, err = said(alpha.coord("sync"))
    placed = ["placed   alpha renews #1", "placed   alpha renews #1 #2"]
    assert (code, out.splitlines()[:-1], err) == (0, placed, "")
    assert [claim["ttl"] for claim in alpha.coord_json("status")["claims"]] == [14400, 14400]


def test_nothing_held_is_said_with_exit_four(alone: Repo) -> None:
    done = alone.coord("release", "--all")
    assert said(done) == (4, "", "git coord: alpha holds nothing\nnext   git coord status\n")
    assert type_in(alone, hints(done)[0]).code == 0


@pytest.mark.parametrize("verb", ["release", "renew"])
@pytest.mark.parametrize("arguments", [[], ["--all", "a"]], ids=["neither", "both"])
def test_all_and_names_exclude_each_other(alone: Repo, verb: str, arguments: list[str]) -> None:
    answer = alone.coord_json(verb, *arguments, code=2)
    assert answer == {
        "ok": False,
        "code": "usage",
        "message": "name paths or #tokens, or give --all",
        "next": f"git coord {verb} -h",
    }


def test_a_renewal_keeps_the_class_unless_told_and_pins_anew(alone: Repo) -> None:
    alone.coord_json("claim", "README.md", "--lease", "quick", "--stamp", "a=1")
    alone.write("README.md", "other\n")
    renewed = alone.coord_json("renew", "README.md")["claims"][0]
    assert (renewed["lease"], renewed["ttl"], renewed["token"]) == ("quick", 1800, 1)
    assert renewed["items"][0]["blob"] == alone.git("hash-object", "README.md")
    assert renewed["stamps"] == [{"name": "a", "value": "1"}]
    changed = alone.coord_json("renew", "#1", "--ttl", "3h", "--stamp", "b=2")["claims"][0]
    assert (changed["ttl"], changed["stamps"]) == (10800, [{"name": "b", "value": "2"}])


def test_a_renewal_for_people_names_the_claim(alone: Repo) -> None:
    alone.coord_json("claim", "a", "b")
    alone.coord_json("claim", "c")
    assert said(alone.coord("renew", "--all")) == (0, "renewed #1   a  b\nrenewed #2   c\n", "")
    assert alone.coord_json("renew", "a", "--ttl", "8d", code=2)["message"] == (
        "a lease of 691200 s is not between 1 s and 604800 s here"
    )


def test_with_a_remote_a_lease_has_a_least_length(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    answer = alpha.coord_json("claim", "a", "--ttl", "299s", code=2)
    assert answer["message"] == "a lease of 299 s is not between 300 s and 604800 s here"
    alpha.coord_json("claim", "a", "--ttl", "300s")


def test_the_other_clone_sees_a_release_after_it_looked(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    assert beta.coord_json("check", "a", code=3)["resources"][0]["holder"] == "alpha"
    alpha.coord_json("release", "a")
    forget_sync(beta)
    assert beta.coord_json("check", "a")["resources"][0]["status"] == "free"


def test_a_released_name_with_a_control_character_cannot_reach_the_terminal(alone: Repo) -> None:
    alone.write("a\x1b[2J\nb", "1\n")
    alone.git("add", ".")
    alone.coord_json("claim", "a\x1b[2J\nb")
    assert alone.coord("release", "--all").err == "git coord: uncommitted changes in a\\x1b[2J\\nb\n"
