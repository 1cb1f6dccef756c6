"""Scenes in memory: with a hub and clones, or one repository for all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a hub; every agent has a clone of its own."""
    return Scene(tmp_path)


@pytest.fixture
def local(tmp_path: Path) -> Scene:
    """Return one repository without a remote, shared by all agents."""
    return Scene(tmp_path, with_hub=False)
