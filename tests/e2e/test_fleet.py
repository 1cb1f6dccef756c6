"""Six agents at work at once in copies of this project, through real processes, hooks and pushes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.fleet import Fleet, assert_history_holds, assert_tokens_are_unique
from tests.helpers import Repo

CLONES = ("ada", "bob", "cyd")
WORKTREES = ("dot", "eve", "fay")
EDITS = 3


@pytest.mark.slow(40)
@pytest.mark.timeout(600)
def test_six_agents_lose_nothing_and_ci_finds_what_went_past_the_hooks(tmp_path: Path, env: dict[str, str]) -> None:
    fleet = Fleet.launch(tmp_path, env)
    checkouts = fleet.checkouts(CLONES, WORKTREES)

    reports, trouble = fleet.run(checkouts, edits=EDITS, intrusions=2, seconds=400)

    assert not trouble, trouble
    assert {report.agent: len(report.granted) for report in reports} == dict.fromkeys((*CLONES, *WORKTREES), EDITS)
    assert sum(len(report.refused) for report in reports) >= 2
    assert_history_holds(fleet, reports)
    assert_tokens_are_unique(reports)
    assert_ci_accepts_everything(fleet)
    assert_ci_finds_the_planted_violation(fleet, checkouts["ada"], checkouts["eve"])


def assert_ci_accepts_everything(fleet: Fleet) -> None:
    """`verify` from the first commit on passes in a clone that has one commit and no ledger yet."""
    first = fleet.hub.git("rev-list", "--max-parents=0", "main")
    ci = fleet.clone("ci", "--depth", "1")
    answer = ci.coord_json("verify", f"{first}..HEAD")
    count = int(fleet.hub.git("rev-list", "--count", f"{first}..main"))
    assert (answer["ok"], answer["commits"], answer["violations"]) == (True, count, [])


def assert_ci_finds_the_planted_violation(fleet: Fleet, holder: Repo, intruder: Repo) -> None:
    """A commit and a push with --no-verify on what another holds gets to the hub, and not past CI."""
    path = fleet.files[0]
    claim = holder.coord_json("claim", path)
    bad = plant(intruder, path)

    found = fleet.clone("ci2", "--depth", "1", "--branch", "planted").coord_json("verify", code=3)

    assert found["commits"] == 1
    names = ("commit", "path", "holder", "token", "kind", "agents", "subject")
    assert [tuple(one[name] for name in names) for one in found["violations"]] == [
        (bad, path, "ada", claim["token"], "no-receipt", [], "planted")
    ]


def plant(intruder: Repo, path: str) -> str:
    """Get a commit past the hooks to a branch of the hub; the polite ways are refused."""
    intruder.git("pull", "-q", "--rebase", "origin", "main")
    assert intruder.coord("sync").code == 0
    with (intruder.path / path).open("a") as file:
        file.write("planted\n")
    intruder.git("add", "--", path)
    assert intruder.run("git", "commit", "-qm", "planted").code == 1
    intruder.git("commit", "-q", "--no-verify", "-m", "planted")
    assert intruder.run("git", "push", "-q", "origin", "HEAD:refs/heads/planted").code == 1
    intruder.git("push", "-q", "--no-verify", "origin", "HEAD:refs/heads/planted")
    return intruder.rev("HEAD")
