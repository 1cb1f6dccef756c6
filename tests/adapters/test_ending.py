"""The end of a turn and of a session, through the installed configuration: released, handed over or kept."""

from __future__ import annotations

import sys
import time

import pytest

from tests.adapters.claude import ClaudeCode
from tests.adapters.conftest import Pair
from tests.adapters.test_edits import holders, settle
from tests.adapters.tool import Session
from tests.helpers import Repo
from tests.helpers.waiter import Waiter


@pytest.fixture
def session(pair: Pair) -> ClaudeCode:
    """Return a session of Claude Code in alpha's worktree, which has just edited `a.txt`."""
    assert pair.alpha.coord("adapter", "install", "claude-code").code == 0
    session = ClaudeCode(pair.alpha, "s-1")
    session.begin()
    assert session.call("Write", file_path=str(pair.alpha.path / "a.txt"), content="mine\n") is None
    return session


def _presence(repo: Repo) -> tuple[str, str | None]:
    return next(
        (a["state"], a["note"]) for a in repo.coord_json("status", "--local")["agents"] if a["agent"] == "alpha"
    )


@pytest.mark.parametrize(
    ("setting", "turn", "end"),
    [
        (None, None, None),
        ("release", None, None),
        ("keep", "alpha", "alpha"),
        ("will", "alpha", "alpha"),
        ("handover:beta", "alpha", "beta"),
        ("handover:alpha", "alpha", None),
        ("burn", None, None),
    ],
)
def test_what_the_hooks_claimed_goes_where_it_is_configured(
    pair: Pair, session: ClaudeCode, setting: str | None, turn: str | None, end: str | None
) -> None:
    if setting:
        pair.alpha.git("config", "coord.onEnd", setting)
    assert pair.alpha.coord("claim", "src").code == 0
    session.end_turn()
    assert holders(pair.alpha).get("a.txt") == turn
    session.end_session()
    assert holders(pair.alpha).get("a.txt") == end
    assert holders(pair.alpha)["src"] == "alpha"  # what the agent claimed itself is never touched
    assert pair.beta.coord("check", "a.txt").code == (3 if end == "alpha" else 0)
    note = "session ended, holds #2 #3 until the lease ends"
    assert _presence(pair.alpha) == (("offline", note) if setting == "will" else ("online", None))


def test_a_turn_may_keep_and_a_session_release_or_a_turn_release_before_a_hand_over(
    pair: Pair, session: ClaudeCode
) -> None:
    pair.alpha.git("config", "coord.autoRelease", "end")
    session.end_turn()
    assert holders(pair.alpha)["a.txt"] == "alpha"
    pair.alpha.git("config", "coord.onEnd", "handover:beta")
    pair.alpha.git("config", "coord.autoRelease", "stop")
    session.end_turn()
    session.end_session()
    assert "a.txt" not in holders(pair.alpha)


def test_a_release_at_the_end_goes_to_who_waits_first(pair: Pair, session: ClaudeCode) -> None:
    waiter = Waiter(pair.beta, "--wait=1m", "a.txt")
    session.end()
    assert waiter.ends()[0] == 0
    assert holders(pair.alpha)["a.txt"] == "beta"


def test_what_cannot_be_handed_over_is_kept_and_said_and_the_session_is_over_all_the_same(pair: Pair) -> None:
    pair.alpha.git("config", "coord.onEnd", "handover:nobody")
    session = pair.session()
    session.edited("a.txt")
    done = session.hook("session-end")
    assert (done.out, done.err) == (
        "",
        "git coord: not handed over, kept until the lease ends: no agent nobody has joined\n",
    )
    assert holders(pair.alpha)["a.txt"] == "alpha"
    pair.session("s-2").edited("a.txt")  # the next session is the worktree's agent
    assert pair.session("s-3").hook("session-end").err == ""


def test_a_setting_that_says_nothing_is_release_with_a_warning(pair: Pair) -> None:
    pair.alpha.git("config", "coord.onEnd", "handover:No Body")
    session = pair.session()
    session.edited("a.txt")
    assert session.hook("stop").err == (
        "git coord: coord.onEnd is 'handover:No Body', not release, keep, will or handover:AGENT; taken as release\n"
    )
    assert "a.txt" not in holders(pair.alpha)


def test_a_hand_over_waits_for_no_remote_and_is_carried_out_beside(clones: Pair) -> None:
    clones.alpha.git("config", "coord.onEnd", "handover:beta")
    clones.alpha.git("config", "coord.autoClaim", "confirmed")
    session = clones.session()
    session.start()
    session.edited("README.md")
    hangs = Session(clones.alpha.with_env(GIT_SSH_COMMAND="sleep 30", GIT_ALLOW_PROTOCOL="ssh"), "s-1")
    url = clones.alpha.git("remote", "get-url", "origin").strip()
    clones.alpha.git("config", "coord.fetchTimeout", "1s")
    clones.alpha.git("config", "coord.pushTimeout", "1s")
    clones.alpha.git("remote", "set-url", "origin", "ssh://nowhere/x")
    begun = time.monotonic()
    assert hangs.hook("session-end").err == ""
    assert time.monotonic() - begun < 10
    clones.alpha.git("remote", "set-url", "origin", url)
    clones.alpha.git("config", "--unset", "coord.fetchTimeout")
    clones.alpha.git("config", "--unset", "coord.pushTimeout")
    settle(clones.alpha)
    assert clones.beta.coord("sync").code == 0
    assert holders(clones.beta) == {"README.md": "beta"}


def test_a_will_reaches_others_by_the_process_beside(clones: Pair) -> None:
    clones.alpha.git("config", "coord.onEnd", "will")
    session = clones.session()
    session.start()
    session.edited("README.md")
    session.hook("session-end")
    acting = clones.alpha.with_env(GIT_COORD_AGENT="alpha")
    assert acting.run(sys.executable, "-P", "-m", "git_coord.adapters", "depart").code == 0
    assert clones.beta.coord("sync").code == 0
    assert _presence(clones.beta) == ("offline", "session ended, holds #1 until the lease ends")
