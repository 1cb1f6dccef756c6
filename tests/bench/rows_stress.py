"""Many processes on one repository: every claim is in the ledger, and some order explains every answer."""

from __future__ import annotations

from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.linear.checker import is_linearizable
from tests.linear.many import run_crew

PROCESSES, TURNS = 128, 10


@row("stress: 128 processes", budget="none lost, linearizable", limit=0.0, unit="", reference="-")
def stress(lab: Lab) -> Measured:
    """Claim and release ten times in each of 128 processes; count what is missing, or no order explains."""
    done = run_crew(lab.repo("stress"), lab.folder, PROCESSES, TURNS)
    wrong = len(done.missing) + sum(code != 0 for code in done.codes) + (not is_linearizable(done.history))
    granted = sum(op.result == "granted" for op in done.history)
    told = f"{len(done.history)} operations, {granted} granted, {done.commits} commits, {done.took:.1f} s"
    return Measured(wrong, told)
