"""A prune that began before a swap and ends after it takes what the swap needs: the next command writes it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers import Repo
from tests.race.crew import holdings, init, wrong

Clones = Callable[..., tuple[Repo, ...]]
SAID = "git coord: a prune had taken what was stored a moment before; written again\n"


def loose(repo: Repo) -> set[Path]:
    """Return the files of all loose objects."""
    return {path for path in (repo.path / ".git/objects").glob("??/*") if len(path.parent.name) == 2}


def pruned(repo: Repo, *args: str) -> int:
    """Run a command, then remove every object it has stored, as a prune does that saw the refs before; count them."""
    before = loose(repo)
    assert repo.coord(*args).code == 0
    taken = loose(repo) - before
    for path in taken:
        path.unlink()
    return len(taken)


@pytest.fixture
def alpha(repo: Repo) -> Repo:
    made = repo.with_env(GIT_COORD_AGENT="alpha")
    init(made, made.with_env(GIT_COORD_AGENT="beta"))
    return made


@pytest.mark.parametrize("verb", ["claim", "release"])
def test_what_a_prune_took_from_a_swap_is_written_again(alpha: Repo, verb: str) -> None:
    beta = alpha.with_env(GIT_COORD_AGENT="beta")
    alpha.coord_json("claim", "a.txt")
    assert pruned(alpha, verb, "b.txt" if verb == "claim" else "a.txt") > 5
    done = beta.coord("claim", "b.txt")
    assert (done.code, SAID in done.err) == (3 if verb == "claim" else 0, True), done
    assert holdings(alpha) == ({"a.txt": "alpha", "b.txt": "alpha"} if verb == "claim" else {"b.txt": "beta"})
    alpha.git("fsck", "--strict", "--connectivity-only")
    assert wrong(alpha) == []


def test_what_a_prune_took_from_several_swaps_is_written_again(alpha: Repo) -> None:
    beta = alpha.with_env(GIT_COORD_AGENT="beta")
    before = loose(alpha)
    for name in ("a", "b", "c"):
        alpha.coord_json("claim", name)
    for path in loose(alpha) - before:
        path.unlink()
    assert holdings(beta) == dict.fromkeys("abc", "alpha")
    assert wrong(alpha) == []


def test_an_offline_claim_that_a_prune_took_is_still_published(hub_and_clones: Clones) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.coord_json("sync")
    alpha.git("config", "remote.origin.url", str(alpha.path / "nowhere"))
    assert pruned(alpha, "claim", "a.txt", "--offline") > 2
    alpha.git("config", "remote.origin.url", str(hub.path))
    alpha.coord_json("sync")
    assert holdings(alpha) == {"a.txt": "alpha"}
    assert beta.coord("claim", "a.txt").code == 3
    assert (wrong(alpha), wrong(beta)) == ([], [])


def test_copies_are_of_the_last_minute_only(alpha: Repo) -> None:
    folder = alpha.path / ".git/coord/recent"
    for name in ("1", "99999999999", "garbage"):
        (folder / name).write_text("old")
    for path in folder.iterdir():
        if path.name.startswith("1") and len(path.name) > 5:
            path.unlink()  # so that the next command begins a file
    alpha.coord_json("claim", "a.txt")
    assert [len(path.name) for path in folder.iterdir()] == [9]


def test_odd_copies_are_passed_over(alpha: Repo, tmp_path: Path) -> None:
    folder = alpha.path / ".git/coord/recent"
    outside = tmp_path / "outside"
    outside.write_text("blob 1\nx\n")
    (folder / "1").symlink_to(outside)
    os.mkfifo(folder / "2")
    (folder / "3").mkdir()
    (folder / "4").write_bytes(b"blob 99999999999999999999\nx\nblob -1\n\ntag 1\nx\n\xff\n")
    (folder / "5").write_bytes(b"blob 1\nx\ncommit 7\ngarbage\n")
    assert pruned(alpha, "claim", "a.txt") > 5
    assert holdings(alpha) == {"a.txt": "alpha"}
    assert outside.read_text() == "blob 1\nx\n"
