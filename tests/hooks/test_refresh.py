"""An old picture is refreshed behind the scenes by whatever git's hooks see, by one process that disturbs nobody."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.helpers import PATIENCE, Repo, hub_with_clones, until

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


@contextmanager
def silent_host() -> Iterator[tuple[socket.socket, str]]:
    """Yield a host that takes every connection and never says a word, and its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield server, f"git://127.0.0.1:{server.getsockname()[1]}/hub.git"
