"""Settings are written though another agent of the clone holds git's lock on the configuration for a moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers import Repo

from git_coord.app import open_app
from git_coord.app.settings import configure
from git_coord.clock import SystemClock
from git_coord.errors import CoordError, Kind


class Impatient(SystemClock):
    """Time flies while one waits; `unlock` is what a wait changes."""

    def __init__(self, unlock: Path | None = None) -> None:
        self.passed = 0.0
        self.unlock = unlock

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds + 0.01
        if self.unlock is not None:
            self.unlock.unlink(missing_ok=True)


def test_a_lock_that_goes_away_is_waited_for(repo: Repo) -> None:
    lock = repo.write(".git/config.lock", "")
    configure(open_app(str(repo.path), repo.env, clock=Impatient(unlock=lock)), "--local", "coord.agent", "alpha")
    assert repo.git("config", "coord.agent") == "alpha"


def test_a_lock_that_stays_is_said_in_the_words_of_git(repo: Repo) -> None:
    repo.write(".git/config.lock", "")
    with pytest.raises(CoordError) as caught:
        configure(open_app(str(repo.path), repo.env, clock=Impatient()), "--local", "coord.agent", "alpha")
    assert caught.value.kind is Kind.ERROR
    assert caught.value.message == f"git config: could not lock config file {repo.path}/.git/config: File exists"
