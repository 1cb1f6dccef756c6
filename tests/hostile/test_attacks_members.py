"""A member with a stolen key is put out: nothing it does afterwards counts, and what was done before stays valid."""

from __future__ import annotations

from tests.helpers import Repo
from tests.hostile.conftest import Arena


def _rotated_and_at_work(arena: Arena) -> Repo:
    """Return the thief's clone: it has rotated the stolen key away, holds a file and waits for another."""
    thief = arena.mallory.clone
    thief.coord_json("rotate")
    thief.coord_json("claim", "b.txt")
    return thief


def test_a_thief_that_rotated_first_is_put_out_by_one_operation(arena: Arena) -> None:
    thief = _rotated_and_at_work(arena)
    stolen = thief.coord_json("whoami")["key"]
    before = int(arena.alpha.git("rev-list", "--count", "refs/coord/claims").strip())
    arena.alpha.coord_json("sync")
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "b.txt": "mallory"}
    arena.alpha.coord_json("expel", "mallory", "-m", "its key was stolen")
    assert int(arena.alpha.git("rev-list", "--count", "refs/coord/claims").strip()) == before + 3
    assert arena.holders(arena.alpha) == {"a.txt": "alpha"}
    for words in (("claim", "c.txt"), ("release", "--all"), ("rotate",), ("rejoin", "--force"), ("claim", "c.txt")):
        assert thief.coord(*words).code != 0
    for name in ("mallory", "mallet"):  # under its own name again, and with the key that was put out under another
        thief.coord("init", "--agent", name)
    assert thief.coord_json("whoami")["key"] != stolen
    arena.beta.coord_json("sync")
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    assert "mallory" not in [one["agent"] for one in arena.beta.coord_json("status")["agents"]]


def test_what_it_had_published_before_it_knew_is_never_placed(arena: Arena) -> None:
    thief = _rotated_and_at_work(arena)
    thief.coord_json("claim", "c.txt", "--offline")
    arena.alpha.coord_json("expel", "mallory", "-m", "its key was stolen")
    request = "refs/coord/requests/mallory"
    thief.git("push", "-q", "-f", "origin", f"{request}:{request}")
    arena.beta.coord_json("sync")
    arena.alpha.coord_json("sync")
    assert arena.holders(arena.beta) == {"a.txt": "alpha"}
    assert arena.alpha.coord_json("claim", "c.txt")["token"] > 0


def test_commits_that_were_made_before_it_was_put_out_still_pass(arena: Arena) -> None:
    worker = arena.mallory.clone
    worker.coord_json("hooks", "install")
    worker.coord_json("claim", "b.txt")
    worker.write("b.txt", "honest work")
    worker.git("add", "b.txt")
    worker.git("commit", "-q", "-m", "work")
    worker.git("push", "-q", "origin", "HEAD:main")
    arena.alpha.coord_json("expel", "mallory", "-m", "its key was stolen later")
    arena.alpha.coord_json("claim", "b.txt")
    judged = arena.fresh("ci").coord_json("verify", "origin/main~1..origin/main")
    assert (judged["commits"], judged["violations"]) == (1, [])
