"""lefthook and pre-commit beside our hooks, in either order, made anew, and taken away again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.company.desk import Desk, assert_guarded, assert_refused, desk
from tests.company.tools import Tools
from tests.verify.stage import Stage, succeed

pytestmark = pytest.mark.slow

LEFTHOOK_CONFIG = "{hook}:\n  jobs:\n    - run: echo {word} {hook} >>$LOG\n"


def _lefthook(word: str) -> tuple[str, str]:
    hooks = ("pre-commit", "pre-push")
    return "lefthook.yml", "".join(LEFTHOOK_CONFIG.format(hook=hook, word=word) for hook in hooks)


def _pre_commit(word: str) -> tuple[str, str]:
    """JSON is YAML."""
    rules = {"language": "system", "always_run": True, "pass_filenames": False}
    hooks = [
        {"id": hook, "name": hook, "stages": [hook], "entry": f"sh -c 'echo {word} {hook} >>$LOG'", **rules}
        for hook in ("pre-commit", "pre-push")
    ]
    return ".pre-commit-config.yaml", json.dumps({"repos": [{"repo": "local", "hooks": hooks}]})


@dataclass(frozen=True)
class Manager:
    """How one is told what to run, installed, and taken away."""

    name: str
    config: Callable[[str], tuple[str, str]]
    install: tuple[str, ...]
    uninstall: tuple[str, ...]
    calls_who_was_there: bool
    """Whether a hook that it finds goes on running."""

    def configure(self, desk: Desk, word: str) -> None:
        """Say what to run, in a commit past all hooks."""
        path, text = self.config(word)
        desk.repo.write(path, text)
        desk.repo.git("add", path)
        desk.repo.git("commit", "-q", "--no-verify", "-m", "configure")
        desk.repo.git("push", "-q", "--no-verify", "origin", "HEAD:refs/heads/configured")

    def put(self, desk: Desk) -> None:
        desk.repo.run(self.name, *self.install, check=True)

    def take(self, desk: Desk) -> None:
        desk.repo.run(self.name, *self.uninstall, check=True)


BOTH = ("-t", "pre-commit", "-t", "pre-push")
MANAGERS = {
    "lefthook": Manager("lefthook", _lefthook, ("install",), ("uninstall",), False),
    "pre-commit": Manager("pre-commit", _pre_commit, ("install", *BOTH), ("uninstall", *BOTH), True),
}


@pytest.fixture(params=MANAGERS)
def manager(request: pytest.FixtureRequest, tools: Tools) -> Manager:
    """Return each that could be installed."""
    tools.need(request.param)
    return MANAGERS[request.param]


@pytest.fixture
def place(stage: Stage, tools: Tools) -> Desk:
    return desk(stage, tools.path(stage.beta.env["PATH"]))


def firing(desk: Desk) -> dict[str, bool]:
    done = desk.repo.coord("hooks", "status", "--json")
    return {row["hook"]: row["fires"] for row in json.loads(done.out)["hooks"]}


def test_installed_after_another_manager_both_run_and_uninstalling_restores_its_hooks(
    manager: Manager, place: Desk
) -> None:
    manager.configure(place, manager.name)
    manager.put(place)
    before = place.hooks()
    succeed(place.repo, "hooks", "install")
    installed = place.hooks()
    assert set(firing(place).values()) == {True}
    assert_guarded(place, manager.name)
    succeed(place.repo, "hooks", "install")
    assert place.hooks() == installed
    succeed(place.repo, "hooks", "uninstall")
    assert place.hooks() == before
    manager.take(place)
    assert place.hooks() == {}


def test_a_manager_that_comes_after_us_is_found_out_where_it_runs_us_no_more(manager: Manager, place: Desk) -> None:
    manager.configure(place, manager.name)
    manager.put(place)
    alone = place.hooks()
    manager.take(place)
    succeed(place.repo, "hooks", "install")
    manager.put(place)
    assert firing(place) == {
        hook: manager.calls_who_was_there or hook not in ("pre-commit", "pre-push") for hook in firing(place)
    }
    succeed(place.repo, "hooks", "install")
    assert set(firing(place).values()) == {True}
    assert_guarded(place, manager.name)
    succeed(place.repo, "hooks", "uninstall")
    assert place.hooks() == alone
    manager.take(place)
    assert place.hooks() == {}


def test_a_manager_that_makes_its_hooks_anew_is_chained_again_by_another_install(manager: Manager, place: Desk) -> None:
    manager.configure(place, "old")
    manager.put(place)
    before = place.hooks()
    succeed(place.repo, "hooks", "install")
    manager.configure(place, "new")
    manager.put(place)
    succeed(place.repo, "hooks", "install")
    assert set(firing(place).values()) == {True}
    assert_guarded(place, "new")
    succeed(place.repo, "hooks", "uninstall")
    assert place.hooks() == before


def test_a_first_door_that_lefthook_has_taken_by_itself_leaves_the_next_ones(place: Desk, tools: Tools) -> None:
    tools.need("lefthook")
    lefthook = MANAGERS["lefthook"]
    lefthook.configure(place, "old")
    lefthook.put(place)
    succeed(place.repo, "hooks", "install")
    path, text = lefthook.config("new")
    written = place.repo.write(path, text.partition("pre-push")[0])
    os.utime(written, (time.time() + 10, time.time() + 10))  # lefthook compares contents once the time has changed
    place.repo.git("add", path)
    # With a changed configuration lefthook makes its hooks anew while it runs as one, and ours is one no more.
    place.repo.git("commit", "-q", "-m", "configure")
    assert place.commit("a.txt").code == 0
    assert firing(place)["pre-commit"] is False
    assert_refused_at_push(place)
    answer = place.repo.coord_json("verify", "HEAD~1..HEAD", code=3)
    assert [(row["path"], row["holder"]) for row in answer["violations"]] == [("a.txt", "alpha")]
    place.repo.git("reset", "-q", "--hard", "HEAD~1")
    succeed(place.repo, "hooks", "install")
    assert_refused(place.commit("a.txt"))


def assert_refused_at_push(place: Desk) -> None:
    done = place.push()
    assert (done.code, done.err.count("a.txt   held by alpha #1")) == (1, 1), done


def test_a_hook_that_somebody_wrote_runs_behind_us_and_pre_commit(place: Desk, tools: Tools) -> None:
    tools.need("pre-commit")
    own = place.repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho own pre-commit >>$LOG\n")
    own.chmod(0o755)
    before = place.hooks()
    succeed(place.repo, "hooks", "install")
    MANAGERS["pre-commit"].configure(place, "framework")
    MANAGERS["pre-commit"].put(place)
    place.ran()
    assert_refused(place.commit("a.txt"))
    assert place.ran() == ["own pre-commit", "framework pre-commit"]
    assert place.commit("b.txt").code == 0
    assert place.ran() == ["own pre-commit", "framework pre-commit"]
    succeed(place.repo, "hooks", "uninstall")
    MANAGERS["pre-commit"].take(place)
    assert place.hooks() == before


def test_two_hooks_that_somebody_wrote_are_not_thrown_away_and_the_step_that_is_advised_helps(place: Desk) -> None:
    for word in ("first", "second"):
        hook = place.repo.write(".git/hooks/pre-commit", f"#!/bin/sh\necho {word} pre-commit >>$LOG\n")
        hook.chmod(0o755)
        done = place.repo.coord("hooks", "install", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["code"]) == (1, "error")
    step = answer["next"].partition("   ")[0]
    assert place.repo.run("sh", "-c", step).code == 0
    succeed(place.repo, "hooks", "install")
    assert_refused(place.commit("a.txt"))
    assert place.ran() == ["second pre-commit"]
