"""What many processes saw of three paths, locally and through one remote, is what one after the other would have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo

from .checker import Op, is_linearizable
from .many import run_crew
from .stress import HUB_VERBS, LOCAL_VERBS, PATHS, Recorder, at_once, enlist

LOCAL, CLONES = 12, 6


def finish(recorder: Recorder, reader: Repo, workers: list[Callable[[], None]]) -> list[Op]:
    """Run the workers, then read every path once more: what was granted last must still be there."""
    at_once(workers)
    reader.run("git-coord", "sync", check=True)
    for path in PATHS:
        recorder.act(reader, "read", path)
    print(len(recorder.ops), Counter(f"{op.verb}: {op.result}" for op in recorder.ops))  # noqa: T201 - with `-s`
    return recorder.ops


@pytest.mark.slow
def test_twelve_processes_in_one_repository_see_one_order(tmp_path: Path, env: dict[str, str]) -> None:
    repo = new_repo(tmp_path / "repo", env)
    agents = [enlist(repo, f"a{n}") for n in range(LOCAL)]
    recorder = Recorder()
    history = finish(recorder, agents[0], [recorder.worker(a, n, 6, LOCAL_VERBS) for n, a in enumerate(agents)])
    assert len(history) == LOCAL * 6 + len(PATHS)
    assert {op.result for op in history} >= {"granted", "refused", "released"}
    assert "unknown" not in {op.result for op in history}
    assert is_linearizable(history)
    assert not is_linearizable(spoiled(history))


@pytest.mark.slow
def test_twenty_processes_that_claim_and_give_back_five_times_lose_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    """The stress of `make bench` (128 processes, ten times each), small enough for every run."""
    done = run_crew(new_repo(tmp_path / "repo", env), tmp_path, processes=20, turns=5)
    assert done.codes == [0] * 20
    assert len(done.history) == 20 * 5 * 2
    assert done.missing == set()
    assert {op.result for op in done.history} <= {"granted", "refused", "released", "not held"}
    assert is_linearizable(done.history)
    assert not is_linearizable(spoiled(done.history))


@pytest.mark.slow
def test_six_clones_of_one_hub_see_one_order(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> None:
    _, *clones = hub_and_clones(*(f"a{n}" for n in range(CLONES)))
    agents = [enlist(clone, f"a{n}") for n, clone in enumerate(clones)]
    recorder = Recorder()
    history = finish(recorder, agents[0], [recorder.worker(a, 50 + n, 6, HUB_VERBS) for n, a in enumerate(agents)])
    assert len(history) == CLONES * 6 + len(PATHS)
    assert {op.result for op in history} >= {"granted", "refused", "released"}
    assert is_linearizable(history)
    assert not is_linearizable(spoiled(history))


def spoiled(history: list[Op]) -> list[Op]:
    """Return the history with one more read at its end, of somebody who never held anything."""
    end = max(op.end for op in history)
    return [*history, Op(end + 1, end + 2, "x", "read", PATHS[0], "held", "nobody")]
