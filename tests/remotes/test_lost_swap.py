"""What the hub has to do for us: compare a ref's old value when it moves it, and say so when that was another one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.remotes.pair import Pair
from tests.remotes.servers import dulwich_daemon, git_daemon


@pytest.fixture
def overtaken(pair: Pair) -> Pair:
    """Let beta's claim of `a.txt` reach the hub after alpha's push has begun, and just before its ledger ref moves."""
    before = pair.hub.refs()
    assert pair.beta.coord_json("claim", "a.txt")["confirmed"] is True
    theirs = pair.hub.rev("refs/coord/claims")
    for ref in ("refs/coord/claims", "refs/coord/requests/beta"):
        pair.hub.git("update-ref", ref, before[ref])
    move = f"git --git-dir='{pair.hub.path}' update-ref refs/coord/claims {theirs} {before['refs/coord/claims']}"
    once = pair.hub.path / "overtaken"
    pair.hook("update", f"test \"$1\" != refs/coord/claims || test -e '{once}' || {{ touch '{once}'; {move}; }}")
    return pair


def test_git_tells_who_lost_the_race_for_the_ledger(overtaken: Pair, tmp_path: Path) -> None:
    with serve(overtaken, "git", tmp_path) as url:
        overtaken.set_url(f"{url}/hub.git")
        assert overtaken.alpha.coord_json("claim", "a.txt", code=3)["holder"] == "beta"
        assert overtaken.alpha.coord_json("sync")["lost"] == []


def test_a_server_that_calls_a_lost_swap_done_is_found_out_by_the_next_exchange(
    overtaken: Pair, tmp_path: Path
) -> None:
    """Dulwich drops the answer of its own compare-and-swap: no host for claims, and the docs say so."""
    alpha = overtaken.alpha
    with serve(overtaken, "dulwich", tmp_path) as url:
        overtaken.set_url(url)
        assert alpha.coord_json("claim", "a.txt")["confirmed"] is True  # as the server said
        assert len(alpha.coord_json("sync", code=4)["lost"]) == 1
        assert alpha.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "beta"
        assert alpha.coord_json("sync")["lost"] == []
    assert alpha.rev("refs/coord/claims") == overtaken.hub.rev("refs/coord/claims")


def serve(pair: Pair, kind: str, folder: Path) -> AbstractContextManager[str]:
    if kind == "dulwich":
        return dulwich_daemon(pair.hub.path)
    return git_daemon(folder, pair.hub.env, "--enable=receive-pack")
