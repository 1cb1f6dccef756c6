"""The command line and the server answer the same: both are asked the same, each in its copy of one repository."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from git_coord.mcp.replies import clean
from git_coord.mcp.tools import TOOLS
from tests.cli.past import claim_long_ago, watched_long_ago
from tests.helpers import Repo, new_repo, seal
from tests.mcp.desk import ask, connected, run

LONG = "x" * 501
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("claim_files", {"files": ["a"]}, ["claim", "a"]),
    ("claim_files", {"files": ["a", "task:7"], "purpose": "why not"}, ["claim", "-m", "why not", "--", "a", "task:7"]),
    ("claim_files", {"files": ["a"], "read": True, "lease": "quick"}, ["claim", "--read", "--lease", "quick", "a"]),
    ("claim_files", {"files": [], "globs": ["src/**"]}, ["claim", "--glob", "src/**"]),
    ("claim_files", {"files": ["a"], "ttl": "90s"}, ["claim", "--ttl", "90s", "a"]),
    ("claim_files", {"files": ["a"], "stamps": {"x": "1", "y": "="}}, ["claim", "--stamp", "x=1", "--stamp=y==", "a"]),
    ("claim_files", {"files": ["mine"]}, ["claim", "mine"]),
    ("claim_files", {"files": ["-a", "--all"]}, ["claim", "--", "-a", "--all"]),
    ("claim_files", {"files": ["a"], "purpose": "--json"}, ["claim", "-m", "--json", "a"]),
    ("claim_files", {"files": ["held/x", "a"]}, ["claim", "held/x", "a"]),
    ("claim_files", {"files": ["held", "more"]}, ["claim", "held", "more"]),
    ("claim_files", {"files": ["a"], "agent": "beta"}, ["claim", "--agent", "beta", "a"]),
    ("claim_files", {"files": ["a"], "agent": "nobody"}, ["claim", "--agent", "nobody", "a"]),
    ("claim_files", {"files": ["a"], "agent": "No Body"}, ["claim", "--agent", "No Body", "a"]),
    ("claim_files", {"files": ["../x"]}, ["claim", "../x"]),
    ("claim_files", {"files": []}, ["claim"]),
    ("claim_files", {"files": ["a"], "ttl": "soon"}, ["claim", "--ttl", "soon", "a"]),
    ("claim_files", {"files": ["a"], "purpose": LONG}, ["claim", "-m", LONG, "a"]),
    ("claim_files", {"files": ["a"], "lease": "long"}, ["claim", "--lease", "long", "a"]),
    ("claim_files", {"files": ["e\x1b[31m\u202e"]}, ["claim", "e\x1b[31m\u202e"]),
    ("release_files", {"files": ["mine"], "reason": "done"}, ["release", "--reason", "done", "mine"]),
    ("release_files", {"files": ["#2"]}, ["release", "#2"]),
    ("release_files", {"all": True}, ["release", "--all"]),
    ("release_files", {}, ["release"]),
    ("release_files", {"files": ["held"]}, ["release", "held"]),
    ("release_files", {"files": ["free"]}, ["release", "free"]),
    ("check_files", {"files": ["mine", "held", "free"]}, ["check", "mine", "held", "free"]),
    ("check_files", {"files": ["free"], "local": True}, ["check", "--local", "free"]),
    ("check_files", {"files": [], "globs": ["h*"]}, ["check", "--glob", "h*"]),
    ("check_files", {"files": []}, ["check"]),
    ("who_am_i", {}, ["whoami"]),
    ("who_am_i", {"agent": "beta"}, ["whoami", "--agent", "beta"]),
    ("rejoin_agent", {}, ["rejoin"]),
    (
        "set_presence",
        {"state": "busy", "note": "n", "queue": 2},
        ["presence", "set", "busy", "-m", "n", "--queue", "2"],
    ),
    (
        "set_presence",
        {"state": "pause", "will": "w", "ttl": "5m"},
        ["presence", "set", "pause", "--will=w", "--ttl=5m"],
    ),
    ("set_presence", {"state": "busy", "note": "/etc/passwd/x"}, ["presence", "set", "busy", "-m", "/etc/passwd/x"]),
    ("post_intention", {"text": "take it", "to": "beta"}, ["post", "--to", "beta", "take it"]),
    ("post_intention", {"text": "--to", "claim": 1}, ["post", "--claim", "#1", "--", "--to"]),
    ("post_intention", {"text": "x", "to": "nobody"}, ["post", "--to", "nobody", "x"]),
    ("update_post", {"id": "ID", "action": "take", "text": "ok"}, ["post", "-m", "ok", "take", "ID"]),
    ("update_post", {"id": "ID", "status": "done"}, ["post", "--status", "done", "update", "ID"]),
    ("update_post", {"id": "nope", "action": "remove"}, ["post", "remove", "nope"]),
    ("update_post", {"id": "ID"}, ["post", "update", "ID"]),
    ("list_posts", {}, ["posts"]),
    ("list_posts", {"all": True, "addressee": "me", "unread": True}, ["posts", "--all", "--for", "me", "--unread"]),
    ("list_posts", {"addressee": "nobody"}, ["posts", "--for", "nobody"]),
    ("takeover", {"files": ["held"], "reason": "gone"}, ["takeover", "-m", "gone", "held"]),
    ("takeover", {"files": ["#1"], "dry_run": True, "all_items": True}, ["takeover", "--dry-run", "--all-items", "#1"]),
    ("takeover", {"files": ["free"]}, ["takeover", "free"]),
    ("release_files", {"files": ["mine"], "to": "beta"}, ["release", "--to", "beta", "mine"]),
    ("claim_files", {"files": ["held"], "wait": "1s"}, ["claim", "--wait=1s", "held"]),
    ("claim_files", {"files": ["held"], "wait": "9h"}, ["claim", "--wait=9h", "held"]),
    ("claim_files", {"files": ["a"], "require_fresh": True}, ["claim", "--require-fresh", "a"]),
    ("release_files", {"files": ["mine"], "when_merged": "main"}, ["release", "--when-merged", "main", "mine"]),
    ("release_files", {"files": ["mine"], "landed": "nope"}, ["release", "--landed", "nope", "mine"]),
    ("status", {}, ["status"]),
    ("status", {"local": True}, ["status", "--local"]),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, str]:
    """Return a repository in which alpha and beta hold something, and the id of a post of beta's."""
    folder = tmp_path_factory.mktemp("made")
    env = seal(folder / "home", {"PATH": "/usr/bin"})
    repo = new_repo(folder / "repo", env)
    repo.commit("first", **{"mine": "1\n", "held/x": "2\n", "a": "3\n"})
    repo.coord_json("init", "--agent", "beta")
    repo.coord_json("claim", "held", "-m", "beta's", "--stamp", "y=2")
    posted = repo.coord_json("post", "who takes this?")
    repo.git("config", "coord.agent", "alpha")
    repo.coord_json("init")
    repo.coord_json("claim", "mine", "-m", "alpha's")
    return repo, str(posted["id"])


def _masked(value: Any) -> Any:
    """Leave out what differs from second to second, and from one signature to the next."""
    if isinstance(value, dict):
        gone = ("timeout", "id", "commit")
        return {name: None if name in gone else _masked(each) for name, each in value.items() if name != "notices"}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z|\b\d+ (s|min)\b", "TIME", value) if isinstance(value, str) else value


@pytest.mark.parametrize(("tool", "arguments", "words"), CASES)
def test_both_answer_the_same(
    made: tuple[Repo, str], tmp_path: Path, tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    repo, post = made
    given = {name: post if value == "ID" else value for name, value in arguments.items()}
    _compare(repo, tmp_path, tool, given, [post if word == "ID" else word for word in words])


def _compare(repo: Repo, folder: Path, tool: str, given: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """Ask both, each in its copy of the repository; return what both answered."""
    one, two = (Repo(Path(shutil.copytree(repo.path, folder / name, symlinks=True)), repo.env) for name in "ab")
    said = one.run("git-coord", words[0], "--json", *words[1:])

    async def story() -> dict[str, Any]:
        async with connected(two.env) as client:
            return await ask(client, tool, workspace=str(two.path), **given)

    answered = run(story)
    assert _masked(answered) == _masked(clean(json.loads(said.out)))
    assert answered["ok"] == (said.code == 0)
    return answered


@pytest.fixture(scope="module")
def abandoned(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository in which beta, who is gone, holds three files, and alpha has watched that for long enough."""
    folder = tmp_path_factory.mktemp("abandoned")
    repo = new_repo(folder / "repo", seal(folder / "home", {"PATH": "/usr/bin"}))
    repo.commit("first", x="1\n")
    repo.coord_json("init", "--agent", "beta")
    claim_long_ago(repo, "src/a", "src/b", purpose="half done")
    claim_long_ago(repo, "c")
    repo.git("config", "coord.agent", "alpha")
    repo.coord_json("init")
    assert repo.coord("takeover", "src/a", "c").code == 7  # which begins to watch
    watched_long_ago(repo)
    return repo


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"files": ["src/a"], "reason": "gone"}, ["takeover", "-m", "gone", "src/a"]),
        ({"files": ["#1"], "all_items": True}, ["takeover", "--all-items", "#1"]),
        ({"files": ["src", "c"]}, ["takeover", "src", "c"]),
        ({"files": ["c"], "dry_run": True}, ["takeover", "--dry-run", "c"]),
    ],
)
def test_a_takeover_is_granted_by_both_alike(
    abandoned: Repo, tmp_path: Path, arguments: dict[str, Any], words: list[str]
) -> None:
    answered = _compare(abandoned, tmp_path, "takeover", arguments, words)
    assert answered["ok"] is True
    assert answered.get("dry_run") is (True if "--dry-run" in words else None)
    if "--dry-run" not in words:
        assert (answered["agent"], answered["token"]) == ("alpha", 3)


def test_every_tool_is_compared() -> None:
    assert {tool.__name__ for tool, _ in TOOLS} - {tool for tool, _, _ in CASES} == {"list_claims"}
