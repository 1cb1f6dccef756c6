"""Objects of ours that a prune or a loss of power took: whoever meets that fetches them again; the rest is healed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest

from tests.helpers import Repo

from .pair import Pair


def strike(repo: Repo, spec: str, how: str) -> None:
    """Take an object away, or leave an empty file in its place; nothing remembers it."""
    oid = repo.rev(spec)
    path = repo.path / ".git/objects" / oid[:2] / oid[2:]
    assert path.exists(), f"{spec} is not a loose object"
    path.unlink()
    if how == "emptied":
        path.touch()
    shutil.rmtree(repo.path / ".git/coord/recent", ignore_errors=True)


def is_whole(repo: Repo) -> bool:
    """Tell whether git finds everything that its refs need, and fetches."""
    done = repo.run("git", "rev-list", "--objects", "--quiet", "--all")
    empty = [path for path in (repo.path / ".git/objects").glob("??/*") if path.stat().st_size == 0]
    return done.code == 0 and not empty and repo.run("git", "fetch", "origin").code == 0


@pytest.mark.parametrize("how", ["removed", "emptied"])
@pytest.mark.parametrize(
    "spec", ["refs/coord-remote/presence/beta", "refs/coord-remote/claims", "refs/coord-remote/claims^{tree}"]
)
def test_a_copy_that_lost_an_object_is_fetched_again(pair: Pair, spec: str, how: str) -> None:
    pair.beta.coord_json("claim", "b.txt")
    pair.alpha.coord_json("sync")
    strike(pair.alpha, spec, how)
    pair.beta.coord_json("presence", "set", "busy")
    said = pair.alpha.coord("claim", "a.txt")
    assert said.code == 0, said
    assert pair.alpha.coord("sync").code == 0
    assert is_whole(pair.alpha)


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_doctor_fixes_what_no_command_met(pair: Pair, how: str) -> None:
    pair.beta.coord_json("post", "hello")
    pair.alpha.coord_json("sync")
    strike(pair.alpha, "refs/coord-remote/posts/beta^{tree}", how)
    found = pair.alpha.coord_json("doctor", code=1)["findings"]
    (row,) = [row for row in found if row["level"] == "wrong"]
    assert row["next"] == "git coord doctor --fix"
    assert "refs/coord-remote/posts/beta needs an object" in row["text"]
    fixed = pair.alpha.coord_json("doctor", "--fix")["findings"][0]
    assert (fixed["level"], fixed["text"]) == ("fixed", "fetched again what the remote has")
    assert [post["text"] for post in pair.alpha.coord_json("posts")["posts"]] == ["hello"]
    assert is_whole(pair.alpha)


def test_doctor_says_what_was_not_sent_and_is_lost(pair: Pair) -> None:
    pair.set_url(str(pair.hub.path.with_name("away.git")))
    pair.alpha.coord_json("claim", "--offline", "a.txt")
    pair.alpha.coord_json("claim", "--offline", "b.txt")
    pair.set_url(str(pair.hub.path))
    names = pair.alpha.git("ls-tree", "--name-only", "refs/coord/requests/alpha").split()
    strike(pair.alpha, f"refs/coord/requests/alpha:{names[-2]}", "removed")
    fixed = [row["text"] for row in pair.alpha.coord_json("doctor", "--fix")["findings"] if row["level"] == "fixed"]
    kept = f"{len(names) - 1} of {len(names)} operations kept; the others were not sent, and are lost"
    assert f"refs/coord/requests/alpha: {kept}" in fixed
    assert pair.alpha.coord_json("sync")["ok"] is True
    claims = pair.alpha.coord_json("status", "--local")["claims"]
    assert [item["path"] for claim in claims for item in claim["items"]] == ["b.txt"]
    assert is_whole(pair.alpha)


def test_a_ledger_that_is_gone_without_a_remote_is_said(pair: Pair) -> None:
    pair.alpha.coord_json("claim", "a.txt")
    strike(pair.alpha, "refs/coord/claims^{tree}", "removed")
    pair.alpha.git("remote", "remove", "origin")
    answer = pair.alpha.coord_json("doctor", "--fix", code=1)
    assert "objects of the ledger are gone" in answer["message"]


def test_claims_beside_a_prune_that_never_rests_leave_nothing_broken(pair: Pair) -> None:
    """One that a prune strikes again and again may say 5; nothing of it stays."""
    script = "while git gc --prune=now -q 2>/dev/null || true; do :; done"
    loop = subprocess.Popen(["sh", "-c", script], cwd=pair.alpha.path, env=pair.alpha.env, start_new_session=True)
    try:
        for number in range(3):
            assert pair.alpha.coord("claim", f"f{number}").code in (0, 5)
            pair.beta.coord_json("presence", "set", "busy" if number % 2 else "online")
            assert pair.alpha.coord("sync").code in (0, 5)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()
    for lock in (pair.alpha.path / ".git").rglob("*.lock"):
        lock.unlink()  # what the killed gc left
    assert pair.alpha.coord("sync").code == 0
    assert pair.alpha.coord("claim", "last").code == 0
    assert pair.alpha.coord("doctor").code == 0
    assert is_whole(pair.alpha)
