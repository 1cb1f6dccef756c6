"""What a claim costs: as one command, in this repository and through a remote."""

from __future__ import annotations

import itertools
import sys
from statistics import median

from git_coord.app import open_app
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base
from git_coord.service import claims
from git_coord.service.ledger import open_ledger
from git_coord.service.selection import by_item
from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.e2e.sshd import Sshd, sshd_program
from tests.helpers import Repo
from tests.helpers.repo import hub_with_clones

SPARE = 40
"""Files to claim one after the other, so that no claim replaces another."""


def ready(repo: Repo, agent: str) -> Repo:
    """Make a repository with files ready for an agent, its bytecode compiled as an installed program's is."""
    warm = Repo(repo.path, {**repo.env, "PYTHONDONTWRITEBYTECODE": ""})
    for number in range(SPARE):
        warm.write(f"src/file{number}.txt", f"{number}\n")
    warm.commit("files")
    warm.run("git", "coord", "init", "--agent", agent, check=True)
    return warm


def claim_and_release(repo: Repo, lab: Lab) -> None:
    """Time one claim; the release after it is not timed."""
    number = next(NUMBERS) % SPARE
    with lab.timed():
        repo.run("git", "coord", "claim", f"src/file{number}.txt", check=True)
    repo.run("git", "coord", "release", "--all", check=True)


NUMBERS = itertools.count()


@row("claim: local", budget="8 x", limit=8.0, reference="python -c pass")
def local_claim(lab: Lab) -> Measured:
    """Claim one file without a remote, as typed: `git coord claim FILE`."""
    repo = ready(lab.repo("claim-local"), "alpha")
    times = lab.interleave(
        {"claim": lambda: claim_and_release(repo, lab), "python": lambda: repo.run(sys.executable, "-c", "pass")}
    )
    return Measured.ratio(times["claim"], times["python"])


@row("claim: long-lived process", budget="5 ms", limit=5.0, unit="ms", reference="none: an absolute bound")
def long_lived_claim(lab: Lab) -> Measured:
    """Claim one file again and again with one app object: looked up, signed, written, ledger and requests moved."""
    repo = ready(lab.repo("claim-long-lived"), "alpha")
    app = open_app(str(repo.path), repo.env, long_lived=True)

    def claim() -> None:
        with lab.timed():
            app.look_again()
            open_ledger(app.coord)
            item = Item(ItemKind.PATH, f"src/file{next(NUMBERS) % SPARE}.txt", Intent.EDIT)
            wanted = claims.Wanted((item,), "", "standard", 7200, None, Base(None, None, None))
            granted = claims.claim(app.coord, wanted)
        assert isinstance(granted, claims.ClaimGranted)
        app.look_again()
        claims.release(app.coord, by_item(app.coord.known.state, app.coord.me.agent, (item,)), "")

    times = lab.interleave({"claim": claim})["claim"]
    return Measured(1000 * median(times), f"n={len(times)}, worst {1000 * max(times):.1f} ms")


@row(
    "claim: remote, hub on this disk",
    budget="none: see sshd",
    limit=None,
    reference="(remote - local) / bare push; beside it git's own push of the same objects and refs",
)
def remote_claim(lab: Lab) -> Measured:
    """Claim through a bare hub on disk; what it costs above a local claim, in bare pushes of one new commit.

    Not judged: without a network there is nothing but processes, and git's own push of what a claim sends takes most of
    what the budget allows (`docs/design/decisions.md`). Over a network the same milliseconds are a few hundredths.
    """
    hub, clone, pusher = hub_with_clones(lab.folder / "claim-remote", lab.env, ["alpha", "beta"])
    shadow = lab.folder / "claim-remote" / "shadow.git"
    pusher.git("clone", "-q", "--mirror", str(hub.path), str(shadow))
    clone.git("remote", "add", "shadow", str(shadow))
    clone.git("config", "coord.remote", "origin")
    return beside_local(lab, "disk", clone, pusher, same="shadow")


@row("claim: remote, over sshd", budget="local + 1.3 x push", limit=1.3, reference="(remote - local) / bare push")
def remote_claim_over_ssh(lab: Lab) -> Measured:
    """Claim through a real sshd on loopback, as remotes are reached in earnest."""
    program = sshd_program()
    if program is None:
        raise SystemExit("this row needs an sshd (Debian's package is openssh-server)")
    server = Sshd(program, lab.folder / "sshd", dict(lab.env))
    server.prepare()
    server.start()
    try:
        hub, *clones = hub_with_clones(lab.folder / "claim-ssh", lab.env, ["alpha", "beta"])
        env = {**lab.env, "GIT_SSH_COMMAND": server.client}
        over = [Repo(clone.path, env) for clone in clones]
        for clone in over:
            clone.git("remote", "set-url", "origin", server.url(hub.path))
        return beside_local(lab, "ssh", *over)
    finally:
        server.stop()


def beside_local(lab: Lab, name: str, clone: Repo, pusher: Repo, *, same: str | None = None) -> Measured:
    """Measure local claims, claims in the clone, and bare pushes, in turn; the same refs to a second hub, if asked."""
    local = ready(lab.repo(f"claim-beside-{name}"), "alpha")
    remote = ready(clone, "alpha")
    pushes = itertools.count()

    def push() -> None:
        number = next(pushes)
        commit = pusher.git("commit-tree", "-m", f"{number}", f"{pusher.rev('HEAD')}^{{tree}}")
        with lab.timed():
            pusher.git("push", "-q", "origin", f"{commit}:refs/bench/{number}")

    def push_the_same() -> None:
        """Let plain git push what one claim changed, from the state after the last release."""
        line = ["push", "-q", str(same), "refs/coord/claims", "+refs/coord/requests/*"]
        remote.git(*line)
        remote.run("git", "coord", "claim", f"src/file{next(NUMBERS) % SPARE}.txt", check=True)
        with lab.timed():
            remote.git(*line)
        remote.run("git", "coord", "release", "--all", check=True)

    tasks = {
        "local": lambda: claim_and_release(local, lab),
        "remote": lambda: claim_and_release(remote, lab),
        "push": push,
    }
    times = lab.interleave(tasks if same is None else tasks | {"the same by git": push_the_same})
    extra = median(times["remote"]) - median(times["local"])
    detail = ", ".join(f"{name} {1000 * median(values):.0f} ms" for name, values in times.items())
    return Measured(extra / median(times["push"]), detail)
