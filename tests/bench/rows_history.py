"""A long history of the user's own must not make a ledger push or fetch slow: 100,000 commits against 100."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.helpers import Repo

MANY, FEW = 100_000, 100
CLAIMS, TRACKING = "refs/coord/claims", "refs/coord-remote/claims"
# The one line of section 2 of the design, each way.
PUSH = (
    *("-c", "push.pushOption=", "-c", "push.negotiate=false"),
    *("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"),
)
FETCH = (
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.logAllRefUpdates=false"),
    *("fetch", "--prune", "--no-tags", "--no-filter", "--no-recurse-submodules", "--no-write-fetch-head"),
    "--negotiation-tip=refs/coord-remote/*",
)
FAMILIES = (
    "+refs/coord/claims*:refs/coord-remote/claims*",
    "+refs/coord/requests/*:refs/coord-remote/requests/*",
    "+refs/coord/posts/*:refs/coord-remote/posts/*",
)
OLD = "@86400 +0000"
"""A constant date near the epoch, the tempting way to hide the ledger at the end of `git log --all`."""
REFERENCE = "the same bare command with 100 user commits"


def now() -> str:
    """Return the date of a ledger commit as the design wants it: current."""
    return f"@{int(time.time())} +0000"


@dataclass
class Fleet:
    """A hub with a user history and two clones that know its ledger; `placed` counts ledger commits."""

    lab: Lab
    hub: Repo
    writer: Repo
    reader: Repo
    date: Callable[[], str]
    placed: int = field(default=0)

    def step(self) -> str:
        """Add a ledger commit in the writer, on the head it last pushed, and return it."""
        self.placed += 1
        blob = self.writer.git("hash-object", "-w", "--stdin", input=f"operation {self.placed}\n")
        tree = self.writer.git("mktree", input=f"100644 blob {blob}\top\n")
        head = self.writer.run("git", "rev-parse", "-q", "--verify", TRACKING).out.strip()
        dated = self.writer.with_env(GIT_AUTHOR_DATE=self.date(), GIT_COMMITTER_DATE=self.date())
        return dated.git("commit-tree", *(("-p", head) if head else ()), "-m", f"#{self.placed} alpha claims a", tree)

    def push(self) -> None:
        """Push one new ledger commit with an exact lease; only the push is timed."""
        commit = self.step()
        old = self.writer.run("git", "rev-parse", "-q", "--verify", TRACKING).out.strip()
        with self.lab.timed():
            self.writer.git(*PUSH, f"--force-with-lease={CLAIMS}:{old}", str(self.hub.path), f"{commit}:{CLAIMS}")
        self.writer.git("update-ref", TRACKING, commit, old)

    def fetch(self) -> None:
        """Fetch one new ledger commit; only the fetch is timed."""
        self.push_unmeasured()
        with self.lab.timed():
            self.reader.git(*FETCH, str(self.hub.path), *FAMILIES)
        assert self.reader.rev(TRACKING) == self.hub.rev(CLAIMS)

    def push_unmeasured(self) -> None:
        """Give the reader something to fetch."""
        commit = self.step()
        self.writer.git("push", "-q", str(self.hub.path), f"{commit}:{CLAIMS}")
        self.writer.git("update-ref", TRACKING, commit)


def history(count: int) -> Iterator[str]:
    """Yield a fast-import stream: a line of commits a minute apart up to now, over a hundred files in ten folders."""
    first = int(time.time()) - 60 * count
    for number in range(1, count + 1):
        path, text = f"src/{number % 10}/file{number % 100}.py", f"line {number}\n"
        yield f"commit refs/heads/main\ncommitter A U Thor <author@example.com> {first + 60 * number} +0000\n"
        yield f"data <<.\ncommit {number}\n.\nM 100644 inline {path}\ndata {len(text)}\n{text}\n"


def make_fleet(lab: Lab, count: int, date: Callable[[], str], name: str) -> Fleet:
    """Build hub and clones; the history itself is imported once for each length and then linked."""
    source = lab.folder / f"history-{count}"
    if not source.exists():
        base = lab.repo(source.name, "--bare")
        base.git("fast-import", "--quiet", input="".join(history(count)))
    base = Repo(source, lab.env)
    paths = [lab.folder / f"{name}-{count}-{part}" for part in ("hub", "writer", "reader")]
    base.git("clone", "-q", "--bare", str(source), str(paths[0]))
    for path in paths[1:]:
        base.git("clone", "-q", str(paths[0]), str(path))
    hub, writer, reader = (Repo(path, lab.env) for path in paths)
    fleet = Fleet(lab, hub, writer, reader, date)
    fleet.push()
    # Without a first ref to name, negotiation would be over the user's commits: what only the very first fetch pays.
    fleet.reader.git("fetch", "-q", "--no-tags", str(paths[0]), f"+{CLAIMS}:{TRACKING}")
    return fleet


def compare(lab: Lab, date: Callable[[], str], name: str, verb: Callable[[Fleet], None]) -> Measured:
    """Return large against small, measured in turn."""
    fleets = {count: make_fleet(lab, count, date, name) for count in (MANY, FEW)}
    times = lab.interleave({str(count): partial(verb, fleet) for count, fleet in fleets.items()})
    return Measured.ratio(times[str(MANY)], times[str(FEW)])


@row("history: ledger push, 100,000 user commits", budget="2 x", limit=2.0, reference=REFERENCE)
def push_current(lab: Lab) -> Measured:
    """Push with current dates: what the design chose."""
    return compare(lab, now, "push", Fleet.push)


@row("history: ledger fetch, 100,000 user commits", budget="2 x", limit=2.0, reference=REFERENCE)
def fetch_current(lab: Lab) -> Measured:
    """Fetch with current dates: what the design chose."""
    return compare(lab, now, "fetch", Fleet.fetch)


@row("history: push, constant old date", budget="why not", limit=None, reference=REFERENCE)
def push_old(lab: Lab) -> Measured:
    """Push with a constant old date: why the design does not."""
    return compare(lab, lambda: OLD, "push-old", Fleet.push)


@row("history: fetch, constant old date", budget="why not", limit=None, reference=REFERENCE)
def fetch_old(lab: Lab) -> Measured:
    """Fetch with a constant old date: why the design does not."""
    return compare(lab, lambda: OLD, "fetch-old", Fleet.fetch)
