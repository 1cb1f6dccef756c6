"""`core.hooksPath` in each scope, in the main checkout and in a linked worktree; awkward hooks behind ours."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.company.desk import Desk, assert_refused, desk
from tests.helpers import Repo
from tests.verify.stage import Stage, succeed


@pytest.fixture
def place(stage: Stage) -> Desk:
    return desk(stage)


def _local(repo: Repo, folder: str) -> Repo:
    repo.git("config", "core.hooksPath", folder)
    return repo


def _global(repo: Repo, folder: str) -> Repo:
    repo.git("config", "--global", "core.hooksPath", folder)
    return repo


def _included(repo: Repo, folder: str) -> Repo:
    extra = Path(repo.env["HOME"]) / "extra"
    repo.git("config", "-f", str(extra), "core.hooksPath", folder)
    repo.git("config", "--global", f"includeIf.gitdir:{repo.path.parent}/.path", str(extra))
    return repo


def _variables(repo: Repo, folder: str) -> Repo:
    return repo.with_env(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="core.hooksPath", GIT_CONFIG_VALUE_0=folder)


SCOPES: dict[str, Callable[[Repo, str], Repo]] = {
    "local": _local,
    "global": _global,
    "included": _included,
    "environment": _variables,
}
FOLDERS = {"absolute": "{home}/shared hooks", "home": "~/made/for/us", "in the repository": "{git}/own"}


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_wherever_git_is_told_to_look_both_checkouts_are_guarded(
    place: Desk, scope: Callable[[Repo, str], Repo], folder: str
) -> None:
    named = folder.format(home=place.repo.env["HOME"], git=place.repo.path / ".git")
    place = replace(place, repo=scope(place.repo, named))
    tree = replace(place, repo=place.repo.worktree("W"))
    done = place.repo.coord_json("hooks", "install")
    assert done["folders"] == [os.path.expanduser(named.replace("~", place.repo.env["HOME"]))]
    assert place.repo.coord("hooks", "status").code == 0
    for one in (place, tree):
        assert_refused(one.commit("a.txt"))
        assert one.commit("b.txt").code == 0
        assert one.repo.git("status", "--porcelain") == ""
    succeed(place.repo, "hooks", "uninstall", "--shared")
    assert place.hooks() == {}


def test_each_worktree_with_a_folder_of_its_own_is_guarded(place: Desk, tmp_path: Path) -> None:
    tree = replace(place, repo=place.repo.worktree("W"))
    place.repo.git("config", "extensions.worktreeConfig", "true")
    for number, one in enumerate((place, tree)):
        one.repo.git("config", "--worktree", "core.hooksPath", str(tmp_path / f"hooks {number}"))
    succeed(tree.repo, "hooks", "install")
    for one in (place, tree):
        assert_refused(one.commit("a.txt"))
        assert one.commit("b.txt").code == 0
    succeed(place.repo, "hooks", "uninstall", "--shared")
    assert (place.hooks(), tree.hooks()) == ({}, {})


def test_a_relative_folder_that_one_worktree_lacks_is_found_out_and_the_next_doors_hold(place: Desk) -> None:
    answer = json.loads(_local(place.repo, ".githooks").coord("hooks", "install", "--json").out)
    for line in answer["lines"]:
        name, _, command = line.partition(":  ")
        place.repo.write(f".githooks/{name}", f"#!/bin/sh\n{command}\n").chmod(0o755)
    place.repo.git("add", ".githooks")
    tree = replace(place, repo=place.repo.worktree("W"))  # from a commit without the folder
    place.repo.git("commit", "-q", "-m", "hooks")
    assert_refused(place.commit("a.txt"))
    found = place.repo.coord_json("hooks", "status", code=1)["hooks"]
    assert {row["worktree"]: row["fires"] for row in found} == {str(place.repo.path): True, str(tree.repo.path): False}
    assert tree.commit("a.txt").code == 0
    assert tree.push().code == 0  # no hook there either: CI is the last door
    answer = tree.repo.coord_json("verify", "HEAD~1..HEAD", code=3)
    assert [(row["path"], row["holder"]) for row in answer["violations"]] == [("a.txt", "alpha")]


def test_hooks_turned_off_for_one_command_are_on_for_the_next(place: Desk) -> None:
    succeed(place.repo, "hooks", "install")
    off = replace(place, repo=_variables(place.repo, "/dev/null"))
    assert off.commit("a.txt").code == 0
    assert_refused(place.push(), at="push")


BEHIND = {
    "reads its input": ("#!/bin/sh\ncat >/dev/null\necho ran >>$LOG\n", 0),
    "reads a line": ("#!/bin/sh\nread -r line\necho ran >>$LOG\n", 0),
    "leaves the input alone": ("#!/bin/sh\nexec <&-\necho ran >>$LOG\n", 0),
    "execs itself away": ("#!/bin/sh\necho ran >>$LOG\nexec sh -c 'exit 0'\necho never >>$LOG\n", 0),
    "exits early": ("#!/bin/sh\necho ran >>$LOG\nexit 0\necho never >>$LOG\n", 0),
    "finds its folder": ('#!/bin/sh\ncd "$(dirname "$0")" && test -f here && echo ran >>$LOG\n', 0),
    "dies of a signal": ("#!/bin/sh\nkill -TERM $$\n", 1),
    "has the line ends of another system": ("#!/bin/sh\r\necho ran >>$LOG\r\n", 1),
    "has no interpreter": ("#!/gone/python3\nprint()\n", 1),
}


@pytest.mark.parametrize("name", BEHIND)
def test_a_hook_behind_ours_behaves_as_it_did_alone(place: Desk, name: str) -> None:
    text, code = BEHIND[name]
    folder = place.repo.path / ".git/hooks"
    folder.mkdir(exist_ok=True)
    (folder / "here").touch()
    for hook in ("pre-commit", "pre-push"):
        place.repo.write(f".git/hooks/{hook}", text).chmod(0o755)
    before = place.hooks()
    alone = place.commit("b.txt")
    expected = ["ran"] if code == 0 else []
    assert (min(alone.code, 1), place.ran()) == (code, expected)
    succeed(place.repo, "hooks", "install")
    succeed(place.repo, "hooks", "install")
    done = place.commit("b.txt")
    assert (min(done.code, 1), place.ran()) == (code, expected), done
    pushed = place.push()
    assert (pushed.code, place.ran()) == (code, expected), pushed
    assert place.commit("a.txt").code == 1
    assert place.ran() == expected
    assert place.commit("a.txt", "--no-verify").code == 0
    assert place.push().code == 1
    succeed(place.repo, "hooks", "uninstall")
    assert place.hooks() == before


@pytest.mark.parametrize("target", ["../../tools/check", "{home}/check"], ids=["tracked", "elsewhere"])
def test_a_symbolic_link_to_anywhere_is_followed_and_comes_back(place: Desk, target: str) -> None:
    named = target.format(home=place.repo.env["HOME"])
    script = Path(named) if named.startswith("/") else place.repo.path / "tools/check"
    script.parent.mkdir(exist_ok=True)
    script.write_text("#!/bin/sh\necho ran >>$LOG\n")
    script.chmod(0o755)
    link = place.repo.path / ".git/hooks/pre-commit"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(named)
    before = place.hooks()
    succeed(place.repo, "hooks", "install")
    assert_refused(place.commit("a.txt"))
    assert place.ran() == ["ran"]
    assert script.read_text() == "#!/bin/sh\necho ran >>$LOG\n"
    succeed(place.repo, "hooks", "uninstall")
    assert place.hooks() == before
