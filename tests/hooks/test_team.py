"""The tracked rules: what may stand in `.coord.toml`, and how a broken one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from git_coord.domain.fold import Fold
from git_coord.domain.items import ItemKind
from git_coord.domain.team import NO_RULES, Team
from git_coord.errors import CoordError, Kind
from git_coord.guard.snapshot import NO_FILE, decode_policy
from git_coord.service.files import CoordFiles
from git_coord.service.team import load_team, parse_team, write_policy

UUID = "00000000-0000-4000-8000-000000000000"


def test_a_worktree_without_the_file_has_no_rules(tmp_path: Path) -> None:
    assert load_team(str(tmp_path)) == (NO_RULES, NO_FILE)


def test_paths_and_globs_are_told_apart_and_normalised() -> None:
    text = f"""
[claims]
required = ["./src//core", "*.lock", "path:odd*name"]
exempt = ["docs", "."]

[ledger]
repo = "{UUID}"
root = "{"a" * 40}"
"""
    assert parse_team(text.encode()) == Team(
        required=((ItemKind.PATH, "src/core"), (ItemKind.GLOB, "*.lock"), (ItemKind.PATH, "odd*name")),
        exempt=((ItemKind.PATH, "docs"), (ItemKind.PATH, ".")),
        repo=UUID,
        root="a" * 40,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claims = 3", "line 1: claims: is not a table"),
        ("[claims]\n\n'requird' = []", "line 3: claims.requird: is no key of this file"),
        ('[claims]\nrequired = ["a"]\n[claim]\n', "line 3: claim: is no key of this file"),
        ('# x\n[claims]\nrequired = "src"', "line 3: claims.required: is not a list"),
        ("[claims]\nrequired = [1]", "line 2: claims.required: is not text"),
        ('[claims]\nexempt = [\n"../x"]', "line 2: claims.exempt: '../x' leads out of the repository"),
        ('[claims]\nexempt = ["task:a"]', "line 2: claims.exempt: 'task:a' is a task; only paths can be judged"),
        ('[ledger]\nrepo = "x"', "line 2: ledger.repo: is not what `git coord whoami` shows"),
        ('ledger.root = "main"', "line 1: ledger.root: is not an object id"),
    ],
)
def test_a_mistake_is_named_with_key_and_line(text: str, message: str) -> None:
    with pytest.raises(CoordError) as caught:
        parse_team(text.encode())
    assert (caught.value.kind, caught.value.message) == (Kind.ERROR, f".coord.toml {message}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[claims\n", "is not TOML: "),
        (b"\xff", "is not UTF-8"),
        (b"#" * (1 << 20) + b"#", "is larger than 1 MiB"),
    ],
)
def test_a_file_that_is_no_toml_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(CoordError) as caught:
        parse_team(data)
    assert caught.value.kind is Kind.ERROR
    assert caught.value.message.startswith(f".coord.toml {message}")


def test_a_file_that_cannot_be_read_is_an_error_and_not_no_rules(tmp_path: Path) -> None:
    (tmp_path / ".coord.toml").mkdir()
    with pytest.raises(CoordError) as caught:
        load_team(str(tmp_path))
    assert caught.value.message == ".coord.toml cannot be read: Is a directory"


def test_compiled_rules_are_folded_and_carry_the_stamp_of_their_file(tmp_path: Path) -> None:
    (tmp_path / ".coord.toml").write_text('[claims]\nrequired = ["Src", "*.MD"]\nexempt = ["\u212a"]\n')
    files = CoordFiles(str(tmp_path / "common"), str(tmp_path / "local"))
    team, stamped = load_team(str(tmp_path))
    write_policy(files, team, stamped, Fold.CASE_NFC)
    data = files.read("policy.snap", local=True)
    assert data is not None
    assert decode_policy(data, stamped) == (
        b"case+nfc",
        [(b"R", b"P", b"src"), (b"R", b"G", b"*.md"), (b"X", b"P", b"k")],
    )
