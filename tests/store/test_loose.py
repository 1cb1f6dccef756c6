"""Loose objects written in process: what git makes of them, what a full disk or a kill leaves, when git writes."""

from __future__ import annotations

import errno
import os
import random
import zlib
from pathlib import Path

import pytest

from git_coord.domain.merkle import hash_object
from git_coord.errors import CoordError, Kind
from git_coord.store import loose
from git_coord.store.location import discover
from git_coord.store.loose import LooseObjects, loose_objects
from tests.helpers import Repo


def objects_of(repo: Repo) -> LooseObjects:
    return LooseObjects(str(repo.path / ".git/objects"))


@pytest.mark.parametrize("size", [0, 1, loose._SMALL - 1, loose._SMALL, 300_000])
def test_git_reads_what_was_written_and_finds_nothing_wrong_with_it(repo: Repo, size: int) -> None:
    made = hash_object("blob", random.Random(size).randbytes(size // 2) + b"a" * (size - size // 2), "sha1")
    objects_of(repo).write([made])
    assert repo.git("cat-file", "-s", made.oid) == str(size)
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert repo.path.joinpath(".git/objects", made.oid[:2], made.oid[2:]).stat().st_mode & 0o777 == 0o444


def test_an_object_that_is_there_is_made_young_and_not_written_again(repo: Repo) -> None:
    made = hash_object("blob", b"old\n", "sha1")
    objects_of(repo).write([made])
    path = repo.path / ".git/objects" / made.oid[:2] / made.oid[2:]
    os.utime(path, (1, 1))
    before = path.stat().st_ino
    objects_of(repo).write([made])
    assert (path.stat().st_ino, path.stat().st_mtime > 1) == (before, True)
    repo.git("prune", "--expire=1.hour.ago")
    assert repo.git("cat-file", "blob", made.oid) == "old"


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    made = hash_object("blob", b"too much\n", "sha1")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CoordError) as caught:
        objects_of(repo).write([made])
    monkeypatch.undo()
    assert (caught.value.kind, caught.value.message) == (
        Kind.ERROR,
        "an object cannot be written: No space left on device",
    )
    assert list(repo.path.joinpath(".git/objects", made.oid[:2]).iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "objects").touch()
    with pytest.raises(CoordError) as caught:
        LooseObjects(str(tmp_path / "objects")).write([hash_object("blob", b"", "sha1")])
    assert caught.value.message == "an object cannot be written: Not a directory"


def test_what_a_kill_leaves_behind_is_swept_up_by_git(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_names: str) -> None:
        raise KeyboardInterrupt

    made = hash_object("blob", b"half\n", "sha1")
    monkeypatch.setattr(os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        objects_of(repo).write([made])
    monkeypatch.undo()
    folder = repo.path / ".git/objects" / made.oid[:2]
    assert len(list(folder.iterdir())) == 1
    repo.git("prune", "--expire=now")
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("core.fsync", "all"), ("core.fsyncObjectFiles", "true"), ("core.sharedRepository", "group")],
)
def test_git_writes_where_the_user_says_more_about_objects(repo: Repo, key: str, value: str) -> None:
    location = discover(repo.path, repo.env)
    assert loose_objects(location.common_dir, location.git(repo.env).config()) is not None
    repo.git("config", key, value)
    assert loose_objects(location.common_dir, location.git(repo.env).config()) is None


def test_git_writes_where_an_extension_is_not_known(repo: Repo) -> None:
    location = discover(repo.path, repo.env)
    repo.git("config", "extensions.worktreeConfig", "true")
    assert loose_objects(location.common_dir, location.git(repo.env).config()) is not None
    repo.git("config", "extensions.compatObjectFormat", "sha256")
    assert loose_objects(location.common_dir, location.git(repo.env).config()) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no header"),
        (zlib.compress(b"blob 3\0abc")[:-1], "cut short or too long"),
        (zlib.compress(b"blob 4\0abc"), "other bytes than its name says"),
        (zlib.compress(b"blob 2\0abc"), "other bytes than its name says"),
        (zlib.compress(b"blob 3\0xyz"), "other bytes than its name says"),
        (zlib.compress(b"blob 99999999999999999999\0abc"), "no header"),
        (b"garbage", "Error -3 while decompressing data: incorrect header check"),
    ],
)
def test_a_damaged_object_is_said_and_never_waited_for(tmp_path: Path, content: bytes, why: str) -> None:
    made = hash_object("blob", b"abc", "sha1")
    objects = LooseObjects(str(tmp_path))
    assert objects.read(made.oid, "sha1") is None
    objects.write([made])
    assert objects.read(made.oid, "sha1") == made
    path = tmp_path / made.oid[:2] / made.oid[2:]
    path.chmod(0o644)
    path.write_bytes(content)
    with pytest.raises(CoordError) as caught:
        objects.read(made.oid, "sha1")
    assert (caught.value.kind, caught.value.message) == (Kind.ERROR, f"object {made.oid} is damaged: {why}")


def test_a_small_file_that_stretches_far_is_not_stretched(tmp_path: Path) -> None:
    made = hash_object("blob", bytes(50_000_000), "sha1")
    objects = LooseObjects(str(tmp_path))
    objects.write([made])
    assert objects.read(made.oid, "sha1", 1_000_000) == (made.oid, "oversized", b"")
