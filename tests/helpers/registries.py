"""Programs of others from their registries, for tests that drive the real ones: installed once a run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from filelock import FileLock

OUTER = dict(os.environ)
"""The environment before the tests are sealed: it says where the registries are."""
SECONDS = 120


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of a run have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in OUTER else base


def from_npm(root: Path, name: str, packages: Sequence[str]) -> tuple[Path, str]:
    """Install packages, unless another process of the run did; return the folder of programs, and why not, if not."""
    folder, note = root / name, root / f"{name}.why"
    with FileLock(root / f"{name}.lock"):
        if not note.exists():
            note.write_text(npm_install(folder, packages) or "")
    return folder / "node_modules/.bin", note.read_text()


def npm_install(folder: Path, packages: Sequence[str]) -> str | None:
    """Install packages into a folder; return why that failed, None when it did not."""
    npm = shutil.which("npm", path=OUTER.get("PATH"))
    if npm is None:
        return "npm is not installed"
    folder.mkdir(parents=True)
    return attempt([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages])


def attempt(command: list[str]) -> str | None:
    """Return why a command failed, None when it did not."""
    try:
        done = subprocess.run(command, env=OUTER, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as trouble:
        return f"{command[0]}: {trouble}"
    said = [*done.stderr.splitlines(), *done.stdout.splitlines(), "no reason given"]
    reason = next((line for line in said if "error" in line.lower()), said[0])
    return f"cannot be installed here: {reason}" if done.returncode else None
