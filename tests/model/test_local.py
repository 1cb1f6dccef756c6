"""Agents that share one repository without a remote."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings

from .machine import Machine


class LocalMachine(Machine):
    """One repository, four desks in it, one of them a second session's worktree of the first agent."""

    CLONES: ClassVar = {"one": ("alpha", "beta", "gamma", "alpha@2")}


@pytest.mark.slow(10)
class TestLocal(LocalMachine.TestCase):  # type: ignore[name-defined,misc]
    """Run by the name that pytest looks for."""

    settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
