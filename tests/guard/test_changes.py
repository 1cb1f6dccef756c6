"""What the guard finds out from git and from the process that started it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.helpers import Repo, new_repo

from git_coord.guard import git
from git_coord.guard.changes import Changes, _says_amend


@pytest.mark.parametrize(
    ("line", "amends"),
    [
        ("git commit -m x", False),
        ("git commit --amend", True),
        ("/usr/lib/git-core/git commit -q --am", True),
        ("git -c core.editor=x --git-dir a/.git -C b commit --amend", True),
        ("git --git-dir=a/.git commit -m x", False),
        ("git commit -m x -- --amend", False),
        ("git commit --all -a", False),
        ("git merge commit", None),
        ("git", None),
        ("sh .git/hooks/pre-commit --amend", None),
        ("", None),
    ],
)
def test_a_command_line_tells_an_amend(line: str, amends: bool | None) -> None:
    assert _says_amend(line.replace(" ", "\0").encode() + b"\0") is amends


def test_nothing_is_an_amend_outside_a_commit(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path)
    repo.write("new", "x")
    repo.git("add", "new")
    changes = Changes("pre-commit", [], ".git")
    assert (changes.paths(), changes.kind, changes.parents) == ([b"new"], "commit", ["HEAD"])


def test_where_command_lines_cannot_be_read_the_author_date_decides(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.path)
    monkeypatch.setattr("git_coord.guard.changes.amends_by_command_line", lambda pid: None)
    date = repo.git("log", "-1", "--format=%ad", "--date=raw")
    monkeypatch.setenv("GIT_AUTHOR_DATE", f"@{date}")
    changes = Changes("pre-commit", [], ".git")
    assert (changes.paths(), changes.kind, changes.parents) == ([b"README.md"], "amend", [])
    monkeypatch.setenv("GIT_AUTHOR_DATE", "@1 +0000")
    changes = Changes("pre-commit", [], ".git")
    assert (changes.paths(), changes.kind, changes.parents) == ([], "commit", ["HEAD"])


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_the_first_commit_is_compared_with_the_empty_tree_of_either_format(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    fresh = new_repo(tmp_path / "fresh", env, f"--object-format={algorithm}")
    fresh.write("a", "x")
    fresh.git("add", "a")
    monkeypatch.chdir(fresh.path)
    changes = Changes("pre-commit", [], ".git")
    assert (changes.paths(), changes.kind) == ([b"a"], "first")


def test_a_head_that_cannot_be_read_is_no_first_commit(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path)
    tree = repo.rev("HEAD^{tree}")
    (repo.path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(git.GitFailed):
        Changes("pre-commit", [], ".git").paths()


def test_directories_are_found_as_git_finds_them(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = repo.worktree("W")
    below = repo.path / "below"
    below.mkdir()
    for cwd in (repo.path, tree.path, below):
        monkeypatch.chdir(cwd)
        lines = Repo(cwd, repo.env).git("rev-parse", "--git-dir", "--git-common-dir").split("\n")
        assert list(map(os.path.realpath, git.locate())) == [os.path.realpath(cwd / line) for line in lines]


def test_fifty_thousand_paths_are_read_in_one_go(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", input="x")
    names = [f"d{n % 100}/f{n}" for n in range(50_000)]
    repo.git("update-index", "-z", "--index-info", input="".join(f"100644 {blob}\t{name}\0" for name in names))
    monkeypatch.chdir(repo.path)
    assert sorted(Changes("pre-commit", [], ".git").paths()) == sorted(name.encode() for name in names)
