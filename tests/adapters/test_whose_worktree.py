"""Edit hooks in a worktree without a name, and in the second one of a name."""

from __future__ import annotations

import pytest

from tests.adapters.conftest import Pair
from tests.adapters.tool import Session
from tests.helpers import Repo


def test_the_edits_of_the_first_ones_files_are_denied_to_the_second_worktree_of_a_name(pair: Pair) -> None:
    pair.alpha.coord_json("claim", "a.txt")
    tree = pair.alpha.worktree("W").with_env(GIT_COORD_AGENT="alpha")
    session = Session(tree, "s-2")
    reason = session.denied("a.txt")
    where = f"alpha is at work in another worktree, {pair.alpha.path}"
    assert reason.startswith("git coord: not yours to change\n  a.txt   held by alpha #2")
    assert where in reason
    assert "unset GIT_COORD_AGENT && git coord init" in reason
    free = session.edit("src/x.py")
    assert "permissionDecision" not in free
    assert where in free["additionalContext"]
    assert tree.coord_json("check", "src/x.py")["resources"][0]["status"] == "free"  # nothing was claimed for alpha
    assert where in session.start()
    session.hook("session-end")
    assert pair.alpha.coord_json("check", "a.txt")["resources"][0]["status"] == "mine"
    assert pair.session().edit("a.txt") == {}


@pytest.mark.parametrize("key", ["s-2", ""], ids=["session", "no-session"])
def test_a_worktree_without_a_name_is_not_the_main_one(pair: Pair, key: str) -> None:
    pair.alpha.coord_json("claim", "a.txt")
    tree = pair.alpha.worktree("W")
    reason = Session(tree, key).denied("a.txt")
    assert reason.startswith("git coord: not yours to change\n  a.txt   held by alpha #2")
    assert Session(tree, key).start().startswith("git coord: you are alpha-w in this repository.")
    named = tree.coord_json("whoami")["agent"]
    assert named not in ("alpha", "beta")
    assert owners(tree) == {"a.txt": "alpha", "b.txt": "beta"}


def owners(repo: Repo) -> dict[str, str]:
    """Return who holds what."""
    return {item["path"]: claim["agent"] for claim in repo.coord_json("status")["claims"] for item in claim["items"]}
