"""Locks that stay and objects that vanish: waited for or written again within bounds, and called by their name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.service.scene import Desk, Scene, trouble

from git_coord.domain.merkle import GitObject
from git_coord.errors import CoordError
from git_coord.service import place, posts
from git_coord.service.claims import ClaimGranted
from git_coord.store.interface import RefUpdate, Swap
from git_coord.store.memory import MemoryStore
from git_coord.store.refnames import LEDGER


class Troubled(MemoryStore):
    """The same objects and refs, with a lock on a ref for some swaps, or a cleaner after some writes."""

    def __init__(self, below: MemoryStore, *, locked: str = "", swaps: int = 1000, prunes: int = 0) -> None:
        super().__init__(below.algorithm)
        self._objects, self._refs, self._lock = below._objects, below._refs, below._lock
        self.locked, self.swaps, self.prunes = locked, swaps, prunes

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:
        if self.swaps and any(update.ref == self.locked for update in updates):
            self.swaps -= 1
            return Swap.LOCKED
        return super().swap(updates, reason)

    def write(self, objects: Sequence[GitObject]) -> None:
        super().write(objects)
        if self.prunes and objects:
            self.prunes -= 1
            self.prune([made.oid for made in objects])


def claim(desk: Desk, store: MemoryStore) -> bool:
    return isinstance(desk.claim("a.txt", coord=desk.coord(below=store)), ClaimGranted)


@pytest.mark.parametrize("ref", [LEDGER, "refs/coord-local/seen", "refs/coord/requests/alpha"])
def test_a_lock_that_stays_is_called_a_lock(local: Scene, ref: str) -> None:
    (alpha,) = local.joined("alpha")
    with pytest.raises(CoordError) as caught:
        claim(alpha, Troubled(alpha.store, locked=ref))
    code, message = trouble(caught.value)
    assert (code, ref in message, "stays locked" in message) == ("error", True, True)
    assert caught.value.next == "git coord doctor"
    assert alpha.holdings() == {}
    assert alpha.granted("a.txt").is_confirmed is True


@pytest.mark.parametrize("with_hub", [True, False])
def test_a_lock_that_goes_away_goes_unnoticed(scene: Scene, local: Scene, with_hub: bool) -> None:
    (alpha,) = (scene if with_hub else local).joined("alpha")
    assert claim(alpha, Troubled(alpha.store, locked=LEDGER, swaps=2))
    assert alpha.holdings() == {"a.txt": "alpha"}


def test_a_local_lock_does_not_hide_that_the_remote_granted(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    assert claim(alpha, Troubled(alpha.store, locked=LEDGER))
    (said,) = alpha.forward()
    assert said.startswith(f"origin confirmed it, but {LEDGER} or refs/coord-local/seen stays locked")
    alpha.sync()
    beta.sync()
    assert alpha.holdings() == beta.holdings() == {"a.txt": "alpha"}


def test_a_locked_ledger_stops_a_sync_that_has_to_adopt(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    beta.granted("b.txt")
    with pytest.raises(CoordError) as caught:
        claim(alpha, Troubled(alpha.store, locked=LEDGER))
    assert "stays locked" in caught.value.message
    alpha.sync()
    assert alpha.holdings() == {"b.txt": "beta"}


@pytest.mark.parametrize("with_hub", [True, False])
def test_pruned_objects_are_written_again(scene: Scene, local: Scene, with_hub: bool) -> None:
    (alpha,) = (scene if with_hub else local).joined("alpha")
    assert claim(alpha, Troubled(alpha.store, prunes=2))
    assert alpha.holdings() == {"a.txt": "alpha"}


def test_objects_that_vanish_as_fast_as_they_are_written_are_reported(local: Scene) -> None:
    (alpha,) = local.joined("alpha")
    with pytest.raises(CoordError) as caught:
        claim(alpha, Troubled(alpha.store, prunes=1000))
    assert (caught.value.kind.code, "missing" in caught.value.data) == ("error", True)
    assert alpha.holdings() == {}


def test_a_post_waits_for_its_lock_and_outlives_a_prune(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    ref = "refs/coord/posts/alpha"
    posts.add_post(alpha.coord(below=Troubled(alpha.store, locked=ref, swaps=1, prunes=1)), "hello", None, None)
    assert [posted.post.text for posted in posts.board(alpha.coord())] == ["hello"]
    with pytest.raises(CoordError) as caught:
        posts.add_post(alpha.coord(below=Troubled(alpha.store, locked=ref)), "again", None, None)
    assert caught.value.message.startswith(f"{ref} stays locked")


def test_who_is_never_helped_goes_on_as_long_as_the_ledger_moves(local: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    alpha, beta = local.joined("alpha", "beta")
    # Everybody sees only what is their own: as if each had read the requests before the others published.
    monkeypatch.setattr(place, "candidates", lambda _coord, extra=(): list(extra))
    coord, files = alpha.coord(), iter(range(6))

    def overtake(name: str) -> None:
        if name in ("before publish", "before local move") and (number := next(files, None)) is not None:
            local.clock.sleep(20)
            beta.granted(f"{number}.txt")

    coord.reach = overtake
    assert isinstance(alpha.claim("a.txt", coord=coord), ClaimGranted)
    assert alpha.holdings() == {f"{number}.txt": "beta" for number in range(6)} | {"a.txt": "alpha"}


def test_who_is_never_helped_gives_up_where_the_ledger_stands_still(
    local: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alpha,) = local.joined("alpha")
    monkeypatch.setattr(place, "_swap_both", lambda *_args: False)
    monkeypatch.setattr(place, "place_locally", lambda *_args: False)
    began = local.clock.monotonic()
    with pytest.raises(CoordError, match="the ledger stays locked by other processes"):
        alpha.claim("a.txt")
    assert local.clock.monotonic() - began < 2 * place.PLACE_SECONDS
