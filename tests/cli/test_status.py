"""`git coord status`, `log` and `whoami`: what is shown, and the shapes of `--json`."""

from __future__ import annotations

from tests.cli.words import plain_json, said
from tests.helpers import Repo


def test_status_shows_agents_claims_and_posts_aligned(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "src/parser.py", "src/lexer", "-m", "fix string escapes")
    beta.coord_json("claim", "--read", "docs")
    beta.coord_json("post", "--to", "alpha", "need src/lexer/scan.py")
    assert said(beta.coord("status")) == (
        0,
        "agents    alpha        online <age>  main\n"
        "          beta         online <age>  main\n"
        'claims    #1  alpha  edit  until <time>   src/parser.py  src/lexer   "fix string escapes"\n'
        "          #2  beta   read  until <time>   docs\n"
        "posts     <id>  beta to alpha  open <age>   need src/lexer/scan.py\n"
        "as of <age> ago, origin\n",
        "",
    )


def test_status_as_json_has_the_documented_fields(alone: Repo) -> None:
    alone.coord_json("claim", "a", "-m", "why")
    alone.coord_json("post", "hello")
    answer = plain_json(alone.coord_json("status"))
    assert answer.pop("warnings")[0].startswith("this agent's own key is policy key")
    assert answer["agents"][0].pop("timeout") in range(1, 901)
    assert answer == {
        "ok": True,
        "agents": [
            {
                "agent": "alpha",
                "state": "online",
                "since": "<stamp>",
                "at": "<stamp>",
                "ttl": 900,
                "task": None,
                "note": None,
                "queue": 0,
                "branch": "main",
                "will": None,
                "host": None,
                "place": None,
                "future": False,
                "advice": "send",
            }
        ],
        "claims": [
            {
                "token": 1,
                "confirmed": True,
                "agent": "alpha",
                "items": [{"path": "a", "intent": "edit", "match": "literal", "blob": None}],
                "purpose": "why",
                "lease": "standard",
                "ttl": 7200,
                "claimed_at": "<stamp>",
                "lease_until": "<stamp>",
                "holder_stale": False,
                "unattended": False,
                "stamps": [],
            }
        ],
        "waiting": [],
        "blocked": [],
        "posts": [
            {
                "id": "<id>",
                "agent": "alpha",
                "status": "open",
                "text": "hello",
                "to": None,
                "claim": None,
                "at": "<stamp>",
                "taken_by": None,
                "taker_says": None,
            }
        ],
        "synced_at": "<stamp>",
        "as_of": "<stamp>",
    }


def test_a_claim_of_many_items_is_cut_for_people_only(alone: Repo) -> None:
    alone.coord_json("claim", *"abcdefgh")
    assert "   a  b  c  d  e  f  +2\n" in alone.coord("status").out
    assert len(alone.coord_json("status")["claims"][0]["items"]) == 8


def test_status_without_anything_says_none(alone: Repo) -> None:
    assert said(alone.coord("status"))[1].splitlines()[1:-2] == ["claims    none", "posts     none", "local, no remote"]


def test_log_is_the_audit_trail_the_newest_first(alone: Repo) -> None:
    alone.coord_json("claim", "src/a.py", "b", "-m", "a reason")
    alone.coord_json("release", "b")
    assert said(alone.coord("log")) == (
        0,
        "<time>  alpha releases #1 b\n"
        "<time>  #1 alpha claims src/a.py (edit) +1\n"
        "<time>  alpha joins\n"
        "<time>  alpha begins ledger <uuid>\n",
        "",
    )
    answer = plain_json(alone.coord_json("log", "-n", "1"))
    event = {"commit": "<commit>", "at": "<stamp>", "agent": "alpha", "kind": "release"}
    assert answer == {
        "ok": True,
        "events": [event | {"text": "alpha releases #1 b", "reason": None}],
        "as_of": "<stamp>",
    }


def test_whoami_names_agent_session_key_ledger_and_remote(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    state = alpha.env["XDG_STATE_HOME"]
    assert said(alpha.coord("whoami")) == (
        0,
        "alpha\n"
        "  session  <session>\n"
        f"  key      <key>   {state}/git-coord/<uuid>/alpha\n"
        "  ledger   <uuid>, 3 operations\n"
        "  remote   origin\n",
        "",
    )
    answer = alpha.coord_json("whoami")
    assert answer["session"] == answer["current_session"]
    assert plain_json(answer) == {
        "ok": True,
        "agent": "alpha",
        "session": "<session>",
        "current_session": "<session>",
        "key": "<key>",
        "repo": "<uuid>",
        "remote": "origin",
        "member": True,
    }


def test_a_name_that_is_at_work_in_another_worktree_is_said_to_be_nobody_here(alone: Repo) -> None:
    tree = alone.worktree("W").with_env(GIT_COORD_AGENT="alpha")
    done = tree.coord("status")
    assert done.code == 0
    assert f"git coord: alpha is at work in another worktree, {alone.path}" in done.err
    assert "here it is nobody, and nothing is signed for it; next: unset GIT_COORD_AGENT && git coord init" in done.err
    (told,) = [text for text in tree.coord_json("status")["warnings"] if "here it is nobody" in text]
    assert "next: unset GIT_COORD_AGENT && git coord init" in told
    assert "nobody" not in alone.coord("status").err
