"""What a hook adds to a commit: the whole pre-commit shim with 1,000 live claims, of others and of one's own."""

from __future__ import annotations

import sys
from functools import cache
from statistics import median

from git_coord.guard.git import LEDGER_REFS
from git_coord.guard.snapshot import LiveItem, encode_claims
from git_coord.hooks.install import shim_text
from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.helpers import Repo

CLAIMS, PATHS = 1_000, 50_000
REFERENCE = "python -c pass + git diff-index --cached"
FAR = 2**40


@cache
def managed(lab: Lab) -> Repo:
    """Return a repository with the shim and the picture of 1,000 claims; the ledger itself is never read."""
    repo = lab.repo("guard")
    repo.commit("first", **{f"src/f{n}.py": "x\n" for n in range(10)})
    repo.git("config", "coord.repo", "00000000-0000-4000-8000-000000000000")
    repo.git("config", "coord.agent", "beta")
    repo.git("update-ref", LEDGER_REFS[0], "HEAD")
    refs = repo.git("for-each-ref", "--format=%(objectname) %(refname)", *LEDGER_REFS) + "\n"
    items: list[LiveItem] = [
        (b"lib/m%d/f%d.py" % (n % 40, n), b"P", b"e", b"beta" if n % 10 == 0 else b"alpha", n, FAR)
        for n in range(CLAIMS)
    ]
    repo.write(".git/coord/claims.snap", encode_claims("none", refs.encode(), items))
    repo.write(".git/hooks/pre-commit", shim_text("pre-commit")).chmod(0o755)
    repo.write("src/f0.py", "changed\n")
    repo.git("add", "src/f0.py")
    return repo


def bare(repo: Repo) -> None:
    """Do what nobody can do without: start Python, ask git what is staged."""
    repo.run(sys.executable, "-c", "pass", check=True)
    repo.git("diff-index", "--cached", "-z", "HEAD")


@row("guard: pre-commit, 1,000 live claims", budget="2.0 x (aim 1.3)", limit=2.0, reference=REFERENCE)
def pre_commit(lab: Lab) -> Measured:
    """Run the hook as git does, with the author date that git exports."""
    repo = managed(lab)
    hook = repo.with_env(GIT_AUTHOR_DATE="@1 +0000", GIT_INDEX_FILE=".git/index")
    times = lab.interleave(
        {"hook": lambda: hook.run(".git/hooks/pre-commit", check=True), "bare": lambda: bare(repo)},
        rounds=3 * lab.rounds,
    )
    return Measured.ratio(times["hook"], times["bare"])


@row(
    "guard: pre-commit, 50,000 paths", budget="300 ms", limit=300, unit="ms", reference="none: a hook must feel instant"
)
def large_commit(lab: Lab) -> Measured:
    """Judge a commit of 50,000 paths: no list of paths is ever an argument, and none is looked at twice."""
    repo = managed(lab)
    blob = repo.git("hash-object", "-w", "--stdin", input="x")
    lines = "".join(f"100644 {blob}\tdata/d{n % 100}/f{n}\0" for n in range(PATHS))
    repo.git("update-index", "-z", "--index-info", input=lines)
    seconds = lab.interleave({"hook": lambda: repo.run(".git/hooks/pre-commit", check=True)}, warmups=1)["hook"]
    repo.git("read-tree", "HEAD")
    return Measured(median(seconds) * 1000, f"n={len(seconds)}")
