"""The ledger of a whole team moves: one command, said in the old place, followed by all, nothing granted twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo
from tests.remotes.pair import Pair
from tests.remotes.story import assert_one_line
from tests.remotes.test_one_place import typed

BRANCHES = "refs/heads/coord"


def moved(pair: Pair, *to: str) -> dict[str, object]:
    answer = pair.alpha.coord_json("move", *to, "-m", "only branches there")
    assert answer["ok"] is True
    return answer


def test_a_move_is_the_old_ledgers_last_word_and_the_same_chain_goes_on(pair: Pair) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    root = pair.hub.git("rev-list", "--max-parents=0", "refs/coord/claims")
    moved(pair, "--prefix", BRANCHES)
    assert pair.hub.git("log", "-1", "--format=%s", "refs/coord/claims") == "alpha moves the ledger"
    assert pair.hub.git("rev-list", "--max-parents=0", f"{BRANCHES}/claims") == root
    old = pair.hub.refs("refs/coord")
    pair.hub.git("merge-base", "--is-ancestor", "refs/coord/claims", f"{BRANCHES}/claims")
    assert pair.alpha.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.hub.refs("refs/coord") == old
    assert "only branches there" in pair.alpha.coord("log").out


def test_at_the_old_place_everything_is_unknown_with_the_command_that_follows(pair: Pair) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.beta.coord("sync").code == 0
    moved(pair, "--prefix", BRANCHES)
    old = pair.hub.refs("refs/coord/claims")
    for line in (["claim", "b.txt"], ["sync"], ["claim", "b.txt"], ["claim", "b.txt", "--offline"], ["init"]):
        done = pair.beta.coord(*line)
        said = assert_one_line(done)
        assert said.startswith("git coord: alpha moved the ledger from origin "), said
        assert ('"only branches there"' in said, done.err.splitlines()[1]) == (True, "next   git coord move --follow")
    assert pair.beta.coord("check", "b.txt").code == 5
    assert pair.hub.refs("refs/coord/claims") == old
    typed(pair.beta, pair.beta.coord("sync"))
    assert pair.beta.git("config", "coord.refPrefix") == BRANCHES
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    assert pair.alpha.coord_json("claim", "b.txt", code=3)["holder"] == "beta"


def test_what_was_pending_is_placed_at_the_new_place(pair: Pair) -> None:
    pair.beta.git("config", "coord.remote", "origin")
    url = pair.beta.git("config", "remote.origin.url")
    assert pair.beta.coord("sync").code == 0
    pair.hub.path.rename(pair.hub.path.parent / "away")
    assert pair.beta.coord_json("claim", "b.txt", "--offline")["confirmed"] is False
    (pair.hub.path.parent / "away").rename(url)
    moved(pair, "--prefix", BRANCHES)
    assert pair.beta.coord("sync").code == 5
    done = pair.beta.coord("move", "--follow")
    assert (done.code, "lost" in done.err) == (0, False), done
    assert pair.alpha.coord("sync").code == 0
    assert pair.alpha.coord_json("claim", "b.txt", code=3)["holder"] == "beta"


def test_to_another_repository_only_over_a_remote_that_is_configured(pair: Pair, tmp_path: Path) -> None:
    new = new_repo(tmp_path / "new.git", pair.hub.env, "--bare")
    assert pair.alpha.coord("sync").code == 0
    pair.alpha.git("remote", "add", "new", str(new.path))
    assert pair.beta.coord("sync").code == 0
    answer = moved(pair, "new")
    assert (answer["remote"], answer["prefix"]) == ("new", "refs/coord")
    assert assert_one_line(pair.beta.coord("claim", "b.txt")).count(str(new.path)) == 1
    refused = pair.beta.coord("move", "--follow")
    assert (refused.code, refused.err.splitlines()[1]) == (1, f"next   git remote add ledger {new.path}")
    typed(pair.beta, refused)
    assert pair.beta.coord("move", "--follow").code == 0
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.alpha.coord_json("claim", "b.txt", code=3)["holder"] == "beta"


def test_a_clone_that_comes_anew_to_the_old_place_is_sent_on(pair: Pair, tmp_path: Path) -> None:
    moved(pair, "--prefix", BRANCHES)
    carol = Repo(tmp_path / "carol", pair.alpha.env)
    pair.alpha.git("clone", "-q", str(pair.hub.path), str(carol.path))
    typed(carol, carol.coord("init", "--agent", "carol"))
    assert carol.coord_json("init", "--agent", "carol")["joined"] is True
    assert carol.coord_json("claim", "c.txt")["confirmed"] is True


def test_only_a_policy_key_moves_and_a_host_that_refuses_leaves_it_where_it_was(pair: Pair) -> None:
    before = pair.hub.refs("refs/coord/claims")
    refused = pair.beta.coord("move", "--prefix", BRANCHES)
    assert (refused.code, "policy" in refused.err) == (4, True), refused
    pair.hook("pre-receive", f"! grep -q {BRANCHES} || {{ echo 'no such branches' >&2; exit 1; }}")
    refused = pair.alpha.coord("move", "--prefix", BRANCHES)
    assert (refused.code, "no such branches" in refused.err) == (5, True), refused
    assert pair.hub.refs("refs/coord/claims") == before
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True


def test_it_moves_back_again(pair: Pair) -> None:
    moved(pair, "--prefix", BRANCHES)
    assert pair.beta.coord("move", "--follow").code == 0
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    moved(pair, "--prefix", "refs/coord")
    assert pair.beta.coord("sync").code == 5
    assert pair.beta.coord("move", "--follow").code == 0
    assert pair.beta.coord_json("claim", "c.txt")["confirmed"] is True
    assert pair.alpha.coord_json("claim", "b.txt", code=3)["holder"] == "beta"


@pytest.mark.parametrize("step", ["push sent", "push answered", "after publish", "after push", "after local move"])
def test_a_move_that_was_cut_off_can_be_typed_again(step: str, pair: Pair) -> None:
    killed = pair.alpha.with_env(GIT_COORD_FAILPOINT=step).run("git", "coord", "move", "--prefix", BRANCHES)
    assert killed.code != 0
    moved(pair, "--prefix", BRANCHES)
    assert pair.beta.coord("sync").code == 5
    assert pair.beta.coord("move", "--follow").code == 0
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.alpha.coord_json("claim", "b.txt", code=3)["holder"] == "beta"


@pytest.mark.parametrize(
    ("line", "code"),
    [([], 2), (["--prefix", "--upload-pack=x"], 2), (["--prefix", "refs/heads/../x"], 2), (["nowhere"], 1),
     (["--prefix", "refs/coord"], 2), (["--follow", "--prefix", BRANCHES], 2), (["--follow"], 1)],
)  # fmt: skip
def test_what_is_no_place_is_refused(line: list[str], code: int, pair: Pair) -> None:
    before = pair.hub.refs()
    assert pair.alpha.coord("move", *line).code == code
    assert pair.hub.refs() == before


@pytest.mark.parametrize("is_seen", [True, False], ids=["beta saw the epoch", "beta did not"])
def test_a_ledger_that_began_anew_moves_and_is_followed_across_the_epoch(pair: Pair, is_seen: bool) -> None:
    assert pair.alpha.coord_json("claim", "a.txt")["confirmed"] is True
    assert pair.beta.coord("sync").code == 0
    assert pair.alpha.coord("gc", "--now").code == 0
    if is_seen:
        assert pair.beta.coord("sync").code == 0
    moved(pair, "--prefix", BRANCHES)
    assert pair.beta.coord("claim", "b.txt").code == 5
    typed(pair.beta, pair.beta.coord("sync"))
    assert pair.beta.coord_json("claim", "b.txt")["confirmed"] is True
    assert pair.beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    assert pair.alpha.coord("gc", "--now").code == 0
    for clone in (pair.alpha, pair.beta):
        assert clone.coord("sync").code == 0
        assert len(clone.coord_json("status")["claims"]) == 2
    assert (
        pair.alpha.rev("refs/coord/claims") == pair.beta.rev("refs/coord/claims") == pair.hub.rev(f"{BRANCHES}/claims")
    )
