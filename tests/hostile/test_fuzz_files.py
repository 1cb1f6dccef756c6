"""Damaged trees, commits, notes, small files and git's own output: a documented answer, whatever the bytes are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_coord.domain import layout
from git_coord.domain.ids import Oid
from git_coord.domain.loading import load_state
from git_coord.domain.merkle import Tree, parse_tree
from git_coord.domain.receipts import noted_commit, parse_line, records_in
from git_coord.guard import snapshot, verdict, whose
from git_coord.service.adopt import commit_date
from git_coord.service.team import load_team, parse_team
from git_coord.store.git import Config
from git_coord.store.interface import PushStatus
from git_coord.store.remote import _porcelain
from tests.hostile.mutations import VECTORS, as_text, mutants, outcomes, records, vector_files

A, B = Oid("a" * 40), Oid("b" * 40)
RECORDS = records()


def _tree_bytes(entries: dict[str, Oid]) -> bytes:
    return next(iter(Tree(entries).hashed("sha1"))).data


TREES = [_tree_bytes({"0000000001": A, "0000000002": B}), _tree_bytes({"presence": A}), _tree_bytes({A: B, B: A})]


@pytest.mark.parametrize(("algorithm", "digits"), [("sha1", 40), ("sha256", 64)])
def test_damaged_trees_give_rows_with_whole_ids_or_are_refused(algorithm: str, digits: int) -> None:
    def rows(data: bytes) -> None:
        assert {len(oid) for _, _, oid in parse_tree(data, algorithm)} <= {digits}

    read, refused = outcomes(rows, mutants(TREES, 4000, 20))
    assert (len(read) > 0, len(refused) > 500) == (True, True)


def test_damaged_commits_have_a_date_or_are_refused() -> None:
    read, refused = outcomes(
        lambda data: isinstance(commit_date(data), int), mutants(vector_files("*/*/commit"), 3000, 21)
    )
    assert (len(read) > 1000, len(refused) > 50) == (True, True)


def _ledger_files() -> dict[str, bytes]:
    """Return the files of the tree of a vector whose state has members and claims."""
    lines = (VECTORS / "sha1/10-cancelled/derived").read_text().splitlines()
    files = {}
    for line in lines:
        path, _, content = line.partition(" ")
        files[path] = content.encode() + b"\n"
    policy = (VECTORS / "sha1/01-root/0000.record").read_bytes()
    return {path: data for path, data in files.items() if not path.startswith("op/")} | {layout.POLICY: policy}


def test_a_damaged_ledger_tree_makes_a_state_or_is_refused() -> None:
    files = {p: d for p, d in _ledger_files().items() if not p.startswith("claims/")}
    load_state(files)
    names = sorted(files)
    for number, name in enumerate(names):
        damaged = mutants([files[name], *RECORDS[:3]], 400, 22 + number)
        _, refused = outcomes(lambda data, name=name: load_state(files | {name: data}), damaged)
        assert name == layout.FORMAT or len(refused) > 20
    for path in ("claims/0/1", "claims/x/y/claim", "claims/0/1/2/3", "claims/0/1/claim", "claims/0/99/grant"):
        assert outcomes(lambda data, path=path: load_state(files | {path: data}), [b"", b"{}\n"])[0] == []


def test_damaged_lines_of_the_hooks_are_read_or_passed_over() -> None:
    lines = [b"commit %s %s 0 alpha" % (A.encode(), B.encode()), b"rewrite %s %s - 1 -" % (A.encode(), B.encode())]
    read, refused = outcomes(parse_line, mutants(lines, 4000, 40))
    assert refused == []
    assert {parse_line(data) is None for data in read} == {True, False}


def test_damaged_notes_give_records_that_begin_and_end_as_one_does() -> None:
    def found(data: bytes) -> None:
        for record in records_in(data):
            assert (record[:1], record.endswith(b"-----END SSH SIGNATURE-----\n")) == (b"{", True)

    notes = [RECORDS[0], b"words\n\n" + RECORDS[0] + b"\n" + RECORDS[1], b"{" * 50 + RECORDS[2]]
    assert outcomes(found, mutants(notes, 2000, 41))[1] == []


def test_damaged_paths_of_notes_name_a_commit_or_nothing() -> None:
    paths = [A.encode(), b"aa/" + A[2:].encode(), b"a/a/" + A[2:].encode()]
    assert outcomes(lambda data: noted_commit(as_text(data)), mutants(paths, 3000, 42))[1] == []


ITEM = (b"src/a", b"P", b"e", b"beta", 7, 2000000000)
CLAIMS = snapshot.encode_claims(
    "none", b"%s refs/coord/claims\n" % A.encode(), [ITEM, (b"x/**", b"G", b"r", b"b", None, 1)]
)
POLICY = snapshot.encode_policy("none", b"1 2 3", [(b"R", b"P", b"src"), (b"X", b"G", b"**/*.md")])


def test_a_damaged_snapshot_never_raises_what_the_guard_does_not_catch() -> None:
    def judge(data: bytes) -> None:
        claims = snapshot.decode_claims(data)
        if claims is not None:
            verdict.all_free([b"src/a", b"x/y", b"src", b"\xff", b"a\tb"], claims, [], b"alpha")

    read, _ = outcomes(judge, mutants([CLAIMS], 5000, 43), ValueError, LookupError)
    assert len(read) > 500


def test_a_damaged_policy_snapshot_never_raises_what_the_guard_does_not_catch() -> None:
    def judge(data: bytes) -> None:
        rules = snapshot.decode_policy(data, b"1 2 3")
        claims = snapshot.decode_claims(CLAIMS)
        assert claims is not None
        if rules is not None:
            verdict.all_free([b"src/a", b"x.md"], claims, rules[1], b"alpha")

    read, _ = outcomes(judge, mutants([POLICY], 4000, 44), ValueError, LookupError)
    assert len(read) > 500


TOML = [
    b'[claims]\nrequired = ["src", "**/*.py"]\nexempt = ["docs/*.md"]\n'
    b'[ledger]\nrepo = "00000000-0000-4000-8000-000000000001"\n',
    b"[ledger]\nroot = '" + A.encode() + b"'\n",
    b"claims.required = ['path:a*b']\n",
]


def test_a_damaged_team_file_stops_with_its_own_error() -> None:
    read, refused = outcomes(parse_team, mutants(TOML, 1500, 45))
    assert (len(read) > 50, len(refused) > 500) == (True, True)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "bomb",
    [
        b"a = " + b"[" * 200_000,
        b"a = " + b"{b=" * 100_000,
        b"a = " + b"9" * 500_000,
        b".".join([b"a"] * 200_000) + b" = 1",
        b".".join([b'"!"'] * 100_000) + b" = 1",
        b".".join([b"a" * 300] * 3000) + b" = 1",
        b"# " + b"a-" * 500_000,
        b'"' * 1_000_000,
        b"[" + b".".join([b"a"] * 5000) + b"]\n",
        b"a = 1\n" * 100_000,
        b"[claims]\nrequired = [" + b'"a",' * 150_000 + b"]",
        b'[claims]\nrequired = ["' + b"*" * 500_000 + b'"]',
        b'[claims]\nrequired = ["a\\u001b[2J"]\n[x\x1b]',
    ],
    ids=[
        "arrays",
        "tables",
        "digits",
        "dots",
        "quoted",
        "long",
        "words",
        "quotes",
        "header",
        "twice",
        "many",
        "stars",
        "escapes",
    ],
)
def test_a_bomb_as_team_file_stops_with_its_own_error_or_is_read(bomb: bytes) -> None:
    read, refused = outcomes(parse_team, [bomb])
    assert len(read) + len(refused) == 1


PORCELAIN = [
    b"To /hub\n*\t%s:refs/coord/claims\t[new reference]\n!\t:refs/coord/x\t[rejected] (stale info)\nDone\n"
    % A.encode(),
    b"=\ta:b\t[up to date]\n-\t:b\t[deleted]\n+\ta:b\tab...cd (forced update)\n \ta:b\tab..cd\n",
    b"!\ta:b\t[remote rejected] (hook declined)\n!\ta:c\t[remote failure] (remote failed to report status)\n",
]


def test_damaged_push_reports_say_what_became_of_a_ref_or_nothing() -> None:
    def report(data: bytes) -> None:
        assert {type(status) for status, _ in _porcelain(data).values()} <= {PushStatus}

    assert outcomes(report, mutants(PORCELAIN, 4000, 46))[1] == []


LISTINGS = [b"local\0coord.agent\nalpha\0system\0core.bare\0", b"worktree\0remote.a b.c.url\n/x\ny\0global\0a.b\n\0"]


def test_damaged_configuration_listings_are_read_as_far_as_they_go() -> None:
    def ask(data: bytes) -> None:
        config = Config(data)
        assert isinstance(config.get_all("coord.agent"), list)
        assert isinstance(config.under("remote"), dict)
        whose.parse_settings(os.fsdecode(data))

    assert outcomes(ask, mutants(LISTINGS, 4000, 47))[1] == []


def test_a_link_to_a_pipe_as_team_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".coord.toml").symlink_to("pipe")
    assert outcomes(lambda _: load_team(str(tmp_path)), [b""]) == ([], [b""])
