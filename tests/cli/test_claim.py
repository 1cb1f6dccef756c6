"""`git coord claim`: what is granted, what is refused, and in which words."""

from __future__ import annotations

import pytest

from tests.cli.words import hints, plain, plain_json, said, type_in
from tests.helpers import Repo


def test_a_grant_names_token_end_and_items(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    done = alpha.coord("claim", "src/parser.py", "src/lexer", "-m", "fix string escapes")
    assert said(done) == (
        0,
        "#1  yours until <time>, longer while you are alive\n  edit   src/parser.py   new\n  edit   src/lexer   new\n",
        "",
    )


def test_a_grant_as_json_has_the_documented_fields(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    blob = alpha.rev("HEAD:README.md")
    answer = alpha.coord_json("claim", "README.md", "new/", "--stamp", "ticket=7", "--read")
    assert plain_json(answer) == {
        "ok": True,
        "token": 1,
        "agent": "alpha",
        "confirmed": True,
        "items": [
            {"path": "README.md", "intent": "read", "match": "literal", "blob": plain(blob)},
            {"path": "new", "intent": "read", "match": "literal", "blob": None},
        ],
        "lease_until": "<stamp>",
        "new": [{"path": "new", "similar": None}],
        "stamps": [{"name": "ticket", "value": "7"}],
        "warnings": [],
    }
    assert answer["items"][0]["blob"] == blob


def test_a_refusal_names_every_holder_and_what_to_do(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src/lexer", "-m", "fix string escapes")
    alpha.coord_json("claim", "a", "--stamp", "ticket=7")
    done = beta.coord("claim", "src/lexer/scan.py", "README.md", "a", "-m", "unicode digits")
    assert said(done) == (
        3,
        "refused, nothing claimed\n"
        '  src/lexer/scan.py   alpha #1 edit src/lexer   "fix string escapes"\n'
        "                      since <time>, seen <age> ago, until <time>\n"
        "  a                   alpha #2 edit\n"
        "                      since <time>, seen <age> ago, until <time>\n"
        "next   git coord claim src/lexer/scan.py README.md a --wait 10m\n"
        "       git coord post --to alpha 'need src/lexer/scan.py'\n"
        "       git coord claim README.md   (what is free)\n",
        "",
    )
    advice = hints(done)
    assert [type_in(beta, hint).code for hint in advice[1:]] == [0, 0]
    assert type_in(beta, advice[0].replace("10m", "1s")).code == 75


def test_a_refusal_as_json_has_flat_fields_of_the_first_conflict_and_all_of_them(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a.rs", "-m", "fix the parser", "--stamp", "ticket=7")
    alpha.coord_json("claim", "lib", "--read")
    answer = plain_json(beta.coord_json("claim", "a.rs", "lib/x", "free", code=3))
    first = {
        "holder": "alpha",
        "path": "a.rs",
        "held": "a.rs",
        "intent": "edit",
        "purpose": "fix the parser",
        "claimed_at": "<stamp>",
        "lease_until": "<stamp>",
        "holder_stale": False,
        "token": 1,
        "waiting": False,
        "caller_stamps": [{"name": "ticket", "value": "7"}],
    }
    second = first | {
        "path": "lib/x",
        "held": "lib",
        "intent": "read",
        "purpose": "",
        "token": 2,
        "caller_stamps": [],
    }
    wanted = {"ok": False, "code": "conflict", **first, "conflicts": [first, second]}
    assert answer == wanted | {"next": "git coord claim a.rs lib/x free --wait 10m"}


def test_a_refused_claim_leaves_no_trace(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    beta.coord_json("claim", "a", "b", code=3)
    assert [claim["agent"] for claim in beta.coord_json("status")["claims"]] == ["alpha"]
    assert alpha.coord_json("claim", "b")["token"] == 2


def test_readers_share_and_keep_editors_out(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "--read", "a")
    assert beta.coord_json("claim", "--read", "a")["items"][0]["intent"] == "read"
    assert beta.coord_json("claim", "a", code=3)["intent"] == "read"


def test_a_read_of_what_one_edits_keeps_the_edit_and_says_so(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a", "src")
    assert said(alpha.coord("claim", "--read", "a", "src/x.py", "b"))[:2] == (
        0,
        "#2  yours until <time>, longer while you are alive\n"
        "  read   a   kept your edit claim #1\n"
        "  read   src/x.py   kept your edit claim #1 of src   new\n"
        "  read   b   new\n",
    )
    kept = {"path": "a", "held": "a", "intent": "edit", "token": 1}
    assert alpha.coord_json("claim", "--read", "a", "b")["kept"] == [kept]
    found = alpha.coord_json("check", "a", "src/x.py", "b")["resources"]
    assert [(row["status"], row["intent"], row["token"]) for row in found] == [
        ("mine", "edit", 1),
        ("mine", "edit", 1),
        ("mine", "read", 3),
    ]
    assert beta.coord_json("claim", "--read", "a", code=3)["intent"] == "edit"
    alpha.coord_json("release", "#1")
    assert beta.coord_json("claim", "--read", "a")["confirmed"] is True
    assert alpha.coord_json("check", "a")["resources"][0]["intent"] == "read"


def test_a_read_of_what_one_edits_takes_no_commit_away(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.coord_json("claim", "README.md")
    alpha.coord_json("claim", "--read", "README.md")
    alpha.commit("work", **{".coord.toml": '[claims]\nrequired = ["README.md"]\n'})
    alpha.git("push", "-q", "origin", "HEAD:main")
    alpha.coord("hooks", "install")
    alpha.commit("mine still", **{"README.md": "more\n"})
    assert alpha.run("git", "push", "-q", "origin", "HEAD:main").code == 0
    assert alpha.coord_json("verify", "HEAD~..HEAD")["violations"] == []


def test_literal_names_with_pattern_signs_hit_only_themselves(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "app/[id].tsx", "src", "path:*")
    free = ["app/i.tsx", "src2/a", "b"]
    assert [row["status"] for row in beta.coord_json("check", *free)["resources"]] == ["free"] * 3
    held = ["app/[id].tsx", "src/a", "*"]
    assert [row["status"] for row in beta.coord_json("check", *held, code=3)["resources"]] == ["held"] * 3


def test_a_glob_covers_what_it_matches(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    item = alpha.coord_json("claim", "--glob", "src/**/*.py")["items"][0]
    assert item == {"path": "src/**/*.py", "intent": "edit", "match": "glob", "blob": None}
    answer = beta.coord_json("check", "src/a/b.py", "docs/b.py", code=3)
    assert [row["status"] for row in answer["resources"]] == ["held", "free"]
    assert said(beta.coord("claim", "--glob", "*.md", "--glob", "src/*"))[:2] == (
        3,
        "refused, nothing claimed\n"
        "  src/*   alpha #1 edit src/**/*.py\n"
        "          since <time>, seen <age> ago, until <time>\n"
        "next   git coord claim --glob '*.md' --glob 'src/*' --wait 10m\n"
        "       git coord post --to alpha 'need src/*'\n"
        "       git coord claim --glob '*.md'   (what is free)\n",
    )


def test_a_task_covers_its_children(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    assert alpha.coord_json("claim", "task:E1/S2")["items"][0]["path"] == "task:E1/S2"
    assert beta.coord_json("claim", "task:E1/S2/T1", code=3)["held"] == "task:E1/S2"
    assert beta.coord_json("claim", "task:E1", code=3)["path"] == "task:E1"
    assert beta.coord_json("claim", "task:E1/S20")["token"] == 2


def test_from_below_the_paths_are_the_same_as_from_the_top(alone: Repo) -> None:
    alone.write("src/x.py", "1\n")
    below = Repo(alone.path / "src", alone.env)
    blob = alone.git("hash-object", "src/x.py")
    wanted = {"path": "src/x.py", "intent": "edit", "match": "literal", "blob": blob}
    assert below.coord_json("claim", "x.py")["items"] == [wanted]
    assert below.coord_json("claim", "../README.md")["items"][0]["path"] == "README.md"
    assert below.coord_json("claim", "--glob", "*.c")["items"][0]["path"] == "src/*.c"
    outside = Repo(alone.path.parent, alone.env)
    done = outside.run("git", "-C", str(alone.path), "coord", "check", "src/x.py")
    assert said(done) == (0, "mine  src/x.py   alpha #1 edit   until <time>\nlocal, no remote\n", "")
    assert below.coord("claim", "../../out").code == 2


def test_hints_are_typed_where_one_stands(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src/a")
    (beta.path / "src").mkdir()
    below = Repo(beta.path / "src", beta.env)
    done = below.coord("claim", "a", "b", "../README.md", "./-c", "task:T1")
    assert hints(done)[0] == "git coord claim a b ../README.md ./-c task:T1 --wait 10m"
    assert hints(done)[2] == "git coord claim b ../README.md ./-c task:T1"
    assert type_in(below, hints(done)[2]).code == 0
    items = beta.coord_json("status")["claims"][-1]["items"]
    assert [item["path"] for item in items] == ["src/b", "README.md", "src/-c", "task:T1"]


def test_names_come_from_standard_input_too(alone: Repo) -> None:
    lines = alone.coord_json("claim", "a", "--stdin", input="b\nc d\n")
    assert [item["path"] for item in lines["items"]] == ["a", "b", "c d"]
    nul = alone.coord_json("claim", "--stdin", "-z", input="x\ny\0z\0")
    assert [item["path"] for item in nul["items"]] == ["x\ny", "z"]


def test_five_thousand_items_fit_one_claim_and_one_more_does_not(alone: Repo) -> None:
    names = "".join(f"d/{n}\0" for n in range(5000))
    assert len(alone.coord_json("claim", "--stdin", "-z", input=names)["items"]) == 5000
    more = alone.coord_json("claim", "e", "--stdin", "-z", input=names, code=2)
    assert more["message"] == "5001 items, at most 5000 in one claim"
    assert len(alone.coord_json("release", "--all")["claims"][0]["items"]) == 5000


def test_claiming_again_keeps_stamps_unless_new_ones_are_given(alone: Repo) -> None:
    alone.coord_json("claim", "a", "--stamp", "ticket=7", "--stamp", "pr=3")
    kept = alone.coord_json("claim", "a")
    assert (kept["token"], kept["stamps"]) == (2, [{"name": "ticket", "value": "7"}, {"name": "pr", "value": "3"}])
    assert alone.coord_json("claim", "a", "--stamp", "ticket=8")["stamps"] == [{"name": "ticket", "value": "8"}]


@pytest.mark.parametrize(
    ("options", "ttl", "lease"),
    [
        ([], 7200, "standard"),
        (["--lease", "quick"], 1800, "quick"),
        (["--lease", "long", "-m", "big"], 14400, "long"),
        (["--ttl", "90s"], 90, "standard"),
        (["--ttl", "3h"], 10800, "standard"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else None,
)
def test_a_lease_has_a_class_or_a_length(alone: Repo, options: list[str], ttl: int, lease: str) -> None:
    alone.coord_json("claim", "a", *options)
    claim = alone.coord_json("status")["claims"][0]
    assert (claim["ttl"], claim["lease"]) == (ttl, lease)


def test_a_long_lease_needs_a_reason(alone: Repo) -> None:
    done = alone.coord("claim", "a", "--lease", "long")
    assert said(done) == (
        2,
        "",
        "git coord: a long lease needs a reason: -m TEXT\nnext   git coord claim -h\n",
    )


def test_offline_a_claim_is_held_here_only_and_says_so(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    hub.path.rename(hub.path.with_name("gone"))
    done = alpha.coord("claim", "a", "--offline")
    assert said(done) == (
        0,
        "held here only, not confirmed by origin; until <time>\n  edit   a   new\nnext   git coord sync\n",
        "",
    )
    answer = alpha.coord_json("claim", "b", "--offline")
    assert (answer["token"], answer["confirmed"]) == (None, False)
    hub.path.with_name("gone").rename(hub.path)
    assert type_in(alpha, hints(done)[0]).code == 0
    assert [claim["confirmed"] for claim in alpha.coord_json("status")["claims"]] == [True, True]


def test_without_an_answer_nothing_is_claimed(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    hub.path.rename(hub.path.with_name("gone"))
    answer = alpha.coord_json("claim", "a", code=5)
    assert (answer["ok"], answer["code"]) == (False, "unknown")
    assert answer["message"].startswith("origin: ")
    assert answer["message"].endswith("; the claim is cancelled here, but may still be granted until that is synced")
    hub.path.with_name("gone").rename(hub.path)
    alpha.coord_json("sync")
    assert beta.coord_json("claim", "a")["confirmed"] is True


def test_more_than_sixty_four_globs_are_wrong_usage(alone: Repo) -> None:
    globs = [word for number in range(65) for word in ("--glob", f"a{number}*")]
    assert alone.coord_json("claim", *globs, code=2)["message"] == "at most 64 globs in one claim"
    assert len(alone.coord_json("claim", *globs[:128])["items"]) == 64
