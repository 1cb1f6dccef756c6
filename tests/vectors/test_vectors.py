"""Our code against the test vectors, and the vectors against the script that made them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.helpers import PATIENCE
from tests.helpers.source import ROOT

from git_coord.crypto.record import open_record, split_record
from git_coord.crypto.sshsig import decode_armor
from git_coord.domain import chain, placing
from git_coord.domain.chain import Extension, Head
from git_coord.domain.merkle import Tree, hash_object
from git_coord.domain.statements import CLAIM_LIMIT, Checkpoint, parse_operation, to_bytes
from git_coord.errors import CoordError, Kind
from git_coord.service.records import open_operation

VECTORS = ROOT / "docs/vectors"
ALGORITHMS = ("sha1", "sha256")
STEPS = [path.name for path in sorted((VECTORS / "sha1").iterdir())]
REFUSED = [tuple(line.split(" ")) for line in (VECTORS / "refused/list").read_text().splitlines()]


@cache
def replay(algorithm: str, step: str) -> Extension:
    """Return what our code makes of the story's operations, up to one step."""
    # Backwards, so that the order found is ours.
    paths = sorted((VECTORS / algorithm / step).glob("*.record"), reverse=True)
    sealed = [open_operation(path.read_bytes()) for path in paths]
    if step == STEPS[0]:
        return chain.root(sealed[0], algorithm)
    before = replay(algorithm, STEPS[STEPS.index(step) - 1]).head
    if isinstance(sealed[0].op, Checkpoint):
        assert placing.epoch_fault(before.state, before.oid, sealed[0].op, sealed[0].key) is None
        made = chain.checkpoint(before, sealed[0], algorithm)
    else:
        made = chain.extend(before, sealed, algorithm)
    assert made is not None
    assert len(made.placed) == len(paths)
    return made


def rows(tree: Tree, prefix: str = "") -> list[str]:
    """Return the tree as `git ls-tree -r -t` shows it, though in another order."""
    found = []
    for name, entry in tree.entries.items():
        if isinstance(entry, Tree):
            found += [f"040000 tree {entry.oid}\t{prefix}{name}", *rows(entry, f"{prefix}{name}/")]
        else:
            found.append(f"100644 blob {entry}\t{prefix}{name}")
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("step", STEPS)
def test_each_step_of_the_story_makes_the_same_commit(algorithm: str, step: str) -> None:
    folder = VECTORS / algorithm / step
    made = replay(algorithm, step)
    assert made.objects[-1].data == (folder / "commit").read_bytes()
    assert sorted(rows(made.head.tree)) == sorted((folder / "tree").read_text().splitlines())
    assert made.head.oid == (folder / "id").read_text().strip()


@pytest.mark.parametrize("step", STEPS)
def test_statements_of_the_story_are_spelled_as_we_spell_them(step: str) -> None:
    for path in (VECTORS / "sha1" / step).glob("*.record"):
        statement = path.read_bytes().partition(b"\n")[0]
        assert to_bytes(parse_operation(statement)) == statement


@pytest.mark.parametrize("step", STEPS)
def test_files_derived_from_operations_hold_what_the_story_says(step: str) -> None:
    made = replay("sha1", step)
    lines = (VECTORS / "sha1" / step / "derived").read_text().splitlines()
    for path, _, content in (line.partition(" ") for line in lines):
        assert made.head.tree.get(path) == hash_object("blob", content.encode() + b"\n", "sha1").oid, path


@pytest.fixture(scope="module")
def end() -> Head:
    """Return the ledger at the end of the story."""
    return replay("sha1", STEPS[-1]).head


@pytest.mark.parametrize(("reason", "name"), REFUSED, ids=lambda value: value)
def test_a_record_is_refused_for_the_reason_named(reason: str, name: str, end: Head) -> None:
    assert why(end, (VECTORS / "refused" / name).read_bytes()) == reason


def why(head: Head, record: bytes) -> str:
    """Return the class of a record, in the words of `refused/list`."""
    statement = record.partition(b"\n")[0]
    if refusal(lambda: decode_armor(split_record(record, CLAIM_LIMIT).armor)):
        return "record"
    if refusal(lambda: open_record(record, CLAIM_LIMIT)):
        return "signature"
    if words := refusal(lambda: parse_operation(statement)):
        return "newer" if "newer git coord" in words else "statement"
    sealed = open_operation(record)
    return "place" if placing.fault(head.state, sealed.op, sealed.key) else "placeable"


def refusal(read: Callable[[], object]) -> str | None:
    """Return what an untrusted thing is refused with, None if it is read."""
    try:
        read()
    except CoordError as trouble:
        return trouble.message if trouble.kind is Kind.UNTRUSTED else None
    return None


def test_every_class_of_refusal_has_a_vector() -> None:
    classes = {reason for reason, _ in REFUSED}
    assert classes == {"placeable", "record", "signature", "statement", "newer", "place"}
    assert {name for _, name in REFUSED} | {"list"} == {path.name for path in (VECTORS / "refused").iterdir()}


def test_the_script_makes_the_committed_vectors_again(tmp_path: Path) -> None:
    subprocess.run(["sh", VECTORS / "make.sh", tmp_path], check=True, timeout=PATIENCE)
    assert contents(tmp_path) == {name: data for name, data in contents(VECTORS).items() if "/" in name}


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file the script writes, by its path."""
    written = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "keys")
    return {str(path.relative_to(folder)): path.read_bytes() for path in written}
