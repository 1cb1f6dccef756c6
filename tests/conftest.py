"""Every test runs sealed: its own home, its own git configuration, an empty folder to stand in."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.helpers import Repo, hub_with_clones, new_repo, seal, warm
from tests.helpers.seal import replace_environ
from tests.helpers.waiter import Waiters

if TYPE_CHECKING:
    from tests.verify.stage import Stage


settings.register_profile("repeatable", derandomize=True)
settings.register_profile("hunt", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
"""What a run finds depends on what was changed, never on luck; `HYPOTHESIS_PROFILE=hunt` looks further each time."""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Return a folder for sockets: the path of one has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        yield Path(folder)


@pytest.fixture
def start() -> Iterator[Waiters]:
    """Return what starts a waiter of the command line; none outlives the test."""
    waiters = Waiters()
    yield waiters
    waiters.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each process of a parallel run begin with what takes longest: none works alone at the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> float:
    slow = item.get_closest_marker("slow")
    return 0 if slow is None else slow.args[0] if slow.args else 1


@pytest.fixture(autouse=True, scope="session")
def _sealed_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Seal what runs outside a test's own seal: fixtures that several tests share."""
    _hear_signals()
    before = dict(os.environ)
    replace_environ(os.environ, seal(tmp_path_factory.mktemp("session"), before))
    for name in ("LINES", "COLUMNS"):  # GNU readline puts these where os.environ does not see them
        os.unsetenv(name)
    with warm.serving(os.environ):
        yield
    replace_environ(os.environ, before)


def _hear_signals() -> None:
    """Undo what `nohup` and a job in the background leave to all their children: no shell can trap what it ignores."""
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, default)


@pytest.fixture(autouse=True)
def env(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Iterator[dict[str, str]]:
    """Return the sealed environment: a dict for subprocesses, equal to `os.environ` for tests in this process."""
    before, cwd = dict(os.environ), Path.cwd()
    home = tmp_path_factory.mktemp("home")
    sealed = seal(home, before)
    # The path is already sealed once; a second copy of its first entry would only slow lookups down.
    sealed["PATH"] = before["PATH"]
    replace_environ(os.environ, sealed)
    # An empty folder: a test that forgets to say where must not find this project's repository.
    empty = home / "empty"
    empty.mkdir()
    os.chdir(empty)
    yield sealed
    os.chdir(cwd)
    replace_environ(os.environ, before)


@pytest.fixture
def repo(tmp_path: Path, env: dict[str, str]) -> Repo:
    """Return a repository with one commit on main."""
    made = new_repo(tmp_path / "repo", env)
    made.commit("first", **{"README.md": "hello\n"})
    return made


@pytest.fixture(scope="session")
def stage_template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    """Return a folder with a hub and two members, of whom one holds a file; made once for the suites that use it."""
    from tests.verify import stage as stages  # noqa: PLC0415 - not for those who need none

    folder = tmp_path_factory.mktemp("stage")
    stages.build(folder)
    return folder


@pytest.fixture
def stage(stage_template: Path, tmp_path: Path, env: dict[str, str]) -> Stage:
    """Return a stage of one's own; our hooks are installed in both clones."""
    from tests.verify import stage as stages  # noqa: PLC0415

    return stages.copy(stage_template, tmp_path, env)


@pytest.fixture
def hub_and_clones(tmp_path: Path, env: dict[str, str]) -> Callable[..., tuple[Repo, ...]]:
    """Return a factory: `hub, alpha, beta = hub_and_clones("alpha", "beta")`."""

    def make(*agents: str) -> tuple[Repo, ...]:
        return hub_with_clones(tmp_path, env, agents)

    return make
