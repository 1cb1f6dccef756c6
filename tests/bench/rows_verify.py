"""`git coord verify` of a thousand commits pushed in fifty goes, against git's own list of what they touched."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.helpers import Repo

COMMITS, PUSHES = 1000, 50
RANGE = "main~1000..main"


def stream(start: str, first: int) -> Iterator[str]:
    """Yield a fast-import stream of one push: twenty commits, each with a claimed file and another one."""
    for number in range(first, first + COMMITS // PUSHES):
        yield f"commit refs/heads/main\ncommitter A U Thor <author@example.com> {1_700_000_000 + number} +0000\n"
        yield f"data <<.\ncommit {number}\n.\n" + (f"from {start}\n" if number == first else "")
        for path in (f"src/file{number % 100}.py", f"docs/page{number % 100}.md"):
            yield f"M 100644 inline {path}\ndata <<.\n{number}\n.\n"


def build(lab: Lab) -> Repo:
    """Return a clone of a hub with the commits, their receipts, and a claim placed before every other push."""
    hub, repo = lab.repo("verify-hub", "--bare"), lab.repo("verify")
    repo.git("remote", "add", "origin", str(hub.path))
    repo.commit("first", **{"README.md": "hello\n"})
    repo.git("push", "-q", "origin", "main")
    _coord(repo, "init", "--agent", "alpha")
    for first in range(1, COMMITS, COMMITS // PUSHES):
        if first // (COMMITS // PUSHES) % 2 == 0:
            _coord(repo, "claim", "src")
        start = repo.rev("main")
        repo.git("fast-import", "--quiet", input="".join(stream(start, first)))
        head = repo.rev("refs/coord/claims")
        with (repo.path / ".git/coord/commits").open("a") as notebook:
            for commit in repo.git("rev-list", f"{start}..main").split():
                notebook.write(f"commit {commit} {head} 0 alpha\n")
        _coord(repo, "sync")
    return repo


def _coord(repo: Repo, *args: str) -> None:
    done = repo.coord(*args)
    assert done.code == 0, done


@row(
    "verify: 1,000 commits in 50 pushes",
    budget="2 x + 0.3 s",
    limit=0.3,
    reference="git log --name-only of the same",
    unit="s",
)
def thousand(lab: Lab) -> Measured:
    """Judge all of them, fetch included; the value is what it takes beyond twice the reference."""
    repo = build(lab)
    answer = repo.coord_json("verify", RANGE)
    assert (answer["commits"], answer["violations"]) == (COMMITS, [])
    times = lab.interleave(
        {
            "verify": lambda: repo.run("git", "coord", "verify", RANGE, check=True),
            "log": lambda: repo.git("log", "--name-only", RANGE),
        },
        rounds=7,
    )
    ours, theirs = median(times["verify"]), median(times["log"])
    return Measured(ours - 2 * theirs, f"{ours * 1000:.0f} ms, git log {theirs * 1000:.0f} ms")
