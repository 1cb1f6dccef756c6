"""Run the simulation, with claims or without or both, and print what came of it; exit 1 when something is wrong."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.helpers import seal
from tests.simulation.checks import faults
from tests.simulation.director import Director
from tests.simulation.ledger import Walk, walk
from tests.simulation.outcome import Figures, Outcome
from tests.simulation.plan import Plan, plan
from tests.simulation.stage import build

LEAST_COMMANDS = 20
"""How many commands one after the other a lease outlasts, at least."""
ROWS = (
    ("edits landed", "{0.landed}"),
    ("time to the last of them", "{0.seconds:.0f} s"),
    ("time for each", "{0.per_edit:.2f} s"),
    ("lost edits: overwritten in silence", "{0.lost_updates}"),
    ("lost edits: given up", "{0.unfinished}"),
    ("merge conflicts", "{0.conflicts}"),
    ("commits thrown away", "{0.thrown_away}"),
    ("of these by a kill, a stop, a cut line", "{0.by_trouble}"),
)


def simulate(folder: Path, env: dict[str, str], what: Plan, *, with_claims: bool) -> Outcome:
    """Set up and let it happen; where one command takes long, leases are longer, so that beats keep them alive."""
    stage = build(folder, env, what, with_claims=with_claims)
    begun = time.monotonic()
    stage.clones[what.agents[0]].coord("status")
    what = what._replace(ttl=max(what.ttl, round(LEAST_COMMANDS * (time.monotonic() - begun))))
    Director(stage, what, with_claims=with_claims).direct()
    return Outcome(stage, what)


def table(columns: dict[str, Figures]) -> str:
    """Return the figures as Markdown."""
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for name, words in ROWS:
        lines.append(f"| {name} | {' | '.join(words.format(figures) for figures in columns.values())} |")
    return "\n".join(lines)


def ledger_table(seen: Walk) -> str:
    """Return what the ledger says of the run with claims, as Markdown."""
    rows = {
        "positions of the ledger, each of them checked": seen.positions,
        "claims granted at once": seen.outcomes["claim granted"],
        "claims that waited": seen.queued,
        "of these granted in their turn": seen.served,
        "of these given up, or their time was over": seen.left.total(),
        "claims taken over": len(seen.taken),
        "takeovers refused, another was first or waits": seen.outcomes["takeover refused"],
    }
    return "\n".join(
        ["| with `git coord` | |", "|---|---|", *(f"| {name} | {count} |" for name, count in rows.items())]
    )


def main(args: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="for how long edits are begun (default %(default)s)")
    parser.add_argument("--agents", type=int, default=8, help="how many, 5 to 8 (default %(default)s)")
    parser.add_argument("--without", action="store_true", help="only the run without git coord")
    parser.add_argument("--with", dest="only_with", action="store_true", help="only the run with it")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep hub, clones and journals there")
    options = parser.parse_args(args)
    what = plan(options.seconds, options.agents)
    with tempfile.TemporaryDirectory(prefix="git-coord-simulation-") as scratch:
        return _run(options.keep or Path(scratch), what, not options.only_with, not options.without)


def _run(folder: Path, what: Plan, without: bool, with_claims: bool) -> int:
    columns, wrong, told = {}, list[str](), ""
    for name, wanted, claims in (("without `git coord`", without, False), ("with it", with_claims, True)):
        if not wanted:
            continue
        print(f"{what.seconds} s {name} …", file=sys.stderr, flush=True)
        place = folder / ("with" if claims else "without")
        place.mkdir(parents=True)
        home = place / "home"
        outcome = simulate(place, seal(home, os.environ), what, with_claims=claims)
        columns[name] = outcome.figures()
        if claims:
            seen = walk(outcome.stage.hub)
            wrong = faults(outcome, seen)
            told = ledger_table(seen)
    print("\n\n".join(filter(None, [table(columns), told])))
    print("".join(f"WRONG: {one}\n" for one in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
