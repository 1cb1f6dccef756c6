"""Merges that git makes of a branch in which the holder works: nothing is dropped, and nobody is stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.helpers import Repo
from tests.verify.stage import Stage, kinds, succeed


def octopus(beta: Repo) -> None:
    """Merge two branches of one's own and the holder's at once."""
    for name, path in (("one", "b.txt"), ("two", "src/x.py")):
        beta.git("checkout", "-q", "-b", name, "origin/main")
        beta.commit(name, **{path: name})
    beta.git("checkout", "-q", "-b", "topic", "origin/main")
    beta.git("merge", "-q", "--no-edit", "one", "two", "origin/work")


def criss_cross(beta: Repo) -> None:
    """Merge two branches into each other, and then what came of that."""
    beta.git("checkout", "-q", "-b", "one", "origin/main")
    one = beta.commit("one", **{"b.txt": "one"})
    beta.git("checkout", "-q", "-b", "topic", "origin/work")
    two = beta.commit("two", **{"src/x.py": "two"})
    beta.git("merge", "-q", "--no-edit", one)
    beta.git("checkout", "-q", "one")
    beta.git("merge", "-q", "--no-edit", two)
    beta.git("checkout", "-q", "topic")
    beta.git("merge", "-q", "--no-edit", "one")


def subtree(beta: Repo) -> None:
    """Take another project in, below a folder."""
    beta.git("checkout", "-q", "--orphan", "other")
    beta.git("rm", "-rfq", ".")
    beta.commit("other", **{"o.txt": "o"})
    beta.git("checkout", "-q", "-b", "topic", "origin/work")
    beta.run("git", "merge", "-q", "-s", "ours", "--no-commit", "--allow-unrelated-histories", "other", check=True)
    beta.git("read-tree", "--prefix=vendor/", "-u", "other")
    beta.git("commit", "-q", "-m", "vendor")


@pytest.mark.parametrize("merge", [octopus, criss_cross, subtree])
def test_what_git_makes_of_the_holders_branch_passes_every_door(stage: Stage, merge: Callable[[Repo], None]) -> None:
    stage.alpha.git("checkout", "-q", "-b", "work")
    stage.alpha.commit("work", **{"a.txt": "a\nb\n"})
    stage.alpha.git("push", "-q", "origin", "work")
    stage.beta.git("fetch", "-q")
    merge(stage.beta)
    stage.beta.git("push", "-q", "origin", "topic")
    for repo in (stage.alpha, stage.beta):
        succeed(repo, "sync")
    answer = stage.checkout("ci", "--branch=topic").coord_json("verify")
    assert answer["commits"] > 1
    assert kinds(answer) == []
