"""The shims when something is missing, and every switch that a message of ours mentions, tried."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.helpers import Repo

from git_coord.hooks.install import install

from .conftest import Pair, assert_allowed, assert_blocked, open_here
from .test_install import hooks_of, stage
from .test_which_paths import commit

GONE = "git coord: {hook} cannot run, /gone/python is gone; install git-coord again, then: git coord hooks install"


def without_interpreter(repo: Repo) -> Repo:
    """Break the recorded path, and take `git-coord` off PATH."""
    for hook in hooks_of(repo).iterdir():
        hook.write_text(hook.read_text().replace(f"python={sys.executable}", "python=/gone/python"))
    return repo.with_env(PATH="/usr/local/bin:/usr/bin:/bin")


def test_a_minimal_environment_is_enough(pair: Pair) -> None:
    stage(pair.beta, "a.txt")
    keep = ("HOME", "GIT_CONFIG_GLOBAL", "GIT_COORD_AGENT")
    poor = {key: pair.beta.env[key] for key in keep} | {"PATH": "/usr/bin:/bin"}
    assert_blocked(commit(Repo(pair.beta.path, poor), "-m", "x"), "a.txt")


def test_without_any_program_the_commit_is_refused_with_one_line_and_a_repair_that_works(pair: Pair) -> None:
    stage(pair.alpha, "b.txt")
    broken = without_interpreter(pair.alpha)
    done = commit(broken, "-m", "x")
    assert (done.code, done.err.splitlines()) == (
        1,
        [GONE.format(hook="pre-commit"), "bypass  GIT_COORD_BYPASS=1 git commit …"],
    )
    install(open_here(pair.alpha))
    assert_allowed(commit(broken, "-m", "x"))


@pytest.mark.parametrize(
    ("variable", "value", "err"),
    [
        ("GIT_COORD_BYPASS", "1", ""),
        ("GIT_COORD_MODE", "off", ""),
        ("GIT_COORD_MODE", "warn", f"{GONE.format(hook='pre-commit')}\nbypass  GIT_COORD_BYPASS=1 git commit …\n"),
    ],
)
def test_the_switches_work_without_any_program_too(pair: Pair, variable: str, value: str, err: str) -> None:
    stage(pair.beta, "a.txt")
    done = commit(without_interpreter(pair.beta).with_env(**{variable: value}), "-m", "x")
    assert (done.code, done.err) == (0, err)


def test_the_program_is_found_on_path_when_the_recorded_one_is_gone(pair: Pair) -> None:
    stage(pair.beta, "a.txt")
    without_interpreter(pair.beta)
    assert_blocked(commit(pair.beta, "-m", "x"), "a.txt")
    stage(pair.beta, "b.txt")
    pair.beta.git("restore", "--staged", "a.txt")
    assert_allowed(commit(pair.beta, "-m", "x"))


def test_the_program_is_found_where_pip_puts_it_for_one_user(pair: Pair) -> None:
    stage(pair.beta, "a.txt")
    poor = without_interpreter(pair.beta)
    folder = Path(poor.env["HOME"]) / ".local/bin"
    folder.mkdir(parents=True)
    (folder / "git-coord").symlink_to(Path(sys.executable).parent / "git-coord")
    assert_blocked(commit(poor, "-m", "x"), "a.txt")


@pytest.mark.parametrize("hook", ["pre-commit", "pre-merge-commit", "pre-push"])
def test_every_deciding_hook_refuses_when_it_cannot_run(pair: Pair, hook: str) -> None:
    done = without_interpreter(pair.alpha).run(f".git/hooks/{hook}", "origin", "url", input="")
    assert (done.code, done.err.splitlines()[0]) == (1, GONE.format(hook=hook))


def test_an_unmanaged_repository_is_left_alone_even_without_any_program(pair: Pair) -> None:
    pair.beta.git("config", "--unset", "coord.repo")
    stage(pair.beta, "a.txt")
    assert_allowed(commit(without_interpreter(pair.beta), "-m", "x"))


def test_the_bypass_passes_and_is_recorded(pair: Pair) -> None:
    stage(pair.beta, "a.txt")
    assert_allowed(commit(pair.beta.with_env(GIT_COORD_BYPASS="1"), "-m", "x"))
    line = (pair.beta.path / ".git/coord/commits").read_text().splitlines()[-1]
    assert line == f"commit {pair.beta.rev('HEAD')} {pair.beta.rev('refs/coord/claims')} 1 beta"


@pytest.mark.parametrize("by", ["environment", "config"])
@pytest.mark.parametrize(("mode", "code"), [("off", 0), ("warn", 0), ("block", 1)])
def test_each_mode_works_by_environment_and_by_configuration(pair: Pair, by: str, mode: str, code: int) -> None:
    beta = pair.beta
    if by == "config":
        beta.git("config", "coord.mode", mode)
    else:
        beta.git("config", "coord.mode", "off" if mode != "off" else "block")  # the environment comes first
        beta = beta.with_env(GIT_COORD_MODE=mode)
    stage(beta, "a.txt")
    done = commit(beta, "-m", "x")
    first = {"off": [], "warn": ["warning"], "block": ["commit refused"]}[mode]
    assert done.code == code
    assert done.err.splitlines()[:1] == [f"git coord: {word}, 1 of 1 paths is claimed" for word in first]


def test_a_mode_that_does_not_exist_blocks_and_says_so_once(pair: Pair) -> None:
    beta = pair.beta.with_env(GIT_COORD_MODE="blok")
    stage(beta, "a.txt")
    done = commit(beta, "-m", "x")
    assert_blocked(done, "a.txt")
    assert done.err.count("git coord: mode 'blok' is none of block, warn, off; taken as block\n") == 1


def test_without_a_name_every_claim_is_somebody_elses(pair: Pair) -> None:
    pair.alpha.git("config", "--unset", "coord.agent")
    nobody = pair.alpha.with_env(GIT_COORD_AGENT="")
    stage(nobody, "a.txt")
    done = commit(nobody, "-m", "x")
    assert_blocked(done, "a.txt")
    assert "  (no agent is set up in this worktree, so here every claim is somebody else's)\n" in done.err
    assert "next    git coord init\n" in done.err


def test_files_of_the_repository_are_never_imported(pair: Pair) -> None:
    for name in ("os.py", "click.py", "git_coord.py", "json.py", "site.py"):
        pair.beta.write(name, "raise SystemExit(0)\n")
    stage(pair.beta, "a.txt")
    assert_blocked(commit(pair.beta.with_env(PYTHONPATH=""), "-m", "x"), "a.txt")


def test_the_hooks_never_run_each_other_in_circles(pair: Pair) -> None:
    app = open_here(pair.alpha)
    hook = hooks_of(pair.alpha) / "pre-commit"
    os.link(hook, f"{hook}.keep")
    install(app)
    stage(pair.alpha, "b.txt")
    assert_allowed(commit(pair.alpha, "-m", "x"))
    assert not hook.with_name("pre-commit.coord-prior").exists()
