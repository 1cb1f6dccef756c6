"""Measure the budgets and print them as a table; exit 1 when one is exceeded."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.lab import ROUNDS, Lab
from tests.bench.registry import Measured, Row, find_rows

HEADINGS = ("", "budget row", "measured", "at most", "medians", "reference, measured in the same run")


@dataclass(frozen=True)
class Result:
    """A row and what came of it."""

    row: Row
    measured: Measured

    @property
    def mark(self) -> str:
        """One word: `pass`, `over`, or `info` for a row that is not judged."""
        if self.row.limit is None:
            return "info"
        return "pass" if self.measured.value <= self.row.limit else "over"

    def cells(self) -> tuple[str, ...]:
        """Return what the table shows."""
        row = self.row
        return (
            self.mark,
            row.name,
            f"{self.measured.value:.2f} {row.unit}",
            row.budget,
            self.measured.detail,
            row.reference,
        )

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` shows."""
        row = self.row
        return {
            "name": row.name,
            "mark": self.mark,
            "value": round(self.measured.value, 4),
            "unit": row.unit,
            "limit": row.limit,
            "budget": row.budget,
            "detail": self.measured.detail,
            "reference": row.reference,
        }


def table(results: list[Result]) -> str:
    """Return the results with aligned columns."""
    lines = [HEADINGS, *(result.cells() for result in results)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def measure(rows: list[Row], rounds: int) -> list[Result]:
    """Measure the rows one after the other in one scratch folder, which is removed."""
    results = []
    with tempfile.TemporaryDirectory(prefix="git-coord-bench-") as folder:
        lab = Lab(Path(folder), rounds)
        for row in rows:
            print(f"measuring {row.name} …", file=sys.stderr, flush=True)
            results.append(Result(row, row.measure(lab)))
    return results


def main(args: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", default="*", help="rows whose name contains this (a glob)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="measurements of each command (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args(args)
    rows = find_rows(options.only)
    if not rows:
        parser.error(f"no row matches {options.only!r}")
    results = measure(rows, options.rounds)
    ok = all(result.mark != "over" for result in results)
    if options.json:
        print(json.dumps({"ok": ok, "rows": [result.as_json() for result in results]}, indent=2, ensure_ascii=False))
    else:
        print(table(results))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
