"""An old picture is refreshed behind the scenes by whatever git's hooks see, by one process that disturbs nobody."""

from __future__ import annotations

import json
import re
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.helpers import PATIENCE, Repo, hub_with_clones, until

from git_coord.domain.durations import parse_duration, show_age
from git_coord.guard import refresh
from git_coord.hooks.install import install

from .conftest import open_here

HOUR = 3600


def coord_file(repo: Repo, name: str) -> Path:
    return repo.path / ".git/coord" / name


def age(repo: Repo, seconds: int = HOUR) -> None:
    """Let the picture be so old."""
    coord_file(repo, "synced").write_text(f"{int(time.time()) - seconds}\n")


def is_young(repo: Repo) -> bool:
    return int(coord_file(repo, "synced").read_text()) > time.time() - HOUR / 2


@pytest.fixture
def clones(tmp_path: Path, env: dict[str, str]) -> tuple[Repo, Repo]:
    """Return alpha and beta, members, with hooks, in step with their hub and with each other's branch."""
    _, alpha, beta = hub_with_clones(tmp_path, env, ["alpha", "beta"])
    alpha.commit("files", **{"a.txt": "a\n", "b.txt": "b\n"})
    alpha.git("push", "-q")
    beta.git("pull", "-q")
    for repo in (alpha, beta):
        assert repo.coord("init").code == 0
        install(open_here(repo))
    alpha.coord_json("sync")
    beta.coord_json("sync")
    return alpha, beta


def merged(repo: Repo) -> None:
    repo.git("pull", "-q", "--no-rebase", "--no-edit")


def rebased(repo: Repo) -> None:
    repo.git("pull", "-q", "--rebase")


def switched(repo: Repo) -> None:
    repo.git("switch", "-q", "-c", "topic")


def amended(repo: Repo) -> None:
    repo.git("commit", "-q", "--no-verify", "--amend", "-m", "again")


def committed(repo: Repo) -> None:
    repo.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "more")


@pytest.mark.parametrize("act", [merged, rebased, switched, amended, committed])
def test_what_git_tells_us_of_has_an_old_picture_refreshed_behind_the_scenes(
    clones: tuple[Repo, Repo], act: object
) -> None:
    alpha, beta = clones
    alpha.commit("theirs", **{"c.txt": "c\n"})
    alpha.git("push", "-q", "--no-verify")
    beta.commit("mine", **{"d.txt": "d\n"})
    until(lambda: not coord_file(beta, "refresh.attempt").exists())
    alpha.coord_json("claim", "a.txt")
    age(beta)
    act(beta)  # type: ignore[operator]
    until(lambda: is_young(beta))
    until(lambda: b"a.txt" in coord_file(beta, "claims.snap").read_bytes())


@pytest.mark.parametrize("why", ["young", "off", "no remote", "never set up"])
def test_nothing_is_started_where_there_is_nothing_to_refresh(clones: tuple[Repo, Repo], why: str) -> None:
    _, beta = clones
    if why != "young":
        age(beta)
    if why == "no remote":
        beta.git("config", "coord.remote", ".")
    if why == "never set up":
        beta.git("config", "--unset", "coord.repo")
    acting = beta.with_env(GIT_COORD_MODE="off") if why == "off" else beta
    for _ in range(2):
        # In the foreground: the guard itself, which the shim starts beside git.
        assert acting.run("git-coord", "hook", "post-merge", "0").code == 0
    assert not coord_file(beta, "refresh.attempt").exists()


def test_fifty_commits_of_a_rebase_start_one_process(clones: tuple[Repo, Repo], tmp_path: Path) -> None:
    _, beta = clones
    for number in range(8):
        beta.commit(f"{number}", **{f"n{number}": "x\n"})
    age(beta)
    coord_file(beta, "refresh.attempt").unlink(missing_ok=True)
    # The guard is started by its own path: what it is asked for is written down.
    log = tmp_path / "started"
    for hook in ("post-commit", "post-rewrite", "post-checkout", "post-merge"):
        path = beta.path / ".git/hooks" / hook
        counting = tmp_path / "python"
        counting.write_text(f'#!/bin/sh\necho "$4" >>{log}\n')
        counting.chmod(0o755)
        text = path.read_text()
        start = text.index("python=") + len("python=")
        path.write_text(text[:start] + str(counting) + text[text.index(" ", start) :])
    beta.git("rebase", "-q", "--force-rebase", "HEAD~8")
    until(lambda: "post-rewrite" in log.read_text().split())
    assert log.read_text().split().count("post-commit") == 0
    assert log.read_text().split().count("post-rewrite") == 1


def test_a_pipe_behind_git_ends_with_git_while_the_hub_hangs(clones: tuple[Repo, Repo]) -> None:
    _, beta = clones
    with silent_host() as (server, url):
        beta.git("config", "remote.origin.url", url)
        beta.git("config", "coord.fetchTimeout", "1s")
        age(beta)
        command = ["sh", "-c", "git switch -q -c topic 2>&1 | cat; echo piped"]
        done = subprocess.run(
            command, cwd=beta.path, env=beta.env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "piped\n", "")
        asked, _ = server.accept()  # which hangs now, and git has long ended
        assert list((beta.path / ".git").rglob("index.lock")) == []
        with asked:
            asked.settimeout(PATIENCE)
            while asked.recv(1 << 16):
                pass  # it gives up by itself
    until(lambda: coord_file(beta, "refresh.failed").exists())
    assert coord_file(beta, "refresh.failed").read_text().split()[1:] == ["1"]
    committed(beta)
    assert beta.run("git-coord", "hook", "post-merge", "0").code == 0
    assert coord_file(beta, "refresh.failed").read_text().split()[1:] == ["1"]  # it is left alone for a while


def test_an_edit_hook_has_an_old_picture_refreshed_and_does_not_wait(clones: tuple[Repo, Repo]) -> None:
    alpha, beta = clones
    alpha.coord_json("claim", "a.txt")
    beta.coord_json("claim", "b.txt")
    payload = {"session_id": "s", "cwd": str(beta.path), "hook_event_name": "PreToolUse", "tool_name": "Edit"}
    given = json.dumps(payload | {"tool_input": {"file_path": str(beta.path / "b.txt")}})
    age(beta)
    with silent_host() as (_, url):
        away = beta.git("config", "remote.origin.url")
        beta.git("config", "remote.origin.url", url)
        beta.git("config", "coord.fetchTimeout", "1s")
        beta.run("git-coord", "hook", "claude-code", "pre-edit", input=given)
        until(lambda: coord_file(beta, "refresh.failed").exists())
        beta.git("config", "remote.origin.url", away)
    coord_file(beta, "refresh.failed").unlink()
    coord_file(beta, "refresh.attempt").unlink()
    assert beta.run("git-coord", "hook", "claude-code", "pre-edit", input=given).code == 0
    until(lambda: is_young(beta))


# A commit waits for the remote when the picture is old, and for nothing else.


def stale_claim(alpha: Repo, beta: Repo) -> None:
    """Let alpha claim what beta, whose picture is an hour old, is about to commit."""
    alpha.coord_json("claim", "a.txt", "-m", "fix the parser")
    beta.write("a.txt", "beta\n")
    beta.git("add", "a.txt")
    age(beta)


def test_who_does_not_ask_is_stopped_at_the_commit(clones: tuple[Repo, Repo]) -> None:
    alpha, beta = clones
    stale_claim(alpha, beta)
    done = beta.run("git", "commit", "-m", "mine")
    refused, held, as_of, *_ = done.err.splitlines()
    assert (done.code, refused) == (1, "git coord: commit refused, 1 of 1 paths is claimed")
    assert held.startswith('  a.txt   alpha #1   "fix the parser"   until ')
    assert re.fullmatch(r"as of \d s ago", as_of)  # and not of an hour ago


def test_a_free_commit_by_an_old_picture_makes_it_young_without_a_word(clones: tuple[Repo, Repo]) -> None:
    _, beta = clones
    age(beta)
    beta.write("b.txt", "beta\n")
    done = beta.run("git", "commit", "-qam", "mine")
    assert (done.code, done.err, is_young(beta)) == (0, "", True)


def test_a_young_picture_is_not_looked_at_again(clones: tuple[Repo, Repo]) -> None:
    alpha, beta = clones
    stale_claim(alpha, beta)
    age(beta, 30)
    done = beta.run("git", "commit", "-qm", "mine")
    assert (done.code, done.err, coord_file(beta, "fetch.stamp").stat().st_mtime) == (
        0,
        "",
        coord_file(beta, "fetch.stamp").stat().st_mtime,
    )
    beta.git("reset", "-q", "--soft", "HEAD^")
    beta.git("config", "coord.freshness", "20s")
    age(beta, 30)
    assert beta.run("git", "commit", "-qm", "mine").code == 1


def test_with_a_wait_of_zero_the_commit_asks_nobody_and_says_how_old_the_picture_is(clones: tuple[Repo, Repo]) -> None:
    alpha, beta = clones
    stale_claim(alpha, beta)
    beta.git("config", "coord.commitWait", "0")
    done = beta.run("git", "commit", "-qm", "mine")
    words = "git coord: the remote is not asked at a commit (coord.commitWait); judged by a picture 60 min old\n"
    assert (done.code, done.err) == (0, words)


@pytest.mark.parametrize("mode", ["warn", "off", "bypass"])
def test_a_commit_that_is_not_to_be_refused_still_looks_unless_it_is_not_judged(
    clones: tuple[Repo, Repo], mode: str
) -> None:
    alpha, beta = clones
    stale_claim(alpha, beta)
    acting = beta.with_env(**({"GIT_COORD_BYPASS": "1"} if mode == "bypass" else {"GIT_COORD_MODE": mode}))
    beta.git(
        "config", "remote.origin.url", beta.git("config", "remote.origin.url") + ("" if mode == "warn" else "-gone")
    )
    done = acting.run("git", "commit", "-qm", "mine")
    assert (done.code, "git coord: warning, 1 of 1 paths is claimed" in done.err) == (0, mode == "warn")
    assert mode == "warn" or done.err == ""


def test_a_hub_that_hangs_costs_less_each_time_and_then_nothing(clones: tuple[Repo, Repo]) -> None:
    alpha, beta = clones
    stale_claim(alpha, beta)
    beta.git("config", "core.hooksPath", str(beta.path / ".git/hooks"))
    for hook in ("post-commit", "post-rewrite"):
        (beta.path / ".git/hooks" / hook).unlink()  # the wait of the commit alone
    said, asked = [], []
    with silent_host() as (server, url):
        beta.git("config", "remote.origin.url", url)
        for _ in range(4):
            done = beta.run("git", "commit", "-q", "--allow-empty", "-m", "mine")
            assert done.code == 0
            said += done.err.splitlines()
            asked.append(bool(select.select([server], [], [], 0)[0]))
            if asked[-1]:
                server.accept()[0].close()
    old = "judged by a picture 60 min old"
    assert said == [
        f"git coord: no answer from origin in 2 s; {old}",
        f"git coord: no answer from origin in 1 s; {old}",
        f"git coord: no answer from origin in 0.5 s; {old}",
        f"git coord: the remote gave no answer 3 times, and is not asked for some minutes; {old}",
    ]
    assert asked == [True, True, True, False]
    at = int(coord_file(beta, "refresh.failed").read_text().split()[0])
    coord_file(beta, "refresh.failed").write_text(f"{at - 300} 3\n")
    folder = str(beta.path / ".git/coord")
    assert refresh.commit_wait(folder, {}, at) == 2.0
    age(beta, 0)
    coord_file(beta, "refresh.failed").write_text(f"{at - 10} 3\n")
    assert refresh.commit_wait(folder, {}, int(time.time()) + 5) == 2.0  # it has answered since


def test_a_hub_that_answers_and_then_takes_no_push_has_no_more_time_altogether(clones: tuple[Repo, Repo]) -> None:
    """The ledger that it has lost is put back by whoever looks: a commit does not wait for that either."""
    _, beta = clones
    hub = Repo(Path(beta.git("config", "remote.origin.url")), beta.env)
    for ref in hub.refs("refs/coord"):
        hub.git("update-ref", "-d", ref)
    busy = hub.write("busy", "")
    hub.write("hooks/pre-receive", f"#!/bin/sh\nwhile [ -e {busy} ]; do sleep 0.2; done\nexit 1\n").chmod(0o755)
    beta.git("config", "coord.pushTimeout", "1h")
    beta.write("b.txt", "beta\n")
    age(beta)
    try:
        done = beta.run("git", "commit", "-qam", "mine")
    finally:
        busy.unlink()
    assert (done.code, done.err) == (
        0,
        "git coord: no answer from origin in 2 s; judged by a picture of unknown age\n",
    )
    assert coord_file(beta, "refresh.failed").read_text().split()[1:] == ["1"]


@pytest.mark.parametrize("why", ["no remote", "never set up"])
def test_a_commit_without_a_remote_or_a_ledger_waits_for_nothing(clones: tuple[Repo, Repo], why: str) -> None:
    _, beta = clones
    age(beta)
    beta.git("config", "coord.remote", ".") if why == "no remote" else beta.git("config", "--unset", "coord.repo")
    beta.write("b.txt", "beta\n")
    done = beta.run("git", "commit", "-qam", "mine")
    assert (done.code, done.err, is_young(beta)) == (0, "", False)


def test_a_ledger_that_cannot_be_believed_refuses_no_commit_and_is_said(clones: tuple[Repo, Repo]) -> None:
    alpha, beta = clones
    alpha.coord_json("claim", "a.txt")
    tree = alpha.git("rev-parse", "refs/coord/claims^{tree}")
    bad = alpha.git("commit-tree", tree, "-p", "refs/coord/claims", "-m", "mine")
    alpha.git("push", "-q", "--no-verify", "origin", f"{bad}:refs/coord/claims")
    beta.write("b.txt", "beta\n")
    age(beta)
    done = beta.run("git", "commit", "-qam", "mine")
    assert (done.code, done.err.startswith(f"git coord: refused to adopt the ledger: commit {bad[:10]}")) == (0, True)
    assert done.err.endswith("judged by a picture 60 min old\n")


def test_the_words_for_an_age_are_the_same_in_the_guard() -> None:
    spans = [*range(0, 20_000, 7), *range(0, 400_000, 1801)]
    assert [refresh.span(each) for each in spans] == [show_age(each) for each in spans]


@pytest.mark.parametrize(
    "text", ["90s", "30m", "2h", "1d", "45", "0", "0s", " 5s ", "", "x", "5x", "-1s", "\uff11s", "s"]
)
def test_the_guard_reads_durations_as_everything_else_does(text: str) -> None:
    try:
        expected: float = parse_duration(text)
    except ValueError:
        expected = 0 if text in ("0", "0s") else 7
    assert refresh.seconds(text, 7) == expected


def test_a_wait_that_is_no_duration_is_said_with_the_line_that_mends_it(clones: tuple[Repo, Repo]) -> None:
    _, beta = clones
    beta.git("config", "coord.commitWait", "soon")
    answer = beta.coord_json("status", code=1)
    assert answer["message"] == "coord.commitWait is 'soon', not a duration like 90s, 30m or 2h"
    assert answer["next"] == "git config --replace-all coord.commitWait 2s"
    beta.git("config", "coord.commitWait", "0")
    assert beta.coord_json("status")["ok"] is True


@contextmanager
def silent_host() -> Iterator[tuple[socket.socket, str]]:
    """Yield a host that takes every connection and never says a word, and its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield server, f"git://127.0.0.1:{server.getsockname()[1]}/hub.git"
