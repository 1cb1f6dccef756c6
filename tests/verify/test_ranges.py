"""What `git coord verify` says to type after a range that is none works where it is said."""

from __future__ import annotations

from tests.helpers import Repo
from tests.verify.stage import Stage


def advised(repo: Repo) -> list[str]:
    step: str = repo.coord_json("verify", "HEAD", code=2)["next"]
    return step.removeprefix("git coord ").split()


def test_of_a_first_commit_the_range_that_is_named_has_no_parent_in_it(stage: Stage) -> None:
    stage.beta.git("checkout", "-q", "--orphan", "topic")
    stage.beta.git("rm", "-q", "-r", "--cached", ".")
    stage.beta.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "first")
    assert advised(stage.beta) == ["verify"]
    assert stage.beta.coord_json("verify")["commits"] == 1


def test_at_the_end_of_a_shallow_history_the_parent_is_fetched(stage: Stage) -> None:
    ci = stage.checkout("ci")
    assert advised(ci) == ["verify", "HEAD~1..HEAD"]
    assert ci.coord_json("verify", "HEAD~1..HEAD")["commits"] == 1
