"""Scenes in memory: with a hub and clones, or one repository for all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.scene import Desk, Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a hub; every agent has a clone of its own."""
    return Scene(tmp_path)


@pytest.fixture
def local(tmp_path: Path) -> Scene:
    """Return one repository without a remote, shared by all agents."""
    return Scene(tmp_path, with_hub=False)


@pytest.fixture(params=["hub", "local"])
def team(request: pytest.FixtureRequest, scene: Scene, local: Scene) -> list[Desk]:
    """Return alpha (with the policy key), beta and gamma: in clones of one hub, and in one repository."""
    return (scene if request.param == "hub" else local).joined("alpha", "beta", "gamma")
