"""What git makes of a URL, and remotes that may only be read or want a password nobody has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.words import forget_sync
from tests.helpers import Repo
from tests.remotes.pair import Pair, clones
from tests.remotes.servers import git_daemon, git_over_http
from tests.remotes.story import assert_healed, assert_one_line, two_agents_work


@pytest.mark.slow
@pytest.mark.parametrize("key", ["insteadOf", "pushInsteadOf"])
def test_a_rewritten_url_is_followed_to_where_git_pushes(
    key: str, hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    mirror = hub.path.with_name("mirror.git")
    hub.git("clone", "-q", "--bare", str(hub.path), str(mirror))
    start = "hub:" if key == "insteadOf" else f"{mirror}"
    hub.git("config", "--global", f"url.{hub.path}.{key}", start)
    pair = clones(tmp_path, env, start, hub)
    if key == "pushInsteadOf":
        # Commits are read from the mirror, so what alpha pushes has to get there too.
        pair.hook(
            "post-receive",
            f"unset $(git rev-parse --local-env-vars); git -C '{mirror}' fetch -q '{hub.path}' main:main",
        )
    two_agents_work(pair)
    assert not Repo(mirror, env).refs("refs/coord") or key == "insteadOf"


def test_a_remote_that_may_only_be_read_is_said_and_still_read(pair: Pair) -> None:
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    with git_daemon(pair.hub.path.parent, pair.hub.env) as url:
        pair.alpha.git("config", "remote.origin.url", f"{url}/hub.git")
        may_only_be_read(pair)
    pair.set_url(str(pair.hub.path))
    assert_healed(pair)


def test_a_web_server_that_takes_no_pushes_is_said_and_still_read(pair: Pair) -> None:
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    with git_over_http(pair.hub.path.parent, pair.hub.env) as (url, answers):
        pair.alpha.git("config", "remote.origin.url", f"{url}/hub.git")
        may_only_be_read(pair)
    assert set(answers) == {200, 403}
    pair.set_url(str(pair.hub.path))
    assert_healed(pair)


def may_only_be_read(pair: Pair) -> None:
    before = pair.hub.refs()
    forget_sync(pair.alpha)
    seen = pair.alpha.coord_json("check", "a.txt", "b.txt", code=3)["resources"]
    assert [row["status"] for row in seen] == ["free", "held"]
    assert_one_line(pair.alpha.coord("claim", "a.txt"))
    assert pair.hub.refs() == before


def test_a_clone_of_a_remote_that_may_only_be_read_is_not_half_set_up(pair: Pair, tmp_path: Path) -> None:
    with git_daemon(tmp_path, pair.hub.env) as url:
        pair.hub.git("clone", "-q", f"{url}/hub.git", str(tmp_path / "gamma"))
        gamma = Repo(tmp_path / "gamma", pair.hub.env)
        before = pair.hub.refs()
        answer = gamma.coord_json("init", "--agent", "gamma")
        assert (answer["joined"], answer["agent"], "hub.git" in answer["read_only"]) == (False, None, True)
        assert pair.hub.refs() == before
        # What needs no name can still be asked.
        assert gamma.coord_json("check", "a.txt")["resources"][0]["status"] == "free"
    gamma.git("config", "remote.origin.url", str(pair.hub.path))
    assert gamma.coord_json("init", "--agent", "gamma")["joined"] is True
    assert gamma.coord_json("claim", "a.txt")["confirmed"] is True


@pytest.mark.parametrize("verb", ["sync", "claim a.txt"])
def test_nobody_is_asked_for_a_password(verb: str, pair: Pair, tmp_path: Path) -> None:
    unsealed = {name: value for name, value in pair.alpha.env.items() if name != "GIT_TERMINAL_PROMPT"}
    alpha = Repo(pair.alpha.path, unsealed)
    with git_over_http(tmp_path, pair.hub.env, password="secret") as (url, _):
        alpha.git("config", "remote.origin.url", f"{url}/hub.git")
        code, asked, said = at_a_terminal(alpha, f"git coord {verb}", tmp_path / "ours")
        # The check can fail: git itself does ask.
        assert at_a_terminal(alpha, "git fetch", tmp_path / "git")[:2] == (128, ["Username for"])
    assert (code, asked) == (5, [])
    assert "git coord: origin: could not read Username for" in said


def at_a_terminal(repo: Repo, line: str, log: Path) -> tuple[int, list[str], str]:
    """Type a command line at a terminal; return its status, what was asked for, and all that was shown."""
    done = repo.run("script", "-qec", line, str(log), input="git\nwrong\n")
    shown = log.read_text()
    return done.code, re.findall(r"^(Username for|Password for)", shown, re.MULTILINE), shown
