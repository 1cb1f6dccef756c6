"""The helpers do what tests rely on, above all that nothing of the machine shines through."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import Completed, Failed, Repo, new_repo, seal

FAKE_COORD = """\
#!/bin/sh
case $1 in
  args) shift; for arg; do printf '<%s>' "$arg"; done ;;
  fail) echo '{"ok": false}'; echo talk >&2; exit 3 ;;
  list) echo '[]' ;;
  hang) sleep 600 ;;
  stdin) cat ;;
esac
"""
HOSTILE = {
    "GIT_DIR": "/nowhere",
    "GIT_INDEX_FILE": "/nowhere/index",
    "GIT_COORD_AGENT": "mallory",
    "SSH_AUTH_SOCK": "/nowhere/agent",
    "http_proxy": "http://proxy.invalid",
    "EDITOR": "vi",
    "PATH": "/usr/bin",
    "TMPDIR": "/elsewhere",
}


@pytest.fixture
def faked(repo: Repo, tmp_path: Path) -> Repo:
    """Return the repository with a stand-in for `git coord` first on PATH."""
    fake = tmp_path / "bin" / "git-coord"
    fake.parent.mkdir()
    fake.write_text(FAKE_COORD)
    fake.chmod(0o755)
    return repo.with_env(PATH=f"{fake.parent}{os.pathsep}{repo.env['PATH']}")


def test_a_sealed_environment_keeps_nothing_but_what_is_listed(tmp_path: Path) -> None:
    env = seal(tmp_path, HOSTILE)
    assert sorted(name for name in env if name.startswith("GIT_")) == [
        "GIT_ALLOW_PROTOCOL",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_EDITOR",
        "GIT_TEMPLATE_DIR",
        "GIT_TERMINAL_PROMPT",
    ]
    assert set(env) & set(HOSTILE) == {"PATH", "TMPDIR"}
    assert env["PATH"] == f"{Path(sys.executable).parent}:/usr/bin"


def test_this_process_and_its_children_see_the_same_environment(env: dict[str, str]) -> None:
    listed = subprocess.run(["env", "-0"], stdout=subprocess.PIPE, check=True).stdout.decode()
    inherited = dict(entry.split("=", 1) for entry in listed.split("\0") if entry)
    assert {name: value for name, value in inherited.items() if not name.startswith("PYTEST_")} == {
        name: value for name, value in env.items() if not name.startswith("PYTEST_")
    }


def test_git_reads_the_sealed_configuration_and_no_other(repo: Repo) -> None:
    scopes = {line.split("\t")[0] for line in repo.git("config", "--show-scope", "--list").splitlines()}
    assert scopes == {"global", "local"}
    assert repo.git("config", "user.name") == "Test Person"
    assert not (repo.path / ".git" / "hooks").exists()


def test_each_test_stands_in_an_empty_folder_that_is_no_repository(env: dict[str, str]) -> None:
    assert list(Path.cwd().iterdir()) == []
    done = Repo(Path.cwd(), env).run("git", "rev-parse")
    assert done.code == 128


def test_an_editor_nobody_expected_fails_at_once(repo: Repo) -> None:
    assert repo.run("git", "commit", "--allow-empty").code == 1


@given(st.booleans())
def test_the_seal_gets_along_with_hypothesis(anything: bool) -> None:
    assert os.environ["GIT_CONFIG_NOSYSTEM"] == "1"
    assert anything in {True, False}


def test_git_returns_output_without_its_last_newline_only(repo: Repo) -> None:
    assert repo.git("cat-file", "blob", "HEAD:README.md") == "hello"
    assert repo.run("git", "cat-file", "blob", "HEAD:README.md") == Completed(0, "hello\n", "")


def test_git_raises_with_everything_git_said(repo: Repo) -> None:
    with pytest.raises(Failed) as caught:
        repo.git("cat-file", "-e", "HEAD:absent")
    assert caught.value.done.code == 128
    assert str(caught.value).startswith("git cat-file -e HEAD:absent: exit 128\nfatal: ")


def test_bytes_that_are_not_utf8_survive_the_way_through(repo: Repo) -> None:
    oid = repo.git("hash-object", "-w", "--stdin", input=b"\xff")
    assert repo.git("cat-file", "blob", oid) == "\udcff"
    assert repo.git("hash-object", "--stdin", input="\udcff") == oid


def test_coord_is_run_as_a_subcommand_of_git(faked: Repo) -> None:
    assert faked.coord("args", "a b", "*") == Completed(0, "<a b><*>", "")
    assert faked.coord("stdin", input="a\0b") == Completed(0, "a\0b", "")
    assert faked.coord("fail") == Completed(3, '{"ok": false}\n', "talk\n")


def test_coord_json_wants_the_exit_code_named_and_one_object(faked: Repo) -> None:
    assert faked.coord_json("fail", code=3) == {"ok": False}
    with pytest.raises(Failed, match=r"^git coord fail --json: exit 3"):
        faked.coord_json("fail")
    with pytest.raises(AssertionError, match=r"^\[\]"):
        faked.coord_json("list")


def test_a_command_that_hangs_is_killed_with_its_children(faked: Repo) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        faked.coord("hang", timeout=0.2)


def test_commit_takes_files_of_any_name_and_returns_the_commit(repo: Repo) -> None:
    oid = repo.commit("second", plain="1", **{"src/a.py": "", "*": "x"})
    assert oid == repo.rev("HEAD")
    assert repo.git("show", "--format=%s", "--name-only", "HEAD").splitlines() == [
        "second",
        "",
        "*",
        "plain",
        "src/a.py",
    ]


def test_commit_without_files_records_what_is_staged(repo: Repo) -> None:
    repo.write("staged/file", "x")
    repo.git("add", "staged")
    repo.commit("second")
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["README.md", "staged/file"]


def test_refs_returns_names_and_objects(repo: Repo) -> None:
    assert repo.refs() == {"refs/heads/main": repo.rev("HEAD")}
    assert repo.refs("refs/tags") == {}


def test_clones_share_the_hub_and_have_their_own_agent(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    assert hub.git("rev-parse", "--is-bare-repository") == "true"
    assert [clone.git("config", "coord.agent") for clone in (alpha, beta)] == ["alpha", "beta"]
    alpha.commit("work", a="1")
    alpha.git("push", "-q")
    beta.git("pull", "-q")
    assert beta.rev("HEAD") == alpha.rev("HEAD") == hub.rev("main")


def test_worktrees_share_refs_but_not_the_agent(repo: Repo) -> None:
    repo.git("config", "coord.agent", "alpha")
    other = repo.worktree("other", agent="beta")
    assert (repo.git("config", "coord.agent"), other.git("config", "coord.agent")) == ("alpha", "beta")
    assert other.git("symbolic-ref", "HEAD") == "refs/heads/other"
    assert repo.refs() == other.refs()


def test_with_env_changes_a_copy(repo: Repo) -> None:
    assert (
        repo.with_env(GIT_AUTHOR_NAME="Other").git("var", "GIT_AUTHOR_IDENT").startswith("Other <person@example.com>")
    )
    assert "GIT_AUTHOR_NAME" not in repo.env


def test_new_repo_passes_options_on(tmp_path: Path, env: dict[str, str]) -> None:
    made = new_repo(tmp_path / "new", env, "--object-format=sha256")
    assert made.git("rev-parse", "--show-object-format") == "sha256"
