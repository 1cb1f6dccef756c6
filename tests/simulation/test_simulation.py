"""The simulation in small: what holds of a run with claims, and that its checks see what they are there for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.__main__ import simulate
from tests.simulation.checks import faults
from tests.simulation.ledger import walk
from tests.simulation.plan import plan


@pytest.mark.slow
@pytest.mark.timeout(1500)  # a minute or two where other work goes on beside it
def test_of_agents_that_are_killed_stopped_and_cut_off_nothing_is_lost_and_nobody_is_passed(
    tmp_path: Path, env: dict[str, str]
) -> None:
    outcome = simulate(tmp_path, env, plan(20, 5), with_claims=True)
    assert faults(outcome, walk(outcome.stage.hub)) == []
    assert outcome.figures().landed > 0
