"""A hub with two members, alpha holding `a.txt`, and the hook managers of other people beside our hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.company import tools as managers
from tests.company.tools import Tools
from tests.helpers.registries import shared_folder
from tests.verify import stage as stages
from tests.verify.stage import Stage


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Return the hook managers; shared by all processes of a run."""
    return managers.install(shared_folder(tmp_path_factory))


@pytest.fixture(scope="session")
def company_template(tmp_path_factory: pytest.TempPathFactory, _sealed_session: None) -> Path:
    folder = tmp_path_factory.mktemp("company")
    stages.build(folder)
    return folder


@pytest.fixture
def stage(company_template: Path, tmp_path: Path, env: dict[str, str]) -> Stage:
    """Return a stage of one's own; our hooks are installed in both clones."""
    return stages.copy(company_template, tmp_path, env)
