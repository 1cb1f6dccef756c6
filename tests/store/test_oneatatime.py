"""Who waits shares only a fetch that began after it asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from git_coord.errors import CoordError, Kind
from git_coord.store.oneatatime import OneAtATime


class Clock:
    """Wall and monotonic time, set by the test."""

    def __init__(self, wall: int = 1_000_000, mono: float = 100.0) -> None:
        self.wall = wall
        self.mono = mono

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.mono


def work(turns: OneAtATime, *names: str, scope: str = "url") -> tuple[float | None, bool]:
    with turns.turn(scope, names, 5) as turn:
        found = (turn.left, turn.done)
        turn.done = True
    return found


class Waiting(Clock):
    """A clock on which taking the lock lasted from `asked` to `got`, while somebody else worked in between."""

    def __init__(self, asked: float, got: float) -> None:
        super().__init__(int(1_000_000 + got - 100), asked)
        self.looks = [asked, got]

    def monotonic(self) -> float:
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def test_a_fetch_that_began_after_the_question_is_shared(tmp_path: Path) -> None:
    assert work(OneAtATime(str(tmp_path), Clock(mono=100, wall=1_000_000)), "claims", "posts") == (5.0, False)
    assert work(OneAtATime(str(tmp_path), Waiting(asked=99, got=101)), "claims") == (3.0, True)


@pytest.mark.parametrize(
    ("asked", "names", "scope"),
    [
        (100.0, ["claims"], "url"),  # the very same moment is not after
        (101.0, ["claims"], "url"),  # began before the question
        (99.0, ["claims", "presence"], "url"),  # brought less
        (99.0, ["claims"], "another url"),
    ],
)
def test_another_fetch_is_not_shared(asked: float, names: list[str], scope: str, tmp_path: Path) -> None:
    work(OneAtATime(str(tmp_path), Clock()), "claims")
    assert work(OneAtATime(str(tmp_path), Waiting(asked, 102)), *names, scope=scope)[1] is False


def test_a_fetch_of_another_boot_is_not_shared(tmp_path: Path) -> None:
    work(OneAtATime(str(tmp_path), Clock(wall=500_000, mono=100)), "claims")
    assert work(OneAtATime(str(tmp_path), Waiting(asked=99, got=101)), "claims")[1] is False


def test_a_fetch_that_failed_is_not_shared(tmp_path: Path) -> None:
    clock = Clock()
    with pytest.raises(ZeroDivisionError), OneAtATime(str(tmp_path), clock).turn("url", ["claims"], 5):
        raise ZeroDivisionError
    assert work(OneAtATime(str(tmp_path), Waiting(asked=99, got=101)), "claims") == (3.0, False)


def test_a_damaged_stamp_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "fetch.stamp").write_text("1\n2")
    assert work(OneAtATime(str(tmp_path), Waiting(asked=99, got=101)), "claims")[1] is False


def test_a_lock_that_stays_taken_ends_the_waiting(tmp_path: Path) -> None:
    with FileLock(tmp_path / "fetch.lock"), OneAtATime(str(tmp_path), Clock()).turn("url", ["claims"], 0.1) as turn:
        assert (turn.left, turn.done) == (None, False)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CoordError) as caught:
        work(OneAtATime(str(tmp_path / "file/coord"), Clock()), "claims")
    assert caught.value.kind is Kind.ERROR
