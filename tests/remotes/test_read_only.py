"""A clone that may not write, at the remote or in its own `.git`: a state of its own, said once, that judges as any."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import Completed, Repo
from tests.remotes.pair import Pair
from tests.remotes.servers import git_over_http

DENIED = "cat >/dev/null; echo 'FATAL: W any hub carol DENIED by fallthru' >&2; exit 1"
WHY = "origin refuses our refs: pre-receive hook declined: FATAL: W any hub carol DENIED by fallthru"


def carol(pair: Pair, name: str = "carol") -> Repo:
    """Return a clone of somebody who may only read; alpha holds a.txt."""
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    pair.hook("pre-receive", DENIED)
    clone = replace(pair.alpha, path=pair.alpha.path.parent / name)
    pair.alpha.git("clone", "-q", str(pair.hub.path), str(clone.path))
    return clone


def hook(repo: Repo, path: str, event: str = "pre-edit", **env: str) -> str:
    """Return what an edit hook answers."""
    payload = {"session_id": "s", "cwd": str(repo.path), "tool_name": "Edit", "tool_input": {"file_path": path}}
    done = repo.with_env(**env).run("git-coord", "hook", "claude-code", event, input=json.dumps(payload))
    assert (done.code, done.err) == (0, "")
    return done.out


def test_init_ends_read_only_and_leaves_nothing_half_done(pair: Pair) -> None:
    reader = carol(pair)
    before, keys = pair.hub.refs(), sorted(Path(reader.env["XDG_STATE_HOME"]).rglob("*"))
    done = reader.coord("init", "--agent", "carol")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        "read-only, in this worktree: it checks, verifies and judges commits, and claims nothing",
        f"  why      {WHY}",
    ]
    assert reader.run("git", "config", "coord.agent").code == 1
    assert [ref for ref in reader.refs("refs/coord") if "carol" in ref] == []
    assert sorted(Path(reader.env["XDG_STATE_HOME"]).rglob("*")) == keys
    assert pair.hub.refs() == before
    again = reader.coord_json("init")
    assert (again["agent"], again["joined"], again["read_only"]) == (None, False, WHY)


def test_a_read_only_clone_judges_as_any_other_and_says_once_what_it_is(pair: Pair) -> None:
    reader = carol(pair)
    reader.coord("init", "--agent", "carol")
    reader.coord_json("hooks", "install")
    shown = reader.coord("status").out
    assert [line for line in shown.splitlines() if "DENIED" in line] == [
        f"read-only {WHY}; once you may write there: git coord init"
    ]
    rows = reader.coord_json("check", "a.txt", "b.txt", code=3)["resources"]
    assert [row["status"] for row in rows] == ["held", "free"]
    assert reader.coord("verify").code == 0
    assert reader.coord_json("preflight", "b.txt")["next"] is None
    assert reader.coord("doctor").code == 0
    refused = reader.coord_json("claim", "b.txt", code=5)
    assert refused["message"].startswith(f"this clone is read-only, {WHY}")
    assert reader.coord("sync").code == 0
    reader.commit("free", **{"b.txt": "mine\n"})
    reader.write("a.txt", "not mine\n")
    reader.git("add", "a.txt")
    blocked = reader.run("git", "commit", "-q", "-m", "held")
    assert (blocked.code, "alpha #1" in blocked.err, "git coord init" in blocked.err) == (1, True, False)


@pytest.mark.parametrize("named", [{}, {"GIT_COORD_AGENT": "zed"}])
def test_edit_hooks_of_a_read_only_clone_stop_what_is_held_and_nothing_else(pair: Pair, named: dict[str, str]) -> None:
    reader = carol(pair)
    reader.write(".coord.toml", '[claims]\nrequired = ["src"]\n')
    reader.coord("init", "--agent", "carol")
    assert hook(reader, str(reader.path / "b.txt"), **named) == ""
    assert hook(reader, str(reader.path / "src/new.py"), **named) == ""
    denied = hook(reader, str(reader.path / "a.txt"), **named)
    assert ("held by alpha #1" in denied, "git coord check a.txt" in denied, "post --to" in denied) == (
        True,
        True,
        False,
    )
    assert "read-only here" in hook(reader, "", "session-start", **named)
    assert reader.refs("refs/coord/requests") == {}


def test_who_is_let_in_later_becomes_a_member_by_init(pair: Pair) -> None:
    reader = carol(pair)
    reader.coord("init", "--agent", "carol")
    (pair.hub.path / "hooks" / "pre-receive").unlink()
    answer = reader.coord_json("init")
    assert (answer["agent"], answer["joined"], answer.get("read_only")) == ("carol", True, None)
    assert reader.coord_json("claim", "b.txt")["confirmed"] is True
    assert reader.coord_json("status").get("read_only") is None


def test_what_an_earlier_init_left_half_done_is_taken_back(pair: Pair) -> None:
    reader = carol(pair)
    pair.hook("pre-receive", "sleep 600")
    reader.git("config", "coord.pushTimeout", "1s")
    silent = reader.coord("init", "--agent", "carol")
    assert (silent.code, reader.git("config", "coord.agent")) == (5, "carol")
    reader.git("config", "--unset", "coord.pushTimeout")
    pair.hook("pre-receive", DENIED)
    assert reader.coord_json("init")["read_only"] == WHY
    assert reader.run("git", "config", "coord.agent").code == 1
    assert reader.refs("refs/coord/requests") == {}
    assert hook(reader, str(reader.path / "b.txt")) == ""


def test_a_web_server_that_forbids_pushes_makes_a_read_only_clone(pair: Pair, tmp_path: Path) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    pair.hub.git("config", "http.receivepack", "false")
    with git_over_http(tmp_path, pair.alpha.env) as (url, _):
        clone = replace(pair.alpha, path=tmp_path / "carol")
        pair.alpha.git("clone", "-q", f"{url}/{pair.hub.path.name}", str(clone.path))
        answer = clone.coord_json("init", "--agent", "carol")
        assert (answer["joined"], "403" in answer["read_only"]) == (False, True)
        assert "403" in clone.coord_json("claim", "b.txt", code=5)["message"]
        assert clone.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"


def test_a_host_without_a_ledger_that_takes_nothing_is_an_error_and_nothing_is_left(
    hub: Repo, tmp_path: Path, env: dict[str, str]
) -> None:
    pair = Pair(hub, *(replace(hub, path=tmp_path / name) for name in ("alpha", "beta")))
    hub.git("clone", "-q", str(hub.path), str(pair.alpha.path))
    pair.hook("pre-receive", DENIED)
    done = pair.alpha.coord("init", "--agent", "alpha")
    assert (done.code, done.err.splitlines()) == (5, [f"git coord: {WHY}", "next   git coord init"])
    assert pair.alpha.refs("refs/coord") == {}
    assert pair.alpha.run("git", "config", "--get-regexp", r"^coord\.").code == 1


def test_a_host_that_takes_only_one_ref_at_once_lets_a_member_in(pair: Pair) -> None:
    reader = carol(pair)
    pair.hook("pre-receive", "[ $(wc -l) -le 1 ]")
    assert reader.coord_json("init", "--agent", "carol")["joined"] is True


def mounted(repo: Repo, script: str) -> Completed:
    """Run a script of the shell in a worktree whose `.git` is mounted read-only."""
    lines = f"set -e; mount --bind .git .git; mount -o remount,ro,bind .git; set +e\n{script}"
    return repo.run("unshare", "-m", "sh", "-c", lines)


@pytest.fixture(scope="module")
def _may_mount(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("mount")
    command = ["unshare", "-m", "mount", "--bind", str(folder), str(folder)]
    try:
        allowed = subprocess.run(command, check=False, capture_output=True, env=dict(os.environ)).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("nothing can be mounted here: run as root, with util-linux's unshare")


READS = (
    "check a.txt b.txt",
    "preflight a.txt",
    "preflight b.txt",
    "status",
    "verify",
    "verify --local",
    "log",
    "doctor",
)


@pytest.mark.usefixtures("_may_mount")
def test_a_git_folder_mounted_read_only_reads_and_judges(pair: Pair) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.beta.coord("sync").code == 0
    done = mounted(pair.beta, "\n".join(f"git coord {line}; echo = $?" for line in READS))
    ends = [line for line in done.out.splitlines() if line.startswith("= ")]
    assert (ends, done.err) == (["= 3", "= 3", "= 0", "= 0", "= 0", "= 0", "= 0", "= 0"], "")
    assert [line for line in done.out.splitlines() if line.startswith("read-only")] == [
        f"read-only {pair.beta.path}/.git may only be read"
    ]
    for line in ("claim b.txt", "post hello", "release --all", "rejoin", "init", "presence set busy"):
        refused = mounted(pair.beta, f"git coord {line}")
        assert "Traceback" not in refused.err
        if line != "release --all":
            assert (refused.code, "may only be read" in refused.err) == (5, True), refused


@pytest.mark.usefixtures("_may_mount")
def test_hooks_under_a_git_folder_mounted_read_only_stop_what_is_held(pair: Pair) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.beta.coord("sync").code == 0
    payload = {"session_id": "s", "cwd": str(pair.beta.path), "tool_name": "Edit"}
    for path, denies in (("a.txt", True), ("b.txt", False)):
        given = json.dumps({**payload, "tool_input": {"file_path": str(pair.beta.path / path)}})
        done = mounted(pair.beta, f"echo '{given}' | git-coord hook claude-code pre-edit")
        assert ("held by alpha" in done.out, done.err, done.code) == (denies, "", 0), done
        assert denies or done.out == ""
    started = mounted(pair.beta, f"echo '{json.dumps(payload)}' | git-coord hook claude-code session-start")
    assert ("may only be read" in started.out, "is claimed for you" in started.out) == (True, False)


@pytest.mark.usefixtures("_may_mount")
def test_news_that_cannot_be_stored_are_unknown_and_never_free(pair: Pair) -> None:
    assert pair.beta.coord("sync").code == 0
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    done = mounted(pair.beta, "git coord preflight a.txt")
    assert (done.code, "Read-only file system" in done.err) == (5, True), done
    (pair.beta.path / ".git/coord/synced").write_text("1700000000\n")
    stale = mounted(pair.beta, "git -c coord.freshness=1s coord check a.txt")
    assert (stale.code, stale.err.startswith("unknown: ")) == (5, True), stale


GITOLITE = """#!/bin/sh
for line; do :; done
case "$line" in
git-receive-pack*)
  echo "FATAL: W any hub carol DENIED by fallthru" >&2
  echo "(or you mis-spelled the reponame)" >&2
  exit 1 ;;
*) cd %s && eval "$line" ;;
esac
"""
"""What gitolite does before any ref is named: it lets nobody in who may write nothing."""


def test_a_host_that_lets_nobody_in_who_may_not_write_makes_a_read_only_clone(pair: Pair, tmp_path: Path) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    ssh = tmp_path / "ssh"
    ssh.write_text(GITOLITE % pair.hub.path.parent)
    ssh.chmod(0o755)
    clone = replace(pair.alpha, path=tmp_path / "carol").with_env(GIT_SSH_COMMAND=str(ssh), GIT_SSH_VARIANT="simple")
    pair.alpha.run("git", "clone", "-q", str(pair.hub.path), str(clone.path), check=True)
    clone.git("remote", "set-url", "origin", f"git@gitolite:{pair.hub.path.name}")
    answer = clone.coord_json("init", "--agent", "carol")
    assert (answer["joined"], "W any hub carol DENIED by fallthru" in answer["read_only"]) == (False, True)
    assert "DENIED by fallthru" in clone.coord_json("claim", "b.txt", code=5)["message"]
    assert clone.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"
