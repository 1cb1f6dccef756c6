"""Installing where git really looks, beside what is there already, and taking it away again."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers import PATIENCE, Repo

from git_coord.errors import CoordError, Kind
from git_coord.hooks.install import HOOKS, install, status, uninstall

from .conftest import Pair, assert_allowed, assert_blocked, open_here
from .test_which_paths import commit


def picture(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything about the files of a folder that uninstalling must restore."""
    return {
        path.name: (
            path.lstat().st_mode,
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes(),
        )
        for path in sorted(folder.iterdir())
    }


def hooks_of(repo: Repo) -> Path:
    return repo.path / ".git/hooks"


def put(path: Path, text: str, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def stage(repo: Repo, path: str) -> None:
    repo.write(path, f"changed by {repo.env.get('GIT_COORD_AGENT', 'alpha')}\n")
    repo.git("add", path)


def test_installing_twice_changes_nothing_and_uninstalling_leaves_nothing(pair: Pair) -> None:
    app = open_here(pair.alpha)
    before = picture(hooks_of(pair.alpha))
    assert sorted(before) == sorted(HOOKS)
    again = install(app)
    assert (again.folders, again.changed, again.chained) == ((str(hooks_of(pair.alpha)),), (), ())
    assert picture(hooks_of(pair.alpha)) == before
    assert [Path(path).name for path in uninstall(app)] == list(HOOKS)
    assert picture(hooks_of(pair.alpha)) == {}
    assert uninstall(app) == ()


def test_a_missing_hooks_folder_is_made(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    hooks_of(pair.alpha).rmdir()
    assert len(install(app).changed) == len(HOOKS)
    assert {hook.is_firing for hook in status(app)} == {True}


PRIORS = {
    "ends with exit": '#!/bin/sh\necho prior "$@" >>log\nexit 0\n',
    "ends with exec": '#!/bin/sh\necho prior "$@" >>log\nexec true\n',
    "python": "#!/usr/bin/env python3\nopen('log', 'a').write('prior\\n')\n",
    "no newline at its end": '#!/bin/sh\necho prior "$@" >>log',
}


@pytest.mark.parametrize("text", PRIORS.values(), ids=PRIORS)
def test_a_hook_that_was_there_runs_once_and_so_do_we(pair: Pair, text: str) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    put(hooks_of(pair.alpha) / "pre-commit", text, 0o755)
    before = picture(hooks_of(pair.alpha))
    install(app)
    assert install(app).chained == (str(hooks_of(pair.alpha) / "pre-commit.coord-prior"),)
    stage(pair.beta, "b.txt")
    assert_allowed(commit(pair.beta, "-m", "free"))
    assert (pair.alpha.path / "log").read_text().splitlines() == ["prior"]
    stage(pair.beta, "a.txt")
    assert_blocked(commit(pair.beta, "-m", "claimed"), "a.txt")
    assert (pair.alpha.path / "log").read_text().splitlines() == ["prior", "prior"]
    uninstall(app)
    assert picture(hooks_of(pair.alpha)) == before


def test_a_failing_hook_that_was_there_still_refuses_with_its_own_status(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    put(hooks_of(pair.alpha) / "pre-commit", "#!/bin/sh\necho no >&2\nexit 7\n")
    install(app)
    stage(pair.alpha, "b.txt")
    done = commit(pair.alpha, "-m", "x")
    assert (done.code, done.err) == (1, "no\n")
    assert pair.alpha.run(".git/hooks/pre-commit").code == 7


def test_a_symbolic_link_keeps_working_and_comes_back(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    put(hooks_of(pair.alpha) / "real", "#!/bin/sh\necho prior >>log\n")
    (hooks_of(pair.alpha) / "pre-commit").symlink_to("real")
    (hooks_of(pair.alpha) / "post-commit").symlink_to("gone")
    before = picture(hooks_of(pair.alpha))
    install(app)
    stage(pair.alpha, "b.txt")
    assert_allowed(commit(pair.alpha, "-m", "x"))
    assert (pair.alpha.path / "log").read_text() == "prior\n"
    assert (hooks_of(pair.alpha) / "real").read_text() == "#!/bin/sh\necho prior >>log\n"
    uninstall(app)
    assert picture(hooks_of(pair.alpha)) == before


def test_a_hook_that_git_passed_over_stays_passed_over(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    put(hooks_of(pair.alpha) / "pre-commit", "#!/bin/sh\nexit 1\n", 0o644)
    before = picture(hooks_of(pair.alpha))
    install(app)
    stage(pair.alpha, "b.txt")
    assert_allowed(commit(pair.alpha, "-m", "x"))
    uninstall(app)
    assert picture(hooks_of(pair.alpha)) == before


def test_a_pre_push_hook_that_was_there_gets_arguments_input_and_environment(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    hook = hooks_of(pair.alpha) / "pre-push"
    put(hook, '#!/bin/sh\necho "$1 $FLAVOUR" >log\ncat >>log\nexit 3\n')
    install(app)
    line = f"refs/heads/main {'1' * 40} refs/heads/main {'0' * 40}\n"
    done = pair.alpha.with_env(FLAVOUR="mint").run(".git/hooks/pre-push", "origin", "url", input=line)
    assert (done.code, (pair.alpha.path / "log").read_text()) == (3, f"origin mint\n{line}")


def test_post_rewrite_passes_its_input_on_and_records_it(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    put(hooks_of(pair.alpha) / "post-rewrite", "#!/bin/sh\ncat >log\n")
    install(app)
    old = pair.alpha.rev("HEAD")
    pair.alpha.git("commit", "-q", "--amend", "-m", "other", "--allow-empty")
    new = pair.alpha.rev("HEAD")
    assert (pair.alpha.path / "log").read_text() == f"{old} {new}\n"
    claims = pair.alpha.rev("refs/coord/claims")
    lines = (pair.alpha.path / ".git/coord/commits").read_text().splitlines()
    assert lines[-2:] == [f"commit {new} {claims} 0 alpha", f"rewrite {old} {new} {claims} 0 alpha"]


def test_another_program_that_replaced_our_hook_is_chained_again_and_nothing_is_overwritten(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    hook = hooks_of(pair.alpha) / "pre-commit"
    put(hook, "#!/bin/sh\n# first\n")
    install(app)
    put(hook, "#!/bin/sh\n# second\n")
    before = picture(hooks_of(pair.alpha))
    with pytest.raises(CoordError) as caught:
        install(app)
    assert (caught.value.kind, caught.value.message) == (
        Kind.ERROR,
        f"{hook} is not ours, and there is a pre-commit.coord-prior already",
    )
    assert picture(hooks_of(pair.alpha)) == before


@pytest.mark.parametrize("scope", ["--local", "--global", "--worktree"])
@pytest.mark.parametrize("exists", [True, False])
def test_tracked_hooks_are_refused_with_scope_and_the_lines_to_add(pair: Pair, scope: str, exists: bool) -> None:
    if exists:
        put(pair.alpha.path / ".githooks/pre-commit", "#!/bin/sh\nexit 0\n")
        pair.alpha.git("add", ".githooks")
        assert commit(pair.alpha, "-m", "hooks").code == 0
    pair.alpha.git("config", "extensions.worktreeConfig", "true")
    pair.alpha.git("config", scope, "core.hooksPath", ".githooks")
    with pytest.raises(CoordError) as caught:
        install(open_here(pair.alpha))
    assert caught.value.kind is Kind.ERROR
    assert caught.value.data["scope"] == scope.removeprefix("--")
    assert caught.value.data["lines"][0] == 'pre-commit:  git-coord hook pre-commit "$@" || exit'
    assert f"({scope.removeprefix('--')} configuration)" in caught.value.message
    assert pair.alpha.git("status", "--porcelain") == ""


def test_the_lines_to_add_to_tracked_hooks_work_and_are_then_found_to_fire(pair: Pair) -> None:
    pair.alpha.git("config", "core.hooksPath", ".githooks")
    with pytest.raises(CoordError) as caught:
        install(open_here(pair.alpha))
    for line in caught.value.data["lines"]:
        name, _, command = line.partition(":  ")
        put(pair.alpha.path / ".githooks" / name, f"#!/bin/sh\n{command}\n")
    pair.alpha.git("add", ".githooks")
    assert commit(pair.alpha, "-n", "-m", "hooks").code == 0
    assert install(open_here(pair.alpha)).changed == ()
    assert {hook.is_firing for hook in status(open_here(pair.alpha))} == {True}
    stage(pair.beta, "a.txt")
    assert_blocked(commit(pair.beta, "-m", "x"), "a.txt")
    stage(pair.alpha, "b.txt")
    pair.alpha.git("commit", "-qm", "x")
    recorded = (pair.alpha.path / ".git/coord/commits").read_text().splitlines()[-1]
    assert recorded == f"commit {pair.alpha.rev('HEAD')} {pair.alpha.rev('refs/coord/claims')} 0 alpha"


def test_a_global_hooks_folder_is_used_with_a_word_and_stays_silent_elsewhere(pair: Pair, tmp_path: Path) -> None:
    shared = tmp_path / "shared hooks"
    pair.alpha.git("config", "--global", "core.hooksPath", str(shared))
    done = install(open_here(pair.alpha))
    assert done.folders == (str(shared),)
    assert done.warnings == (f"{shared} may serve other repositories too; in those the hooks do nothing",)
    stage(pair.beta, "a.txt")
    assert_blocked(commit(pair.beta, "-m", "x"), "a.txt")
    other = replace(pair.beta, path=tmp_path / "other")
    pair.beta.git("init", "-q", str(other.path))
    other.write("a.txt", "x\n")
    other.git("add", ".")
    assert_allowed(commit(other, "-m", "x"))
    assert sorted(path.name for path in (other.path / ".git").iterdir() if path.name == "coord") == []
    assert uninstall(open_here(pair.alpha)) == ()
    assert len(uninstall(open_here(pair.alpha), shared=True)) == len(HOOKS)


def test_what_was_in_a_shared_folder_still_runs_where_git_coord_is_not_used(pair: Pair, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    put(shared / "pre-commit", "#!/bin/sh\necho no >&2\nexit 1\n")
    pair.alpha.git("config", "--global", "core.hooksPath", str(shared))
    install(open_here(pair.alpha))
    other = replace(pair.beta, path=tmp_path / "other")
    pair.beta.git("init", "-q", str(other.path))
    done = commit(other, "--allow-empty", "-m", "x")
    assert (done.code, done.err) == (1, "no\n")


def test_hooks_set_for_one_worktree_do_not_leave_the_others_unguarded(pair: Pair, tmp_path: Path) -> None:
    uninstall(open_here(pair.alpha))
    tree = pair.alpha.worktree("W", agent="gamma")
    tree.git("config", "--worktree", "core.hooksPath", str(tmp_path / "own"))
    assert set(install(open_here(tree)).folders) == {str(tmp_path / "own"), str(hooks_of(pair.alpha))}
    for repo in (pair.beta, replace(tree, env=tree.env | {"GIT_COORD_AGENT": "beta"})):
        stage(repo, "a.txt")
        assert_blocked(commit(repo, "-m", "x"), "a.txt")


def test_a_relative_hooks_folder_that_other_worktrees_lack_is_refused(pair: Pair) -> None:
    pair.alpha.worktree("W", agent="gamma")
    pair.alpha.git("config", "core.hooksPath", ".git/own")
    with pytest.raises(CoordError) as caught:
        install(open_here(pair.alpha))
    assert caught.value.data["folder"] == str(pair.alpha.path.parent / "W/.git/own")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.unlink(), "is not there"),
        (lambda path: path.chmod(0o644), "is not executable, so git passes it over"),
        (lambda path: path.write_text("#!/bin/sh\nexit 1\n"), "is another program's"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")), "cannot be run"),
        (lambda path: path.write_text("#!/bin/sh\nexit 0 # git coord\n"), "does not reach git coord"),
    ],
    ids=["gone", "not executable", "replaced", "CRLF", "exits before"],
)
def test_status_runs_the_hook_and_says_why_it_does_not_fire(pair: Pair, damage, why: str) -> None:  # type: ignore[no-untyped-def]
    hook = hooks_of(pair.alpha) / "pre-commit"
    damage(hook)
    found = status(open_here(pair.alpha))[0]
    assert (found.name, found.is_firing) == ("pre-commit", False)
    assert found.text.startswith(f"pre-commit does not fire: {hook} {why}")


def test_status_does_not_run_what_was_there_before(pair: Pair) -> None:
    app = open_here(pair.alpha)
    uninstall(app)
    put(hooks_of(pair.alpha) / "pre-commit", "#!/bin/sh\ntouch ran\n")
    install(app)
    assert status(app)[0].text == "pre-commit fires"
    assert not (pair.alpha.path / "ran").exists()


def test_shims_are_executable_and_name_the_interpreter_and_guard_by_absolute_path(pair: Pair) -> None:
    path = hooks_of(pair.alpha) / "pre-commit"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    settings = next(line for line in path.read_text().splitlines() if line.startswith("hook="))
    words = dict(word.split("=", 1) for word in settings.split(" "))
    assert all(os.path.isabs(words[name]) and os.path.exists(words[name]) for name in ("python", "guard"))


def test_several_agents_installing_at_once_leave_one_shim_and_the_hook_that_was_there(pair: Pair) -> None:
    uninstall(open_here(pair.alpha))
    put(hooks_of(pair.alpha) / "pre-commit", "#!/bin/sh\n# theirs\n")
    started = [
        subprocess.Popen(
            ["git-coord", "hooks", "install"], cwd=pair.alpha.path, env=pair.alpha.env, stdout=subprocess.DEVNULL
        )
        for _ in range(6)
    ]
    assert [process.wait(PATIENCE) for process in started] == [0] * 6
    assert (hooks_of(pair.alpha) / "pre-commit.coord-prior").read_text() == "#!/bin/sh\n# theirs\n"
    assert sorted(picture(hooks_of(pair.alpha))) == sorted([*HOOKS, "pre-commit.coord-prior"])
    assert {hook.is_firing for hook in status(open_here(pair.alpha))} == {True}
