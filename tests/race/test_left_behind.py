"""Locks of killed processes, and object cleaners that run at the wrong moment: said or mended, never "held"."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers import Repo
from tests.race.crew import holdings, init, wrong

from git_coord.app import open_app
from git_coord.clock import SystemClock
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base
from git_coord.service import claims
from git_coord.service.claims import ClaimGranted, Wanted
from git_coord.service.ledger import open_ledger

Clones = Callable[..., tuple[Repo, ...]]


@pytest.fixture
def alpha(repo: Repo) -> Repo:
    """Return the agent of a repository without a remote."""
    made = repo.with_env(GIT_COORD_AGENT="alpha")
    init(made)
    return made


def lock(repo: Repo, name: str) -> Path:
    """Leave a lock behind, as a git killed in the middle does."""
    path = repo.path / ".git" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["refs/coord/claims", "refs/coord/requests/alpha", "refs/coord-local/seen"])
def test_a_lock_left_behind_is_called_a_lock_and_never_a_holder(alpha: Repo, name: str) -> None:
    left = lock(alpha, name)
    answer = alpha.coord_json("claim", "a.txt", code=1)
    assert (answer["code"], "stays locked" in answer["message"]) == ("error", True)
    assert answer["next"].startswith("git coord doctor")
    # Just now it may still be at work; after a minute it is not.
    assert [text for text in wrong(alpha) if str(left) in text] == []
    old = time.time() - 3600
    os.utime(left, (old, old))
    (found,) = [one for one in alpha.coord_json("doctor", code=1)["findings"] if str(left) in one["text"]]
    assert (found["level"], found["next"]) == ("wrong", f"rm '{left}'")
    left.unlink()
    assert alpha.coord("claim", "a.txt").code == 0
    assert holdings(alpha) == {"a.txt": "alpha"}
    assert wrong(alpha) == []


def test_a_fresh_lock_is_at_least_noted_by_doctor(alpha: Repo) -> None:
    left = lock(alpha, "refs/coord/claims")
    (found,) = [one for one in alpha.coord_json("doctor")["findings"] if str(left) in one["text"]]
    assert found["level"] == "note"


class Unlocking(SystemClock):
    """A clock during whose first sleep somebody ends what he did with a lock."""

    def __init__(self, left: Path) -> None:
        self._left = left

    def sleep(self, seconds: float) -> None:
        self._left.unlink(missing_ok=True)


def test_a_lock_that_goes_away_is_waited_for(alpha: Repo) -> None:
    left = lock(alpha, "refs/coord/claims")
    app = open_app(str(alpha.path), alpha.env, clock=Unlocking(left))
    open_ledger(app.coord)
    assert isinstance(claims.claim(app.coord, wanted("a.txt")), ClaimGranted)


def test_packed_refs_locked_does_not_lose_a_claim(alpha: Repo) -> None:
    alpha.coord_json("claim", "a.txt")
    alpha.git("pack-refs", "--all")
    lock(alpha, "packed-refs")
    assert alpha.coord("claim", "b.txt").code == 0
    assert alpha.coord("release", "a.txt").code == 0
    assert holdings(alpha) == {"b.txt": "alpha"}


def wanted(name: str) -> Wanted:
    item = Item(ItemKind.PATH, name, Intent.EDIT)
    return Wanted((item,), "", "standard", 7200, None, Base(None, None, None))


@pytest.mark.parametrize("with_hub", [False, True])
def test_objects_pruned_before_the_swap_are_written_again(hub_and_clones: Clones, alpha: Repo, with_hub: bool) -> None:
    clone = alpha
    if with_hub:
        _, clone = hub_and_clones("alpha")
        init(clone)
    app = open_app(str(clone.path), clone.env)
    open_ledger(app.coord)
    store = app.coord.store
    write = store.write
    pruned: list[object] = []

    def write_and_prune(objects: object) -> None:
        write(objects)  # type: ignore[arg-type]
        if len(pruned) < 2:
            clone.git("prune", "--expire=now")
            pruned.append(objects)

    store.write = write_and_prune  # type: ignore[method-assign]
    assert isinstance(claims.claim(app.coord, wanted("a.txt")), ClaimGranted)
    assert len(pruned) == 2
    assert holdings(clone) == {"a.txt": "alpha"}
    clone.git("fsck", "--strict")
    assert wrong(clone) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", ["before push", "before local move"])
def test_objects_pruned_around_a_push_are_written_again(hub_and_clones: Clones, step: str) -> None:
    _, clone, beta = hub_and_clones("alpha", "beta")
    init(clone, beta)
    app = open_app(str(clone.path), clone.env)
    open_ledger(app.coord)

    def prune(name: str) -> None:
        if name == step:
            app.coord.reach = lambda _name: None
            clone.git("prune", "--expire=now")

    app.coord.reach = prune
    assert isinstance(claims.claim(app.coord, wanted("a.txt")), ClaimGranted)
    beta.coord_json("sync")
    assert (holdings(clone), holdings(beta)) == ({"a.txt": "alpha"}, {"a.txt": "alpha"})
    assert wrong(clone) == []


@pytest.mark.slow
def test_gc_between_commands_loses_nothing(hub_and_clones: Clones) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)

    def clean() -> None:
        for repo in (hub, alpha, beta):
            repo.git("gc", "-q", "--prune=now")

    clean()
    alpha.coord_json("claim", "a.txt")
    clean()
    assert beta.coord("claim", "a.txt").code == 3
    beta.git("config", "remote.origin.url", str(beta.path / "nowhere"))
    beta.coord_json("claim", "b.txt", "--offline")
    beta.coord_json("post", "hello")
    clean()
    beta.git("config", "remote.origin.url", str(hub.path))
    beta.coord_json("sync")
    clean()
    alpha.coord_json("sync")
    assert holdings(alpha) == {"a.txt": "alpha", "b.txt": "beta"}
    assert [one["text"] for one in alpha.coord_json("posts")["posts"]] == ["hello"]
    assert (wrong(alpha), wrong(beta)) == ([], [])
