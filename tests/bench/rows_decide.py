"""What deciding and verifying cost in process: one path among 10,000 claims, and a first sync of 1,000 operations."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from statistics import median

from git_coord.app import key_path, open_app
from git_coord.crypto.keys import InProcessSigner
from git_coord.domain import chain
from git_coord.domain.chain import Head, Sealed
from git_coord.domain.fold import Fold
from git_coord.domain.ids import Oid
from git_coord.domain.index import ItemIndex
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import MAX_ITEMS, Base, Claim
from git_coord.service.records import seal_operation
from git_coord.store.interface import RefUpdate
from git_coord.store.refnames import LEDGER, SEEN
from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.domain.world import World, path
from tests.helpers import Repo
from tests.helpers.repo import hub_with_clones

CLAIMS, GLOBS, PLACED, WAITERS = 10_000, 100, 1_000, 4
NOBODY = Base(None, None, None)


@row("decide: one path, 10,000 claims", budget="100 us", limit=100.0, unit="us", reference="none: an absolute bound")
def decide(_lab: Lab) -> Measured:
    """Decide one path against 10,000 items, 100 of them globs without a literal prefix."""
    names = [(ItemKind.PATH, f"src/part{n % 100}/file{n}.py") for n in range(CLAIMS - GLOBS)]
    names += [(ItemKind.GLOB, f"**/*.gen{n}.py") for n in range(GLOBS)]
    items = ((n, Item(kind, name, Intent.EDIT)) for n, (kind, name) in enumerate(names))
    index: ItemIndex[int] = ItemIndex[int](Fold.NONE).added(items)
    times = []
    for number in range(2_000):
        path = f"src/part{number % 100}/file{number * 5}.py" if number % 2 else f"lib/new{number}/mod.py"
        start = time.perf_counter()
        index.covering(path)
        times.append(time.perf_counter() - start)
    return Measured(1e6 * median(times), f"n={len(times)}, worst {1e6 * max(times):.0f} us")


@row("decide: a folder 20,000 wait below", budget="1 s", limit=1.0, unit="s", reference="none: an absolute bound")
def wide_waiters(_lab: Lab) -> Measured:
    """Apply the claim of a folder below which four agents wait with as many files each as one claim may have."""
    world = World.of("alpha", *(f"wide{n}" for n in range(WAITERS)), "late")
    world.granted(world.claim("alpha", path("src/part0/file0.py")))
    for agent in range(WAITERS):
        names = [f"src/part{agent}/file{n}.py" for n in range(1, MAX_ITEMS)]
        world.queued(world.wait(f"wide{agent}", path("src/part0/file0.py"), *map(path, names)))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        world.refused(world.claim("late", path("src")))
        times.append(time.perf_counter() - start)
    return Measured(median(times), f"n={len(times)}, worst {max(times):.2f} s")


def ledger_of(repo: Repo, count: int) -> None:
    """Place that many claims, one ledger commit each, in process; the repository has been set up by `init`."""
    app = open_app(str(repo.path), repo.env)
    from git_coord.service.ledger import open_ledger  # noqa: PLC0415 - beside its only use

    head = open_ledger(app.coord)
    assert head is not None
    signer = InProcessSigner(key_path(app, head.state.repo, app.coord.me.agent))
    old, objects = head.oid, []
    for number in range(count):
        made = chain.extend(head, [sealed_claim(head, app.coord.me.agent, signer, number)], app.coord.store.algorithm)
        assert made is not None
        objects += made.objects
        head = made.head
    app.coord.store.write(objects)
    app.coord.store.swap([RefUpdate(LEDGER, head.oid, old), RefUpdate(SEEN, head.oid, old)], "bench")


def sealed_claim(head: Head, agent: str, signer: InProcessSigner, number: int) -> Sealed:
    """Return a signed claim of one file of its own."""
    member = head.state.agents[agent]
    op = Claim(
        repo=head.state.repo,
        agent=agent,
        session=member.session,
        seq=member.seq + 1,
        at=int(time.time()),
        nonce=os.urandom(16).hex(),
        head=head.oid,
        base=NOBODY,
        items=(Item(ItemKind.PATH, f"src/part{number % 100}/file{number}.py", Intent.EDIT, Oid("0" * 40)),),
        lease="standard",
        not_after=None,
        purpose="bench",
        stamps=None,
        ttl=7200,
    )
    return seal_operation(replace(op), signer)


@row("sync: first, 1,000 operations", budget="1 s", limit=1.0, unit="s", reference="none: an absolute bound")
def first_sync(lab: Lab) -> Measured:
    """Fetch and verify a ledger of 1,000 operations with 1,000 live claims, one commit each, in a fresh clone."""
    hub, writer, reader = hub_with_clones(lab.folder / "first-sync", lab.env, ["alpha", "beta"])
    writer.run("git", "coord", "init", "--agent", "alpha", check=True)
    ledger_of(writer, PLACED)
    writer.git("push", "-q", "--force", str(hub.path), "refs/coord/claims:refs/coord/claims")
    warm = Repo(reader.path, {**reader.env, "PYTHONDONTWRITEBYTECODE": ""})

    def sync() -> None:
        for ref in warm.git(
            "for-each-ref", "--format=%(refname)", "refs/coord", "refs/coord-local", "refs/coord-remote"
        ).split():
            warm.git("update-ref", "-d", ref)
        with lab.timed():
            warm.run("git", "coord", "sync", check=True)

    times = lab.interleave({"sync": sync})
    return Measured(median(times["sync"]), f"n={len(times['sync'])}")
