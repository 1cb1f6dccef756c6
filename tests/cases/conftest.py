"""The setting of the cases: a hub, alpha holding `a.txt`, beta, hooks installed, both in step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify import stage as stages
from tests.verify.stage import Stage


@pytest.fixture(scope="session")
def cases_template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    stages.build(folder)
    return folder


@pytest.fixture
def stage(cases_template: Path, tmp_path: Path, env: dict[str, str]) -> Stage:
    return stages.copy(cases_template, tmp_path, env)
