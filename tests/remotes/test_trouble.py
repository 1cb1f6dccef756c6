"""Remotes that hang, talk nonsense, are slow, or die in the middle of a push: bounded, said in a line, healed later."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from tests.helpers import PATIENCE
from tests.remotes.pair import Pair
from tests.remotes.proxies import Cut, cutting_proxy, odd_server
from tests.remotes.servers import git_daemon
from tests.remotes.story import assert_healed, assert_one_line

"""Seconds: many times what the limits below allow, for a busy machine; git itself would wait for ever."""
ODD: dict[str, tuple[bytes, bool]] = {
    "silent": (b"", False),
    "half a greeting": (b"00a5 coord", False),
    "another protocol": (b"HTTP/1.1 400 Bad Request\r\n\r\n", True),
    "hanging up": (b"", True),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ODD)
def test_a_remote_that_is_no_git_server_costs_a_line_and_the_limit(kind: str, pair: Pair) -> None:
    alpha = pair.alpha
    assert alpha.coord_json("claim", "c.txt")["confirmed"] is True
    pair.be_hasty("fetchTimeout", "pushTimeout")
    before = pair.hub.refs()
    began = time.monotonic()
    says, hangs_up = ODD[kind]
    with odd_server(says, hangs_up=hangs_up) as url:
        alpha.git("config", "remote.origin.url", url)
        assert_one_line(alpha.coord("sync"))
        assert_one_line(alpha.coord("claim", "a.txt"))
        assert_one_line(alpha.coord("init"))
        wrong = [row for row in alpha.coord_json("doctor", code=1)["findings"] if row["level"] == "wrong"]
        assert [row["text"].startswith(("no answer from origin", "origin: ")) for row in wrong] == [True]
        assert alpha.coord_json("release", "c.txt")["confirmed"] is False
    assert time.monotonic() - began < PATIENCE
    assert pair.hub.refs() == before
    pair.set_url(str(pair.hub.path))
    pair.be_patient()
    assert_healed(pair)
    assert pair.beta.coord_json("claim", "c.txt")["confirmed"] is True


def test_a_push_elsewhere_goes_on_with_the_picture_there_is(pair: Pair) -> None:
    alpha = pair.alpha
    alpha.coord_json("hooks", "install")
    pair.be_hasty("fetchTimeout")
    alpha.git("config", "coord.remote", "origin")
    alpha.git("remote", "add", "fork", str(pair.hub.path))
    assert pair.beta.coord_json("claim", "README.md")["confirmed"] is True
    alpha.coord_json("sync")
    alpha.commit("free", **{"a.txt": "a\n"})
    began = time.monotonic()
    with odd_server(b"", hangs_up=False) as url:
        alpha.git("config", "remote.origin.url", url)
        passed = alpha.run("git", "push", "-q", "fork", "HEAD:one")
        alpha.write("README.md", "not mine\n")
        alpha.git("commit", "-q", "--no-verify", "-am", "not mine")
        refused = alpha.run("git", "push", "-q", "fork", "HEAD:two")
    assert (passed.code, re.sub(r"\d+(\.\d+)? s", "<n> s", passed.err).splitlines()) == (
        0,
        [
            "git coord: no answer from origin in <n> s; judged by a picture <n> s old",
            # All of the history is new to the fork, and somebody holds a path of it.
            "git coord: receipts are not pushed: no answer",
            "next    git coord sync      (CI wants them)",
        ],
    )
    assert time.monotonic() - began < PATIENCE
    assert (refused.code, "  README.md" in refused.err) == (1, True), refused
    assert sorted(pair.hub.refs("refs/heads")) == ["refs/heads/main", "refs/heads/one"]


def test_a_slow_remote_is_waited_for_within_the_limit(pair: Pair) -> None:
    pair.hook("pre-receive", "sleep 2; cat >/dev/null")
    began = time.monotonic()
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert time.monotonic() - began > 2


def test_a_push_that_lands_after_it_was_given_up_is_taken_back_by_the_next_sync(pair: Pair, tmp_path: Path) -> None:
    go, landed = tmp_path / "go", tmp_path / "landed"
    os.mkfifo(landed)
    # The last moment of a push: git itself still notices in pre-receive that its client is gone.
    moment = pair.hook(
        "reference-transaction",
        'case "$1 $(cat)" in\n'
        f"prepared*refs/coord/claims) until test -e '{go}'; do sleep 0.1; done ;;\n"
        f"committed*refs/coord/claims) echo >'{landed}' ;;\n"
        "esac",
    )
    pair.be_hasty("pushTimeout")
    with git_daemon(tmp_path, pair.hub.env, "--enable=receive-pack") as url:
        pair.alpha.git("config", "remote.origin.url", f"{url}/hub.git")
        assert_one_line(pair.alpha.coord("claim", "a.txt"))
        go.touch()
        landed.read_text()  # returns when the hub has taken the push that nobody waits for any more
        moment.unlink()
        pair.be_patient()
        assert pair.beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
        assert_healed(pair)


CUTS = {"in the commands": 150, "in the pack": 900, "before the answer": None}


@pytest.mark.parametrize("where", CUTS)
def test_a_connection_that_dies_once_in_a_push_goes_unnoticed(where: str, pair: Pair, tmp_path: Path) -> None:
    cut = Cut(CUTS[where], times=1)
    with git_daemon(tmp_path, pair.hub.env, "--enable=receive-pack") as url, cutting_proxy(f"{url}/hub.git", cut) as by:
        pair.alpha.git("config", "remote.origin.url", by)
        assert pair.alpha.coord_json("claim", "a.txt")["token"] == 1
    assert cut.died == 1
    assert pair.beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    assert [line for line in pair.claims_at_hub() if "claims" in line] == ["#1 alpha claims a.txt (edit)"]


@pytest.mark.parametrize("where", ["in the commands", "in the pack"])
def test_a_remote_that_dies_in_every_push_is_given_up_and_heals(where: str, pair: Pair, tmp_path: Path) -> None:
    cut = Cut(CUTS[where], times=1000)
    before = pair.hub.refs()
    with git_daemon(tmp_path, pair.hub.env, "--enable=receive-pack") as url, cutting_proxy(f"{url}/hub.git", cut) as by:
        pair.alpha.git("config", "remote.origin.url", by)
        said = assert_one_line(pair.alpha.coord("claim", "a.txt"))
        assert "; the claim is cancelled here, but may still be granted until that is synced" in said
        assert_one_line(pair.alpha.coord("sync"))
    assert (cut.died > 1, pair.hub.refs()) == (True, before)
    pair.set_url(str(pair.hub.path))
    pair.be_patient()
    assert_healed(pair)
