"""The stage of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.verify import stage as stages
from tests.verify.stage import Stage


@pytest.fixture(scope="session")
def stage_template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("stage")
    stages.build(folder)
    return folder


@pytest.fixture
def stage(stage_template: Path, tmp_path: Path, env: dict[str, str]) -> Stage:
    return stages.copy(stage_template, tmp_path, env)
