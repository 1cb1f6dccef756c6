"""The hook managers of other people, beside our hooks."""

from __future__ import annotations

import pytest

from tests.company import tools as managers
from tests.company.tools import Tools
from tests.helpers.registries import shared_folder


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """Return the hook managers; shared by all processes of a run."""
    return managers.install(shared_folder(tmp_path_factory))
