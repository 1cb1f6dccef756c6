"""`kill -9` at each step of beginning an epoch: begun once or not at all, and nothing that was held is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.helpers import Repo
from tests.race.crew import holdings, init, wrong
from tests.race.test_killed import BEFORE_PUBLISH, PUSHED, killed

Clones = Callable[..., tuple[Repo, ...]]
LOCAL = ("before write", "after write", "before snapshot", "after snapshot")
NEVER = ("before publish", "after publish")
"""What it does not pass: a checkpoint is pushed by who makes it, never published."""


def epochs(repo: Repo) -> list[str]:
    return [line for line in repo.git("log", "--format=%s", "refs/coord/claims").splitlines() if "begins epoch" in line]


def check(alpha: Repo, beta: Repo) -> None:
    """Check that both go on, and that the next epoch begins as if nothing had been."""
    assert beta.coord("claim", "b.txt").code == 0
    assert alpha.coord("sync").code == 0
    assert holdings(alpha) == {"a.txt": "alpha", "b.txt": "beta"}
    assert alpha.coord("gc", "--now").code == 0
    assert beta.coord("sync").code == 0
    assert len(epochs(beta)) == 1
    assert holdings(beta) == {"a.txt": "alpha", "b.txt": "beta"}
    assert [*wrong(alpha), *wrong(beta)] == []


@pytest.mark.parametrize("step", LOCAL)
def test_an_epoch_killed_in_one_repository_is_begun_once_or_not_at_all(repo: Repo, step: str) -> None:
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    init(alpha, beta)
    assert alpha.coord("claim", "a.txt").code == 0
    killed(alpha, step, "gc", "--now")
    assert len(epochs(alpha)) == (step not in BEFORE_PUBLISH)
    check(alpha, beta)


@pytest.mark.slow
@pytest.mark.parametrize("step", [step for step in PUSHED if step not in NEVER])
def test_an_epoch_killed_on_its_way_to_the_hub_is_begun_once_or_not_at_all(hub_and_clones: Clones, step: str) -> None:
    _, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    assert alpha.coord("claim", "a.txt").code == 0
    killed(alpha, step, "gc", "--now")
    check(alpha, beta)
