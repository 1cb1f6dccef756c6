"""Many clones claim at once through one remote: helping against plain retry, in pushes for each claim and in time."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.helpers import Repo
from tests.helpers.repo import hub_with_clones

CLONES = 16
LEDGER = "refs/plain/ledger"
WRAPPER = """#!/bin/sh
case " $* " in *" push "*) echo push >>"{log}" ;; esac
exec "{git}" "$@"
"""


def counting(lab: Lab, repo: Repo, log: Path) -> Repo:
    """Return the repository with a `git` first on its path that counts pushes."""
    folder = lab.folder / f"count-{log.stem}"
    folder.mkdir(exist_ok=True)
    git = shutil.which("git", path=repo.env["PATH"])
    wrapper = folder / "git"
    wrapper.write_text(WRAPPER.format(log=log, git=git))
    wrapper.chmod(0o755)
    return Repo(repo.path, {**repo.env, "PATH": f"{folder}:{repo.env['PATH']}", "PYTHONDONTWRITEBYTECODE": ""})


def at_once(jobs: list[Callable[[], object]]) -> float:
    """Run the jobs together from a barrier; returns seconds from the start to the last end."""
    barrier = threading.Barrier(len(jobs) + 1)
    failed: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        barrier.wait()
        try:
            job()
        except BaseException as trouble:  # a bench must not count what failed
            failed.append(trouble)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return time.perf_counter() - start


def plain_claim(repo: Repo, number: int) -> None:
    """Claim as tools without helping do: fetch, commit on top, push with a lease, and again until it lands."""
    while True:
        repo.run("git", "fetch", "-q", "--no-tags", "origin", f"+{LEDGER}:{LEDGER}")
        head = repo.run("git", "rev-parse", "-q", "--verify", LEDGER).out.strip()
        tree = repo.git("rev-parse", "HEAD^{tree}")
        commit = repo.git("commit-tree", *(("-p", head) if head else ()), "-m", f"claim {number}", tree)
        if (
            repo.run("git", "push", "-q", f"--force-with-lease={LEDGER}:{head}", "origin", f"{commit}:{LEDGER}").code
            == 0
        ):
            return


def fleet(lab: Lab, name: str) -> tuple[Repo, list[Repo], Path]:
    """Return a hub, its clones, and the file that counts their pushes."""
    log = lab.folder / f"{name}.pushes"
    hub, *clones = hub_with_clones(lab.folder / name, lab.env, [f"agent{n}" for n in range(CLONES)])
    return hub, [counting(lab, clone, log) for clone in clones], log


@row("contention: 16 clones claim at once", budget="3 pushes a claim", limit=3.0, unit="", reference="plain retry")
def contention(lab: Lab) -> Measured:
    """Claim one file each, all at the same moment; beside it the same with fetch, commit, push, retry."""
    _, clones, log = fleet(lab, "helping")
    for number, clone in enumerate(clones):
        clone.run("git", "coord", "init", "--agent", f"agent{number}", check=True)
    log.unlink(missing_ok=True)
    ours = at_once([partial(clone.run, "git-coord", "claim", f"f{n}", check=True) for n, clone in enumerate(clones)])
    pushes = len(log.read_text().split())
    _, plain, plain_log = fleet(lab, "plain")
    theirs = at_once([partial(plain_claim, clone, number) for number, clone in enumerate(plain)])
    retried = len(plain_log.read_text().split())
    detail = (
        f"{pushes} pushes in {ours:.1f} s; plain retry {retried} ({retried / CLONES:.1f} a claim) in {theirs:.1f} s"
    )
    return Measured(pushes / CLONES, detail)
