"""The real hook managers, from their registries: installed once for a run of the tests, whatever asks first."""

from __future__ import annotations

import json
import os
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.helpers.registries import attempt, npm_install

PYTHON = ("pre-commit>=4,<5", "lefthook>=2,<3")
NODE = ("husky@9",)


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
            if why := npm_install(folder / "node", NODE):
                missing["husky"] = why
            note.write_text(json.dumps(missing))
    return Tools(folder, json.loads(note.read_text()))


def _python(folder: Path) -> str | None:
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin/python")]
    return attempt([*pip, "install", "--quiet", *PYTHON])
