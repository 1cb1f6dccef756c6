"""One founded world for the session, and a copy of it for each test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.shapes.world import World, copy, found


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("world")
    found(folder, dict(os.environ) | {"XDG_STATE_HOME": str(folder / "state")})
    return folder


@pytest.fixture
def world(template: Path, tmp_path: Path, env: dict[str, str]) -> World:
    return copy(template, tmp_path, env)
