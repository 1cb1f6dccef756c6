"""pre-push through real pushes with the installed hook: which commits, which refs, what is asked of the remote."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers import PATIENCE, Completed, Repo
from tests.verify.stage import Stage, succeed

from git_coord.app import open_app
from git_coord.clock import SystemClock
from git_coord.errors import CoordError, Kind
from git_coord.hooks.pre_push import pre_push

NOTES = "refs/notes/coord/alpha"


def violation(repo: Repo, text: str = "theirs\n") -> str:
    repo.write("a.txt", text)
    repo.git("add", "a.txt")
    repo.git("commit", "-q", "--no-verify", "-m", "past the hook")
    return repo.rev("HEAD")


def push(repo: Repo, *args: str) -> Completed:
    """Push with a deadline, as the hook must never hang."""
    return repo.run("git", "push", "-q", *args)


def assert_refused(done: Completed, commit: str, why: str = "held when it was committed") -> None:
    rows = [
        line for line in done.err.splitlines() if line.startswith(f"  {commit[:7]}  a.txt   held by alpha #1 since ")
    ]
    assert (done.code, len(rows)) == (1, 1), done.err
    assert f"   {why}   until " in rows[0]


def assert_passed(done: Completed) -> None:
    assert (done.code, done.err) == (0, "")


def test_a_refusal_names_commit_path_holder_lease_and_ways_out(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    bad = violation(stage.beta)
    done = push(stage.beta, "origin", "HEAD:topic")
    lines = done.err.splitlines()
    assert_refused(done, bad)
    assert lines[0] == "git coord: push refused, 1 of 2 commits against a claim"
    assert lines[2].startswith("as of ")
    assert lines[3:5] == [
        "next    git coord post --to alpha 'need a.txt'      (once it is yours: git commit --amend --no-edit)",
        "bypass  GIT_COORD_BYPASS=1 git push …      (CI will see it all the same)",
    ]
    assert "topic" not in str(stage.hub.refs("refs/heads"))


def test_what_is_free_or_ones_own_passes_without_a_word(stage: Stage) -> None:
    stage.alpha.commit("mine", **{"a.txt": "1\n", "c.txt": "1\n"})
    assert_passed(push(stage.alpha, "origin", "main"))
    stage.beta.commit("free", **{"d.txt": "1\n"})
    assert_passed(push(stage.beta, "-u", "origin", "HEAD:topic"))


@pytest.mark.parametrize(
    "args",
    [
        ("-u", "origin", "HEAD:refs/heads/new"),
        ("origin", "HEAD:refs/heads/t2", "main:refs/heads/ok"),
        ("origin", "--all"),
        ("origin", "--tags"),
        ("origin", "refs/tags/v1"),
        ("origin", "refs/tags/light"),
        ("second", "HEAD:topic"),
        ("URL", "HEAD:topic"),
        ("-f", "origin", "HEAD:main"),
    ],
    ids=" ".join,
)
def test_however_it_is_pushed_a_bad_commit_is_refused(stage: Stage, args: tuple[str, ...]) -> None:
    beta = stage.beta
    second = stage.folder / "second.git"
    beta.git("init", "-q", "--bare", str(second))
    beta.git("remote", "add", "second", str(second))
    beta.git("config", "coord.remote", "origin")
    beta.git("checkout", "-q", "-b", "topic")
    bad = violation(beta)
    beta.git("tag", "-a", "-m", "v1", "v1")
    beta.git("tag", "light")
    beta.commit("fine", **{"c.txt": "1\n"})
    assert_refused(push(beta, *(str(stage.hub.path) if word == "URL" else word for word in args)), bad)


def test_old_commits_that_the_remote_has_are_nobodys_trouble(stage: Stage) -> None:
    old = violation(stage.beta)
    stage.beta.git("push", "-q", "--no-verify", "origin", "main")
    stage.beta.git("tag", "-a", "-m", "old", "old")
    assert_passed(push(stage.beta, "origin", "HEAD:refs/heads/r", f"{old}~1:refs/heads/older", "refs/tags/old"))
    assert_passed(push(stage.beta, "origin", "main"))
    assert_passed(push(stage.beta, "origin", ":r"))


def test_a_second_remote_that_was_never_fetched_gets_the_old_commits(stage: Stage) -> None:
    second = stage.folder / "second.git"
    stage.beta.git("init", "-q", "--bare", str(second))
    stage.beta.git("remote", "add", "second", str(second))
    stage.beta.git("config", "coord.remote", "origin")
    assert_passed(push(stage.beta, "second", "main"))
    assert_passed(push(stage.beta, str(second), "main:other"))


def test_a_remote_id_that_this_clone_lacks_is_no_obstacle(stage: Stage) -> None:
    stage.alpha.git("checkout", "-q", "-b", "other")
    stage.alpha.commit("unknown to beta", **{"x.txt": "1\n"})
    assert_passed(push(stage.alpha, "origin", "other"))
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    assert_passed(push(stage.beta, "-f", "origin", "HEAD:other"))
    stage.alpha.commit("more", **{"x.txt": "2\n"})
    assert_passed(push(stage.alpha, "-f", "origin", "other"))
    bad = violation(stage.beta)
    assert_refused(push(stage.beta, "-f", "origin", "HEAD:other"), bad)


def test_our_own_refs_blobs_and_trees_are_not_judged(stage: Stage) -> None:
    blob = stage.beta.rev("HEAD:b.txt")
    assert_passed(push(stage.beta, "origin", f"{blob}:refs/tags/blob", "HEAD^{tree}:refs/tags/tree"))
    assert push(stage.beta, "origin", "refs/coord/*").code == 0
    violation(stage.beta)
    assert_passed(push(stage.beta, "origin", "HEAD:refs/coord/whatever"))


def call(repo: Repo, *lines: str, remote: str = "origin", url: str = "") -> int:
    return pre_push(open_app(str(repo.path), repo.env), remote, url, lines)


def test_a_zero_id_is_nothing_whatever_its_length(stage: Stage, capfd: pytest.CaptureFixture[str]) -> None:
    bad = violation(stage.beta)
    for zero in ("0" * 40, "0" * 64):
        assert call(stage.beta, f"(delete) {zero} refs/heads/x {bad}") == 0
        assert call(stage.beta, f"refs/heads/main {bad} refs/heads/x {zero}") == 3
    assert call(stage.beta) == call(stage.beta, "", "what is this") == 0
    assert capfd.readouterr().err.count(bad[:7]) == 2


def test_every_line_is_read_before_anything_is_said(stage: Stage) -> None:
    read = []

    def lines() -> Iterator[str]:
        for number in range(3):
            read.append(number)
            yield f"(delete) {'0' * 40} refs/heads/{number} {'1' * 40}"

    assert pre_push(open_app(str(stage.beta.path), stage.beta.env), "origin", "", lines()) == 0
    assert read == [0, 1, 2]


def test_a_claim_that_this_clone_has_not_seen_yet_is_asked_for(stage: Stage) -> None:
    made = stage.beta.commit("free as far as beta knows", **{"b.txt": "1\n"})
    succeed(stage.alpha, "claim", "b.txt")
    done = push(stage.beta, "origin", "HEAD:topic")
    assert (done.code, f"  {made[:7]}  b.txt   held by alpha #2 since " in done.err) == (1, True)
    assert "   claimed since then   until " in done.err


def test_a_commit_against_a_claim_that_is_released_says_so(stage: Stage) -> None:
    bad = violation(stage.beta)
    succeed(stage.alpha, "release", "--all")
    done = push(stage.beta, "origin", "HEAD:topic")
    assert (done.code, f"  {bad[:7]}  a.txt" in done.err, "   released since" in done.err) == (1, True, True)
    stage.beta.git("commit", "-q", "--amend", "-m", "anew")
    assert_passed(push(stage.beta, "origin", "HEAD:topic"))


def test_receipts_arrive_with_the_push_when_a_claim_is_live(stage: Stage) -> None:
    mine = stage.alpha.commit("mine", **{"a.txt": "1\n"})
    assert_passed(push(stage.alpha, "origin", "main"))
    assert stage.hub.git("notes", "--ref", NOTES, "list").split()[1::2] == [mine]


def test_without_a_live_claim_they_wait_for_the_next_push_of_ours(stage: Stage) -> None:
    stage.beta.commit("free", **{"c.txt": "1\n"})
    assert_passed(push(stage.beta, "origin", "HEAD:topic"))
    assert stage.hub.refs("refs/notes") == {}
    succeed(stage.beta, "sync")
    assert list(stage.hub.refs("refs/notes")) == ["refs/notes/coord/beta"]


def test_the_holder_vouches_for_its_commits_that_no_hook_noted(stage: Stage) -> None:
    patch = stage.alpha.with_env(GIT_COORD_MODE="off")
    patch.write("a.txt", "by mail\n")
    made = patch.git("stash", "create")
    mailed = stage.alpha.git("commit-tree", "-p", "HEAD", "-m", "am", f"{made}^{{tree}}")
    stage.alpha.git("update-ref", "refs/heads/topic", mailed)
    assert_passed(push(stage.alpha, "origin", "topic"))
    assert stage.hub.git("notes", "--ref", NOTES, "list").split()[1::2] == [mailed]


def test_the_hook_runs_once_and_never_starts_itself(stage: Stage) -> None:
    log = stage.folder / "log"
    hook = stage.alpha.path / ".git/hooks/pre-push"
    assert hook.exists()
    hook.write_text(hook.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\necho run >>'{log}'\n", 1))
    stage.alpha.commit("mine", **{"a.txt": "1\n"})
    assert push(stage.alpha, "origin", "main").code == 0
    succeed(stage.alpha, "sync")
    assert log.read_text() == "run\n"


@pytest.mark.parametrize(("variable", "config"), [("warn", None), ("off", None), (None, "warn"), (None, "off")])
def test_modes_let_it_pass(stage: Stage, variable: str | None, config: str | None) -> None:
    bad = violation(stage.beta)
    if config:
        stage.beta.git("config", "coord.mode", config)
    repo = stage.beta.with_env(GIT_COORD_MODE=variable) if variable else stage.beta
    done = push(repo, "origin", "HEAD:topic")
    assert done.code == 0
    assert (bad[:7] in done.err, "bypass" in done.err) == ("warn" in (variable, config), False)


def test_a_bypass_lets_this_push_pass(stage: Stage) -> None:
    violation(stage.beta)
    assert_passed(push(stage.beta.with_env(GIT_COORD_BYPASS="1"), "origin", "HEAD:topic"))


def test_a_bypass_at_commit_is_none_at_push(stage: Stage) -> None:
    bad = stage.beta.with_env(GIT_COORD_BYPASS="1").commit("mine now", **{"a.txt": "1\n"})
    assert_refused(push(stage.beta, "origin", "HEAD:topic"), bad, "bypassed")


def test_a_clone_that_was_never_set_up_is_left_alone(stage: Stage) -> None:
    violation(stage.beta)
    stage.beta.git("config", "--unset", "coord.repo")
    assert_passed(push(stage.beta, "origin", "HEAD:topic"))


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the URL of a server that accepts a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"git://127.0.0.1:{server.getsockname()[1]}/hub"


def go_silent(repo: Repo, url: str) -> None:
    repo.git("remote", "add", "ledger", url)
    repo.git("config", "coord.remote", "ledger")
    repo.git("config", "coord.fetchTimeout", "1s")
    repo.git("config", "coord.pushTimeout", "1s")


def test_a_remote_that_stays_silent_is_asked_once_and_the_local_picture_decides(stage: Stage, silent: str) -> None:
    go_silent(stage.beta, silent)
    stage.beta.commit("free", **{"c.txt": "1\n"})
    begun = time.monotonic()
    done = push(stage.beta, "origin", "HEAD:ok")
    assert (done.code, len(done.err.splitlines()), time.monotonic() - begun < PATIENCE) == (0, 1, True)
    assert done.err.startswith("git coord: no answer from ledger in 1 s; judged by a picture ")
    bad = violation(stage.beta)
    assert_refused(push(stage.beta, "origin", "HEAD:topic"), bad)


def test_no_answer_and_no_picture_is_never_free(stage: Stage, silent: str) -> None:
    stage.beta.commit("free", **{"c.txt": "1\n"})
    go_silent(stage.beta, silent)
    for ref in ("refs/coord/claims", "refs/coord-local/seen"):
        stage.beta.git("update-ref", "-d", ref)
    assert push(stage.beta, "origin", "HEAD:topic").code == 1
    with pytest.raises(CoordError) as caught:
        call(stage.beta, f"refs/heads/main {stage.beta.rev('HEAD')} refs/heads/topic {'0' * 40}")
    assert caught.value.kind is Kind.UNKNOWN
    assert push(stage.beta.with_env(GIT_COORD_MODE="warn"), "origin", "HEAD:topic").code == 0


def test_receipts_that_cannot_be_sent_are_said_and_do_not_stop_the_push(stage: Stage, silent: str) -> None:
    go_silent(stage.alpha, silent)
    stage.alpha.commit("mine", **{"a.txt": "1\n"})
    done = push(stage.alpha, "origin", "main")
    assert done.code == 0
    assert done.err.splitlines()[1:] == [
        "git coord: receipts are not pushed: no answer",
        "next    git coord sync      (CI wants them)",
    ]


def test_a_ledger_that_does_not_verify_stops_the_push(stage: Stage) -> None:
    hub = stage.hub.with_env(
        **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    )
    forged = hub.git("commit-tree", "-p", "refs/coord/claims", "-m", "x", "refs/coord/claims^{tree}")
    hub.git("update-ref", "refs/coord/claims", forged)
    stage.beta.commit("free", **{"c.txt": "1\n"})
    done = push(stage.beta, "origin", "HEAD:topic")
    assert (done.code, f"commit {forged[:10]}" in done.err) == (1, True)


def test_a_receipt_with_a_head_that_the_ledger_lacks_counts_as_none(stage: Stage) -> None:
    made = stage.beta.commit("free", **{"a.txt.bak": "1\n"})
    bad = violation(stage.beta)
    notebook = stage.beta.path / ".git/coord/commits"
    notebook.write_text(f"commit {made} {'1' * 40} 0 beta\ncommit {bad} {'1' * 40} 0 beta\n")
    assert_refused(push(stage.beta, "origin", "HEAD:topic"), bad, "no receipt")


def test_a_sha256_repository_pushes_new_branches_and_deletes_them(tmp_path: Path, env: dict[str, str]) -> None:
    hub, alpha = Repo(tmp_path / "hub.git", env), Repo(tmp_path / "alpha", env)
    for path, option in ((hub.path, "--bare"), (alpha.path, "--quiet")):
        path.mkdir()
        Repo(path, env).git("init", "-q", "--object-format=sha256", option)
    alpha.git("remote", "add", "origin", str(hub.path))
    alpha.commit("first", **{"a.txt": "1\n"})
    succeed(alpha, "init", "--agent", "alpha")
    succeed(alpha, "hooks", "install")
    succeed(alpha, "claim", "a.txt")
    alpha.commit("mine", **{"a.txt": "2\n"})
    assert_passed(push(alpha, "origin", "main", "main:topic"))
    assert_passed(push(alpha, "origin", ":topic"))
    bad = violation(alpha.with_env(GIT_COORD_AGENT="beta"))
    assert_refused(push(alpha.with_env(GIT_COORD_AGENT="beta"), "origin", "main:topic"), bad, "no receipt")
    assert os.path.exists(alpha.path / ".git/hooks/pre-push")


class Tomorrow(SystemClock):
    """A clock of a day later."""

    def now(self) -> int:
        return super().now() + 86400


def test_a_push_under_a_claim_that_nobody_vouches_for_is_refused_unless_the_remote_says_it_is_held(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    alpha, base = stage.alpha, stage.alpha.rev("HEAD")
    alpha.commit("mine", **{"a.txt": "mine\n"})
    lines = [f"refs/heads/main {alpha.rev('HEAD')} refs/heads/main {base}"]
    hub = stage.hub.path

    def judged(*, warns: bool = False) -> int:
        app = open_app(str(alpha.path), alpha.env, clock=Tomorrow())
        return pre_push(app, "origin", str(hub), lines, warns=warns)

    hub.rename(hub.with_name("away.git"))
    assert judged() == 4
    err = capsys.readouterr().err
    assert "git coord: push refused, your claim counts as lost until a sync says otherwise\n" in err
    assert " can be vouched for no longer: no sign of life arrived for 24 h" in err
    assert judged(warns=True) == 0
    assert "git coord: warning, your claim counts as lost" in capsys.readouterr().err
    hub.with_name("away.git").rename(hub)
    assert judged() == 0
