"""Running git: the environment it gets, the repository it finds, what it leaves behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from git_coord.errors import CoordError, Kind
from git_coord.process import Process
from git_coord.store.git import Config, Git
from git_coord.store.location import discover
from tests.helpers import PATIENCE, Repo, new_repo, until

from .conftest import ends


def test_the_local_variables_of_another_repository_are_dropped(repo: Repo) -> None:
    names = [name for name in repo.git("rev-parse", "--local-env-vars").split() if not name.startswith("GIT_CONFIG_")]
    dirty = repo.env | dict.fromkeys(names, "elsewhere") | {"GIT_CONFIG_PARAMETERS": "'a.b'='c'"}
    env = Git(repo.path / ".git", dirty).env
    assert {name: env[name] for name in names if name in env} == {
        "GIT_DIR": str(repo.path / ".git"),
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "/dev/null/none",
    }
    assert env["GIT_CONFIG_PARAMETERS"] == "'a.b'='c'"
    assert (env["GIT_OPTIONAL_LOCKS"], env["GIT_TERMINAL_PROMPT"]) == ("0", "0")


def test_the_users_own_options_reach_git(repo: Repo) -> None:
    env = repo.env | {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "coord.agent", "GIT_CONFIG_VALUE_0": "alpha"}
    assert Git(repo.path / ".git", env).config().scoped("coord.agent") == [("command", "alpha")]


def test_git_missing_from_the_path_is_said(tmp_path: Path) -> None:
    with pytest.raises(CoordError) as caught:
        Git(None, {"PATH": str(tmp_path)}).run(["version"])
    assert (caught.value.kind, caught.value.message) == (Kind.ERROR, "git is not on PATH")


def test_a_git_in_a_relative_path_entry_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(CoordError) as caught:
        Git(None, {"PATH": ".:"}, tmp_path).run(["version"])
    assert caught.value.message == "git is not on PATH"


def test_a_failing_command_is_an_error_in_gits_words(repo: Repo) -> None:
    with pytest.raises(CoordError) as caught:
        Git(repo.path / ".git", repo.env).run(["rev-parse", "--verify", "nothing"])
    assert (caught.value.kind, caught.value.message) == (Kind.ERROR, "git rev-parse: Needed a single revision")


def test_input_and_output_larger_than_the_pipes_pass(repo: Repo) -> None:
    text = os.urandom(3_000_000)
    git = Git(repo.path / ".git", repo.env)
    oid = git.run(["hash-object", "-w", "--stdin"], text).out.decode().strip()
    assert git.run(["cat-file", "blob", oid]).out == text


def test_input_is_written_at_once(tmp_path: Path) -> None:
    process = Process("/bin/sh", ["sh", "-c", "cat >got; exec sleep 600"], {"PATH": os.environ["PATH"]})
    process.send(b"now")
    process.end()
    until(lambda: Path("got").exists() and Path("got").read_bytes() == b"now", PATIENCE / 4)
    process.kill()
    assert process.code == -signal.SIGTERM


def test_a_command_that_reads_no_input_is_no_trouble(repo: Repo) -> None:
    assert Git(repo.path / ".git", repo.env).run(["version"], bytes(1_000_000)).code == 0


def test_a_timeout_kills_git_and_all_it_started(repo: Repo, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    repo.git("config", "alias.hang", f"!sh -c 'echo $$ >{pid_file}; exec sleep 600'")
    began = time.monotonic()
    with pytest.raises(CoordError) as caught:
        Git(repo.path / ".git", repo.env, repo.path).run(["hang"], timeout=0.3)
    assert (caught.value.kind, caught.value.message) == (Kind.UNKNOWN, "no answer from git hang in 0.3 s")
    assert time.monotonic() - began < PATIENCE
    assert ends(int(pid_file.read_text()))


def test_what_a_child_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    done = Process("/bin/sh", ["sh", "-c", "sleep 600 & echo $!; exit 3"], {"PATH": os.defpath}).communicate(PATIENCE)
    os.kill(int(done.out), 9)
    assert done.code == 3
    assert time.monotonic() - began < PATIENCE


def test_a_child_has_no_terminal_and_default_signals(tmp_path: Path) -> None:
    script = "sed -n 's/SigIgn://p' /proc/self/status; (: </dev/tty) 2>/dev/null || echo no tty"
    done = Process("/bin/sh", ["sh", "-c", script], {"PATH": os.defpath}).communicate()
    ignored, terminal = done.out.split(b"\n", 1)
    assert int(ignored, 16) >> (signal.SIGPIPE - 1) & 1 == 0
    assert terminal == b"no tty\n"


def test_the_death_by_a_signal_is_a_negative_code(tmp_path: Path) -> None:
    assert Process("/bin/sh", ["sh", "-c", "kill -9 $$"], {}).communicate().code == -9


def test_processes_leave_no_descriptor_behind(repo: Repo) -> None:
    git = Git(repo.path / ".git", repo.env)
    git.run(["version"])
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        git.run(["version"])
        git.start(["cat-file", "--batch"])
        git.start(["version"]).kill()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_repository_is_found_from_a_subdirectory(repo: Repo) -> None:
    repo.write("src/deep/x", "")
    location = discover(repo.path / "src/deep", repo.env)
    assert location == (
        str(repo.path / ".git"),
        str(repo.path / ".git"),
        str(repo.path),
        "src/deep/",
        "sha1",
        False,
        True,
        None,
    )


def test_a_linked_worktree_has_its_own_directory_and_the_common_one(repo: Repo) -> None:
    linked = repo.worktree("linked")
    location = discover(linked.path, linked.env)
    assert location.git_dir == str(repo.path / ".git/worktrees/linked")
    assert (location.common_dir, location.top) == (str(repo.path / ".git"), str(linked.path))


def test_a_bare_repository_has_no_top(tmp_path: Path, env: dict[str, str]) -> None:
    bare = new_repo(tmp_path / "b.git", env, "--bare", "--object-format=sha256")
    path = str(bare.path)
    assert discover(bare.path, env) == (path, path, None, "", "sha256", True, False, None)


def test_inside_the_git_directory_there_is_no_top(repo: Repo) -> None:
    location = discover(repo.path / ".git", repo.env)
    assert (location.top, location.is_bare, location.is_inside_work_tree) == (None, False, False)


def test_git_dir_from_a_subdirectory_keeps_the_real_top(repo: Repo) -> None:
    repo.write("src/x.py", "")
    for given in (str(repo.path / ".git"), "../.git"):
        location = discover(repo.path / "src", repo.env | {"GIT_DIR": given})
        assert (location.top, location.prefix) == (str(repo.path), "src/")


def test_git_dir_of_another_repository_wins_over_where_we_stand(repo: Repo, tmp_path: Path) -> None:
    other = new_repo(tmp_path / "other", repo.env)
    location = discover(repo.path, repo.env | {"GIT_DIR": str(other.path / ".git")})
    assert (location.git_dir, location.top) == (str(other.path / ".git"), str(repo.path))


def test_git_work_tree_is_honoured(repo: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "sub").mkdir(parents=True)
    env = repo.env | {"GIT_DIR": str(repo.path / ".git"), "GIT_WORK_TREE": str(elsewhere)}
    location = discover(elsewhere / "sub", env)
    assert (location.top, location.prefix) == (str(elsewhere), "sub/")


def test_git_prefix_is_ignored_as_git_does(repo: Repo) -> None:
    assert discover(repo.path, repo.env | {"GIT_PREFIX": "src/"}).prefix == ""


def test_hooks_of_a_linked_worktree_and_a_submodule_find_their_own(repo: Repo, tmp_path: Path) -> None:
    inner = new_repo(tmp_path / "inner", repo.env)
    inner.commit("first", a="1")
    repo.git("submodule", "add", "-q", str(inner.path), "sub")
    module = Repo(repo.path / "sub", repo.env)
    for place, git_dir in ((repo.worktree("linked"), "worktrees/linked"), (module, "modules/sub")):
        env = place.env | {"GIT_DIR": str(repo.path / ".git" / git_dir), "GIT_INDEX_FILE": "somewhere"}
        assert discover(place.path, env).top == str(place.path)


@pytest.mark.parametrize("name", ["with space", "with\nnewline", "end\n", "quote'\"$"])
def test_a_repository_may_have_any_path(name: str, tmp_path: Path, env: dict[str, str]) -> None:
    repo = new_repo(tmp_path / name, env)
    repo.write("a\nb/x", "")
    location = discover(repo.path / "a\nb", env)
    git_dir = str(repo.path / ".git")
    assert location[:4] == (git_dir, git_dir, str(repo.path), "a\nb/")
    bare = new_repo(tmp_path / name / "bare", env, "--bare")
    assert discover(bare.path, env)[:4] == (str(bare.path), str(bare.path), None, "")
    assert location.git(env).run(["rev-parse", "--show-toplevel"]).out.decode() == f"{repo.path}\n"


def test_the_upstream_is_found_with_the_repository(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> None:
    _, alpha = hub_and_clones("alpha")
    theirs = alpha.rev("origin/main")
    alpha.commit("mine")
    assert discover(alpha.path, alpha.env).upstream == theirs
    alpha.git("update-ref", "-d", "refs/remotes/origin/main")
    (alpha.path / "@{upstream}^{commit}").touch()
    assert discover(alpha.path, alpha.env).upstream is None
    (alpha.path / "@{upstream}^{commit}").unlink()
    location = discover(alpha.path, alpha.env)
    assert (location.upstream, location.top) == (None, str(alpha.path))
    alpha.git("checkout", "-q", "--detach")
    assert discover(alpha.path, alpha.env).upstream is None


def test_a_path_with_a_newline_hides_no_upstream(
    hub_and_clones: Callable[..., tuple[Repo, ...]], tmp_path: Path
) -> None:
    _, alpha = hub_and_clones("alpha")
    odd = Repo(alpha.path.rename(tmp_path / "a\nb"), alpha.env)
    location = discover(odd.path, odd.env)
    assert (location.top, location.upstream) == (str(odd.path), odd.rev("origin/main"))
    inside = discover(odd.path / ".git", odd.env)
    assert (inside.top, inside.git_dir) == (None, str(odd.path / ".git"))


def test_no_repository_is_an_error_in_gits_words(tmp_path: Path, env: dict[str, str]) -> None:
    for extra in ({}, {"GIT_DIR": str(tmp_path / "nothing")}):
        with pytest.raises(CoordError) as caught:
            discover(tmp_path, env | extra)
        assert caught.value.kind is Kind.ERROR
        assert caught.value.message.startswith("not a git repository")


def test_dubious_ownership_is_an_error_with_gits_advice(repo: Repo) -> None:
    with pytest.raises(CoordError) as caught:
        discover(repo.path, repo.env | {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert caught.value.kind is Kind.ERROR
    assert "safe.directory" in caught.value.message


def test_configuration_keeps_every_value_and_the_last_one_counts(repo: Repo) -> None:
    repo.git("config", "coord.refPrefix", "refs/heads/coord")
    repo.git("config", "remote.My.Hub.url", "one")
    repo.git("config", "--add", "remote.My.Hub.url", "two")
    repo.git("config", "coord.text", "a\nb")
    with (repo.path / ".git/config").open("a") as file:
        file.write("[coord]\n\tflag\n\tempty =\n")
    config = Git(repo.path / ".git", repo.env, repo.path).config()
    assert config.get("coord.refprefix") == config.get("Coord.refPrefix") == "refs/heads/coord"
    assert config.get_all("remote.My.Hub.url") == ["one", "two"]
    assert config.get("remote.my.hub.url") is None
    assert config.scoped("remote.My.Hub.URL")[-1] == ("local", "two")
    assert (config.get("coord.text"), config.get("coord.flag"), config.get("coord.empty")) == ("a\nb", "true", "")
    assert config.under("coord") == {
        "coord.refprefix": ["refs/heads/coord"],
        "coord.text": ["a\nb"],
        "coord.flag": ["true"],
        "coord.empty": [""],
    }


def test_an_empty_configuration_has_nothing() -> None:
    assert Config(b"").get("coord.agent") is None
