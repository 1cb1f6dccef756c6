"""Two days of twenty agents with a collapsed clock: refs, objects and the time of a sync stay what they were."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

from git_coord.app import key_path, open_app
from git_coord.crypto.keys import InProcessSigner
from git_coord.domain import chain
from git_coord.domain.chain import Head, Sealed
from git_coord.domain.ids import Nonce
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base, Claim, Operation, Release, Target
from git_coord.service.ledger import open_ledger
from git_coord.service.records import seal_operation
from git_coord.store.codec import pack
from git_coord.store.interface import RefUpdate
from git_coord.store.refnames import LEDGER, SEEN
from tests.bench.lab import Lab
from tests.bench.registry import Measured, row
from tests.helpers import Repo
from tests.helpers.repo import hub_with_clones

AGENTS = [f"agent-{number:02}" for number in range(20)]
PARTS, HOURS, TASKS_AN_HOUR = 4, 48, 5
ROUNDS = HOURS // PARTS * TASKS_AN_HOUR
"""Claims, and releases, of each agent in one of the parts."""
NOBODY = Base(None, None, None)
FIRST = "the first half day"


@dataclass
class Part:
    """What there was after one half day."""

    refs: int
    objects: int
    first_sync: float
    sync: float


@row("life: two days of 20 agents, objects", budget="flat: 1.2 x", limit=1.2, reference=FIRST)
def objects(lab: Lab) -> Measured:
    """Count what a fresh clone of the hub's refs has to fetch, after each epoch."""
    parts = lived(lab)
    told = ", ".join(f"{part.objects} objects in {part.refs} refs" for part in parts)
    return Measured(parts[-1].objects / parts[0].objects, told)


@row("life: two days of 20 agents, sync", budget="flat: 1.3 x", limit=1.3, reference=FIRST)
def syncs(lab: Lab) -> Measured:
    """Time a first sync and a later one, after each epoch."""
    parts = lived(lab)
    told = ", ".join(f"first {part.first_sync:.2f} s, next {part.sync * 1000:.0f} ms" for part in parts)
    both = (parts[-1].first_sync / parts[0].first_sync, parts[-1].sync / parts[0].sync)
    return Measured(max(both), told)


@cache
def lived(lab: Lab) -> list[Part]:
    """Live two days; `git coord gc --now` at the end of each half day, as a cron job would."""
    hub, writer, reader, fresh = hub_with_clones(lab.folder / "life", lab.env, ["agent-00", "reader", "fresh"])
    for name in AGENTS:
        writer.run("git", "coord", "init", "--agent", name, check=True)
    reader.run("git", "coord", "init", "--agent", "reader", check=True)
    warm = [Repo(clone.path, {**clone.env, "PYTHONDONTWRITEBYTECODE": ""}) for clone in (reader, fresh)]
    begun = int(time.time()) - HOURS * 3600
    return [_half_day(lab, hub, writer, *warm, begun + part * HOURS * 3600 // PARTS) for part in range(PARTS)]


def _half_day(lab: Lab, hub: Repo, writer: Repo, reader: Repo, fresh: Repo, since: int) -> Part:
    writer.run("git", "coord", "sync", check=True)
    work(writer, since)
    writer.git("push", "-q", str(hub.path), f"{LEDGER}:{LEDGER}")
    writer.run("git", "coord", "gc", "--now", "--agent", "agent-00", check=True)
    reader.run("git", "coord", "sync", check=True)
    times = lab.interleave(
        {"first": lambda: _first(lab, hub, fresh), "next": lambda: _sync(reader)}, rounds=2, warmups=0
    )
    refs = [line for line in hub.git("for-each-ref", "--format=%(refname)").splitlines() if "/coord/" in line]
    reached = hub.git("rev-list", "--objects", "--no-object-names", LEDGER, "--glob=refs/coord/presence/*")
    return Part(len(refs), len(reached.split()), min(times["first"]), min(times["next"]))


def _first(lab: Lab, hub: Repo, fresh: Repo) -> None:
    # A new clone, and not by hard links: objects of epochs that the hub keeps no longer would be verified too.
    shutil.rmtree(fresh.path)
    hub.git("clone", "-q", "--no-local", str(hub.path), str(fresh.path))
    fresh.git("config", "coord.agent", "reader")
    with lab.timed():
        _sync(fresh)


def _sync(clone: Repo) -> None:
    clone.run("git", "coord", "sync", check=True)


def work(repo: Repo, since: int) -> None:
    """Place half a day of claims and releases, all agents' together in one commit after the other."""
    app = open_app(str(repo.path), repo.env, agent=AGENTS[0])
    head = open_ledger(app.coord)
    assert head is not None
    signers = {name: InProcessSigner(key_path(app, head.state.repo, name)) for name in AGENTS}
    old, made = head.oid, []
    for batch in _batches(_operations(signers, head, since)):
        extension = chain.extend(head, batch, app.coord.store.algorithm)
        assert extension is not None
        assert len(extension.placed) == len(batch)
        made += extension.objects
        head = extension.head
    app.git.run(("index-pack", "--stdin"), pack(list({found.oid: found for found in made}.values()), "sha1"))
    app.coord.store.swap([RefUpdate(LEDGER, head.oid, old), RefUpdate(SEEN, head.oid, old)], "bench")


def _batches(operations: Iterator[Sealed]) -> Iterator[list[Sealed]]:
    while batch := list(islice(operations, len(AGENTS))):
        yield batch


def _operations(signers: dict[str, InProcessSigner], head: Head, since: int) -> Iterator[Sealed]:
    """Yield a claim of every agent, then a release of every agent, and so on."""
    numbers = {name: head.state.agents[name].seq for name in AGENTS}
    for turn in range(ROUNDS):
        claimed: dict[str, Nonce] = {}
        for verb in ("claim", "release"):
            for place, name in enumerate(AGENTS):
                numbers[name] += 1
                at = since + turn * 3600 // TASKS_AN_HOUR + place
                common = _common(head, name, numbers[name], at)
                op = _claim(common, place, turn) if verb == "claim" else _release(common, claimed[name])
                claimed[name] = op.nonce
                yield seal_operation(op, signers[name])


def _common(head: Head, name: str, seq: int, at: int) -> dict[str, object]:
    member = head.state.agents[name]
    common = {"repo": head.state.repo, "agent": name, "session": member.session, "seq": seq, "at": at}
    return common | {"nonce": os.urandom(16).hex(), "head": head.oid}


def _claim(common: dict[str, object], place: int, turn: int) -> Operation:
    items = (Item(ItemKind.PATH, f"src/part{place}/file{turn}.py", Intent.EDIT),)
    terms = {"lease": "standard", "ttl": 7200, "not_after": None, "purpose": "a day's work", "stamps": None}
    return Claim(**common, base=NOBODY, items=items, **terms)  # type: ignore[arg-type]


def _release(common: dict[str, object], claim: Nonce) -> Operation:
    return Release(**common, reason="done", targets=(Target(claim, None),))  # type: ignore[arg-type]
