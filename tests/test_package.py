"""What is shipped: the wheel holds the man page and the shims, and what it installs works without this checkout."""

from __future__ import annotations

import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo
from tests.helpers.repo import Completed, run
from tests.helpers.source import ROOT

pytestmark = pytest.mark.slow
SHIMS = sorted(path for path in (ROOT / "githooks").iterdir() if path.name[0] != ".")
OFFLINE = ("--no-deps", "--no-index", "--disable-pip-version-check", "-qq")


def pip(env: dict[str, str], *args: str) -> Completed:
    done = run([sys.executable, "-m", "pip", *args], cwd=Path(env["HOME"]), env=env)
    assert (done.code, done.out) == (0, ""), done
    return done


@pytest.fixture
def wheel(tmp_path: Path, env: dict[str, str]) -> Path:
    """Build the wheel as `make package` does."""
    pytest.importorskip("hatchling", reason="pip install -e '.[dev]' brings what builds the wheel")
    pip(env, "wheel", *OFFLINE, "--no-build-isolation", "-w", str(tmp_path / "wheels"), str(ROOT))
    [built] = (tmp_path / "wheels").iterdir()
    return built


def test_the_wheel_puts_the_command_the_man_page_and_the_shims_where_they_belong(
    wheel: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    with zipfile.ZipFile(wheel) as contents:
        names = set(contents.namelist())
        shims = {name: contents.read(name) for name in names if name.startswith("git_coord/githooks/")}
    page = (ROOT / "docs/git-coord.1").read_bytes()
    assert shims == {f"git_coord/githooks/{shim.name}": shim.read_bytes() for shim in SHIMS}
    assert f"{wheel.name.split('-py3')[0]}.data/data/share/man/man1/git-coord.1" in names
    assert {"git_coord/py.typed", "git_coord/__main__.py"} <= names
    carried = ("shell/git-coord.sh", "opencode/git-coord.js", "text/block.md", "text/SKILL.md")
    assert {f"git_coord/adapters/{name}" for name in carried} <= names
    assert [name for name in names if name.startswith("tests/") or name.endswith(".pyc")] == []

    place = tmp_path / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", str(place)], cwd=tmp_path, env=env)
    pip(env, "--python", str(place / "bin/python"), "install", *OFFLINE, str(wheel))
    assert (place / "share/man/man1/git-coord.1").read_bytes() == page
    installed = Repo(new_repo(tmp_path / "repo", env).path, _of(place, env))
    where = installed.run("python", "-c", "import git_coord; print(git_coord.__path__[0])", check=True).out
    assert where.startswith(f"{place}/lib/")
    assert installed.coord("-V").out.startswith("git-coord, version ")
    assert installed.coord("init", "--agent", "alpha").code == 0
    assert installed.coord("hooks", "install").code == 0
    installed.write("a.txt", "a\n")
    installed.git("add", "a.txt")
    assert installed.coord("claim", "a.txt").code == 0
    assert installed.run("git", "commit", "-q", "-m", "mine").code == 0


def _of(place: Path, env: dict[str, str]) -> dict[str, str]:
    """Return the environment in which that installation comes first, with the libraries that this one has."""
    path = [part for part in env["PATH"].split(":") if not Path(part, "git-coord").exists()]
    libraries = sysconfig.get_path("platlib")
    return {**env, "PATH": ":".join([str(place / "bin"), *path]), "PYTHONPATH": libraries}
