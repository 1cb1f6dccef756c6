"""Real processes behind a barrier; winners are counted."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import pytest

from git_coord.store.interface import ABSENT, RefUpdate, Swap
from git_coord.store.refnames import Ref
from tests.helpers import Repo

from .conftest import ClosableStore, blob, open_store

PROCESSES = 6
ROUNDS = 8


def race(contenders: list[Callable[[], bool]]) -> int:
    """Run all at once, each in a process; return how many say they won."""
    gate_read, gate = os.pipe()
    ready, ready_write = os.pipe()
    children = []
    for contender in contenders:
        child = os.fork()
        if child == 0:
            code = 2
            try:
                os.close(gate)
                os.write(ready_write, b".")
                os.read(gate_read, 1)  # returns when the gate closes
                code = 0 if contender() else 1
            finally:
                os._exit(code)
        children.append(child)
    for _ in contenders:
        os.read(ready, 1)
    os.close(gate)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    for fd in (gate_read, ready, ready_write):
        os.close(fd)
    assert set(codes) <= {0, 1}
    return codes.count(0)


def swapper(store: ClosableStore, update: RefUpdate) -> Callable[[], bool]:
    return lambda: store.swap([update], "race") is Swap.MOVED


def plain_git(repo: Repo, ref: Ref, oid: str) -> Callable[[], bool]:
    return lambda: repo.run("git", "update-ref", ref, oid, "0" * 40).code == 0


@pytest.mark.parametrize("kind", ["gitcli", "libgit2"])
def test_one_process_wins_a_ref_that_must_not_exist(kind: str, repo: Repo) -> None:
    store = open_store(kind, repo)
    made = [blob(store, str(number)) for number in range(PROCESSES)]
    store.write(made)
    for number in range(ROUNDS):
        ref = Ref(f"refs/coord/requests/a{number}")
        assert race([swapper(store, RefUpdate(ref, each.oid, ABSENT)) for each in made]) == 1


def test_a_plain_git_among_them_is_no_exception(repo: Repo) -> None:
    store = open_store("gitcli", repo)
    made = [blob(store, str(number)) for number in range(PROCESSES)]
    store.write(made)
    for number in range(ROUNDS):
        ref = Ref(f"refs/coord/requests/a{number}")
        ours = [swapper(store, RefUpdate(ref, each.oid, ABSENT)) for each in made[:3]]
        theirs = [plain_git(repo, ref, each.oid) for each in made[3:]]
        assert race([*ours, *theirs]) == 1


def test_counting_through_swaps_loses_nothing(repo: Repo) -> None:
    store = open_store("gitcli", repo)
    ref = Ref("refs/coord/requests/counter")
    numbers = [blob(store, str(number)) for number in range(PROCESSES * 5 + 1)]
    store.write(numbers)
    store.swap([RefUpdate(ref, numbers[0].oid, ABSENT)], "start")
    following = {before.oid: after.oid for before, after in itertools.pairwise(numbers)}

    def count() -> bool:
        for _ in range(5):
            while True:
                old = store.refs(ref)[ref]
                if store.swap([RefUpdate(ref, following[old], old)], "count") is Swap.MOVED:
                    break
        return True

    assert race([count] * PROCESSES) == PROCESSES
    assert store.refs(ref) == {ref: numbers[-1].oid}


def test_deletions_survive_a_pack_refs_in_between(repo: Repo) -> None:
    store = open_store("gitcli", repo)
    made = blob(store, "x")
    store.write([made])
    refs = [Ref(f"refs/coord/requests/a{number}") for number in range(10)]
    store.swap([RefUpdate(ref, made.oid, ABSENT) for ref in refs], "create")

    def remove(mine: list[Ref]) -> bool:
        return all(store.swap([RefUpdate(ref, ABSENT, made.oid)], "delete") is Swap.MOVED for ref in mine)

    def pack() -> bool:
        for _ in range(5):
            repo.run("git", "pack-refs", "--all")
        return True

    assert race([lambda: remove(refs[:5]), lambda: remove(refs[5:]), pack]) == 3
    assert store.refs("refs/coord/") == {}
