"""What a row is, and the list of all rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.lab import Lab


@dataclass(frozen=True)
class Measured:
    """The value a row is judged by, and in words what it was made of."""

    value: float
    detail: str = ""

    @classmethod
    def ratio(cls, subject: Sequence[float], reference: Sequence[float]) -> Measured:
        """Compare the medians of two series of seconds."""
        ours, theirs = median(subject), median(reference)
        return cls(ours / theirs, f"{ours * 1000:.1f} ms / {theirs * 1000:.1f} ms, n={len(subject)}")


@dataclass(frozen=True)
class Row:
    """One budget. `limit` is what `budget` says as a number; None makes the row informational."""

    name: str
    budget: str
    reference: str
    limit: float | None
    unit: str
    measure: Callable[[Lab], Measured]


ROWS: list[Row] = []


def row(
    name: str, *, budget: str, reference: str, limit: float | None, unit: str = "x"
) -> Callable[[Callable[[Lab], Measured]], Callable[[Lab], Measured]]:
    """Register the decorated function as a row."""

    def register(measure: Callable[[Lab], Measured]) -> Callable[[Lab], Measured]:
        assert name not in {known.name for known in ROWS}, f"two rows are named {name!r}"
        ROWS.append(Row(name, budget, reference, limit, unit, measure))
        return measure

    return register


def find_rows(pattern: str = "*") -> list[Row]:
    """Load every `rows_…` module; return the rows whose name matches the glob, or contains it."""
    for path in sorted(Path(__file__).parent.glob("rows_*.py")):
        importlib.import_module(f"tests.bench.{path.stem}")
    return [known for known in ROWS if fnmatch(known.name, f"*{pattern}*")]
