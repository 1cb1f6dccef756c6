"""The real hook managers, from their registries: installed once for a run of the tests, whatever asks first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

OUTER = dict(os.environ)
"""The environment before the tests are sealed: it says where the registries are."""
PYTHON = ("pre-commit>=4,<5", "lefthook>=2,<3")
NODE = ("husky@9",)
SECONDS = 120


@dataclass(frozen=True)
class Tools:
    """Where they lie, and for each that is missing the reason."""

    folder: Path
    missing: dict[str, str]

    def path(self, path: str) -> str:
        """Return a PATH with the managers on it, where they belong to the user and not to the project."""
        return f"{self.folder / 'python/bin'}{os.pathsep}{self.folder / 'node/node_modules/.bin'}{os.pathsep}{path}"

    def need(self, name: str) -> None:
        """Skip the test when this one is missing."""
        if name in self.missing:
            pytest.skip(self.missing[name])


def install(root: Path) -> Tools:
    """Install all, unless another process of the run has done it."""
    folder, note = root / "hook-managers", root / "hook-managers.json"
    with FileLock(root / "hook-managers.lock"):
        if not note.exists():
            why = _python(folder / "python")
            missing = {"pre-commit": why, "lefthook": why} if why else {}
            if why := _node(folder / "node"):
                missing["husky"] = why
            note.write_text(json.dumps(missing))
    return Tools(folder, json.loads(note.read_text()))


def _python(folder: Path) -> str | None:
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin/python")]
    return _run([*pip, "install", "--quiet", *PYTHON])


def _node(folder: Path) -> str | None:
    npm = shutil.which("npm", path=OUTER.get("PATH"))
    if npm is None:
        return "npm is not installed"
    folder.mkdir(parents=True)
    return _run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *NODE])


def _run(command: list[str]) -> str | None:
    """Return why a command failed, None when it did not."""
    try:
        done = subprocess.run(command, env=OUTER, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as trouble:
        return f"{command[0]}: {trouble}"
    said = [*done.stderr.splitlines(), *done.stdout.splitlines(), "no reason given"]
    reason = next((line for line in said if "error" in line.lower()), said[0])
    return f"cannot be installed here: {reason}" if done.returncode else None
