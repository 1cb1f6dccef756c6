"""`coord.autoInit`: a worktree that git makes is set up by its hook, which neither fails nor holds up git."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers import Completed, Repo, until

from .conftest import Pair
from .test_refresh import silent_host


@pytest.fixture
def alpha(pair: Pair) -> Repo:
    """Return the clone of alpha, who holds `a.txt`, with hooks; worktrees are set up when they are made."""
    alpha = pair.alpha.with_env(GIT_COORD_AGENT="")
    alpha.coord_json("hooks", "install")
    alpha.git("config", "coord.autoInit", "true")
    return alpha


def add(repo: Repo, name: str, *args: str) -> tuple[Repo, Completed]:
    """Make a worktree beside the repository, as people do; git must succeed."""
    tree = Repo(repo.path.parent / name, repo.env)
    done = repo.run("git", "worktree", "add", "-q", *args, "-b", name, str(tree.path))
    assert done.code == 0, done
    return tree, done


def said(done: Completed) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("git coord:")]


def test_a_new_worktree_has_an_agent_of_its_own_that_has_joined(alpha: Repo) -> None:
    tree, done = add(alpha.with_env(GIT_COORD_AGENT="alpha"), "W")
    tree = Repo(tree.path, alpha.env)
    line = "git coord: this worktree is alpha-w's, who has joined"
    until(lambda: line in said(done) or tree.coord("whoami").code == 0)  # a loaded machine may take more than it waits
    assert len(said(done)) == 1
    assert tree.coord_json("claim", "x")["agent"] == "alpha-w"
    assert tree.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"
    assert alpha.coord_json("whoami")["agent"] == "alpha"
    switched = tree.run("git", "switch", "-q", "-c", "other")
    assert (switched.code, switched.err) == (0, "")
    second, done = add(tree, "V")
    until(lambda: second.coord("whoami").code == 0)
    assert second.coord_json("whoami")["agent"] == "alpha-v"


def test_git_is_neither_stopped_nor_failed_by_a_remote_that_says_nothing(alpha: Repo) -> None:
    with silent_host() as (_server, url):
        alpha.git("remote", "set-url", "origin", url)
        tree, done = add(alpha, "W")
        assert said(done) == [
            "git coord: this worktree is being set up behind the scenes; once it is, this says so: git coord whoami"
        ]
    assert tree.coord_json("whoami", code=1)["next"] == "git coord init"


def test_a_remote_that_is_gone_is_said_with_what_to_type(alpha: Repo) -> None:
    alpha.git("remote", "set-url", "origin", str(alpha.path.parent / "nowhere"))
    _, done = add(alpha, "W")
    (line,) = said(done)
    assert line.endswith("next: git coord init") or "behind the scenes" in line


@pytest.mark.parametrize("how", ["unset", "false", "nonsense", "no python"])
def test_nothing_happens_unless_it_is_asked_for(alpha: Repo, how: str) -> None:
    if how == "no python":
        hook = alpha.path / ".git/hooks/post-checkout"
        hook.write_text(hook.read_text().replace("python=/", "python=/nowhere/"))
    elif how == "unset":
        alpha.git("config", "--unset", "coord.autoInit")
    else:
        alpha.git("config", "coord.autoInit", how)
    tree, done = add(alpha, "W")
    assert (said(done), tree.coord("whoami").code) == ([], 1)
    assert not (Path(alpha.path) / ".git/worktrees/W/config.worktree").exists()


def test_a_manager_that_calls_the_hook_has_it_too(alpha: Repo) -> None:
    hook = alpha.path / ".git/hooks/post-checkout"
    hook.write_text('#!/bin/sh\nexec git-coord hook post-checkout "$@"\n')
    tree, done = add(alpha, "W")
    until(lambda: tree.coord("whoami").code == 0)
    assert len(said(done)) == 1
