"""Twenty processes of ours and of plain git on the same refs: one winner a round, and nothing published is lost."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from git_coord.app.root import open_app
from git_coord.domain import chain
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.merkle import GitObject
from git_coord.domain.statements import Base, Claim
from git_coord.service.ledger import open_ledger
from git_coord.service.operations import operation
from git_coord.service.requests import draft, read_requests
from git_coord.store.interface import ABSENT
from git_coord.store.refnames import LEDGER
from tests.helpers import Repo, new_repo

from .stress import CONFLICT, at_once, enlist

OURS, MOVERS, PUBLISHERS = 10, 5, 5
LOST = 4
PACES = ("git-coord whoami", "true", "git-coord -h")
"""What plain git waits for before its swap, a round each: as long as our commands take to start, or for nothing."""
PATH = "contended.txt"
CLAIM_LINE = re.compile(r"(#\d+ )?(\S+) (?:claims|is refused claim) .*")


@dataclass
class Round:
    """Who says it won, and whose operation reached a ref by plain git."""

    pace: str
    winners: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)

    def ours(self, repo: Repo) -> Callable[[], None]:
        """Return a claim by command."""

        def claim() -> None:
            done = repo.run("git-coord", "claim", PATH, "--json", timeout=120)
            assert done.code in (0, CONFLICT), done
            self.winners += [name_of(repo)] if done.code == 0 else []

        return claim

    def raw(self, repo: Repo, ref: str, new: str, old: str) -> Callable[[], None]:
        """Return plain git's swap of a ref."""

        def swap() -> None:
            line = f'{self.pace} >/dev/null; exec git update-ref "{ref}" {new} {old}'
            self.published += [name_of(repo)] if repo.run("sh", "-c", line).code == 0 else []

        return swap


def name_of(repo: Repo) -> str:
    return repo.env["GIT_COORD_AGENT"]


def prepared(repo: Repo, *, ledger: bool) -> tuple[str, str, str]:
    """Return the swap that would place (or publish) a signed claim of the agent; its objects are written already."""
    coord = open_app(str(repo.path), repo.env).coord
    open_ledger(coord)
    fields = {"items": (Item(ItemKind.PATH, PATH, Intent.EDIT),), "purpose": "", "lease": "standard", "ttl": 7200}
    more = {"stamps": None, "base": Base(None, None, None), "not_after": None}
    made = draft(
        coord,
        lambda seq: operation(coord, Claim, seq, **fields, **more),
        coord.own_signer,
        read_requests(coord, fetched=False),
    )
    objects: list[GitObject] = list(made.objects)
    ref, new, old = made.update.ref, made.update.new, made.update.old
    if ledger:
        extension = chain.extend(coord.known, [made.sealed], coord.store.algorithm)
        assert extension is not None
        objects += extension.objects
        ref, new, old = LEDGER, extension.head.oid, coord.known.oid
    coord.store.write(objects)
    return ref, str(new), "0" * 40 if old is ABSENT else str(old)


def placed_since(repo: Repo, old: str) -> list[tuple[str, bool]]:
    """Return agent and "granted?" of every claim that the ledger has placed since."""
    lines = repo.git("log", "--reverse", "--format=%B", f"{old}..{LEDGER}").splitlines()
    return [
        (m[2], bool(m[1]))
        for line in lines
        if (m := re.fullmatch(r"(#\d+ )?(\S+) (?:claims|is refused claim) .*", line))
    ]


@pytest.mark.slow
def test_one_of_twenty_processes_wins_each_round_and_nothing_is_lost(tmp_path: Path, env: dict[str, str]) -> None:
    repo = new_repo(tmp_path / "repo", env)
    agents = [enlist(repo, f"a{n}") for n in range(OURS + MOVERS + PUBLISHERS)]
    ours, movers, publishers = agents[:OURS], agents[OURS : OURS + MOVERS], agents[OURS + MOVERS :]
    for pace in PACES:
        old, now = repo.rev(LEDGER), Round(pace)
        raw = [(each, prepared(each, ledger=True)) for each in movers]
        raw += [(each, prepared(each, ledger=False)) for each in publishers]
        at_once([*(now.ours(each) for each in ours), *(now.raw(each, *swap) for each, swap in raw)])
        done = ours[0].run("git-coord", "sync")
        assert done.code in (0, LOST), done  # a publisher's request that nobody helped yet is refused only now
        check_round(ours[0], now, old, {name_of(each) for each in publishers})


def check_round(repo: Repo, now: Round, old: str, publishers: set[str]) -> None:
    """Check the round against the ledger, and let the winner give back what it won."""
    rows = placed_since(repo, old)
    granted = [agent for agent, is_granted in rows if is_granted]
    print(granted, now, Counter(is_granted for _, is_granted in rows))  # noqa: T201 - with `-s`
    assert len(granted) == 1
    assert set(now.winners) <= set(granted)
    assert set(now.published) >= publishers
    assert set(now.published) <= {agent for agent, _ in rows}
    assert max(Counter(agent for agent, _ in rows).values()) == 1
    answer = json.loads(repo.run("git-coord", "check", PATH, "--json").out)
    assert {row["holder"] for row in answer["resources"]} == set(granted)
    winner = repo.with_env(GIT_COORD_AGENT=granted[0], GIT_COORD_SESSION=f"{granted[0]}-session")
    winner.run("git-coord", "release", PATH, check=True)
