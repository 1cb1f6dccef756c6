"""Refs read from their files are those that git lists; whatever is odd is left to git."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from git_coord.store.git import Config
from git_coord.store.gitcli import GitStore
from git_coord.store.location import discover
from git_coord.store.reffiles import RefFiles, ref_files
from git_coord.store.refnames import ALL_PREFIXES
from tests.helpers import Repo, new_repo

NAMES = (
    "refs/coord/claims",
    "refs/coord/requests/alpha",
    "refs/coord/requests/beta.2",
    "refs/coord-remote/claims",
    "refs/coord-local/seen",
    "refs/notes/coord/alpha",
    "refs/coord-notes-remote/alpha",
)
OTHERS = ("refs/heads/refs/coord", "refs/notes/commits", "refs/coordinates/x", "refs/tags/coord")


@pytest.fixture
def repo(tmp_path: Path, env: dict[str, str]) -> Repo:
    made = new_repo(tmp_path / "repo", env)
    made.commit("first", a="1\n")
    for name in (*NAMES, *OTHERS):
        made.git("update-ref", name, "HEAD")
    return made


def files(repo: Repo) -> RefFiles:
    return RefFiles(str(repo.path / ".git"), "sha1")


def by_git(repo: Repo, *prefixes: str) -> dict[str, str]:
    location = discover(repo.path, repo.env)
    return dict(GitStore(location.git(repo.env), "sha1").refs(*prefixes))


@pytest.mark.parametrize("packed", ["loose", "packed", "both"])
@pytest.mark.parametrize(
    "prefixes",
    [ALL_PREFIXES, ("refs/coord/claims",), ("refs/coord/requests/", "refs/coord-local/seen"), ("refs/coord/none/",)],
)
def test_the_refs_are_those_that_git_lists(repo: Repo, packed: str, prefixes: tuple[str, ...]) -> None:
    if packed != "loose":
        repo.git("pack-refs", "--all")
    if packed == "both":
        repo.commit("second", a="2\n")
        repo.git("update-ref", "refs/coord/claims", "HEAD")
        repo.git("update-ref", "refs/coord/requests/gamma", "HEAD")
        repo.git("update-ref", "-d", "refs/coord/requests/alpha")
    found = files(repo).read(prefixes)
    assert found == by_git(repo, *prefixes)
    assert (found == {}) is (prefixes == ("refs/coord/none/",))


def test_a_folder_with_the_name_of_a_ref_and_a_lock_are_no_refs(repo: Repo) -> None:
    (repo.path / ".git/refs/coord/requests/alpha.lock").write_text("")
    assert files(repo).read(["refs/coord/requests", "refs/coord/"]) == by_git(repo, "refs/coord/")


@pytest.mark.parametrize("content", ["", "\n", "ref: refs/heads/main\n", "0" * 40, "1" * 64, "x" * 40, "1" * 40 + " x"])
@pytest.mark.parametrize("prefix", ["refs/coord/", "refs/coord/claims"])
def test_what_is_no_plain_id_is_left_to_git(repo: Repo, content: str, prefix: str) -> None:
    (repo.path / ".git/refs/coord/claims").write_text(content)
    assert files(repo).read([prefix]) is None


@pytest.mark.parametrize("name", ["a b", "a..b", ".a", "a.", "ä", "a~1"])
def test_a_name_that_git_may_refuse_is_left_to_git(repo: Repo, name: str) -> None:
    oid = repo.rev("HEAD")
    (repo.path / f".git/refs/coord/requests/{name}").write_text(oid)
    assert files(repo).read(["refs/coord/"]) is None
    (repo.path / f".git/refs/coord/requests/{name}").unlink()
    (repo.path / ".git/packed-refs").write_text(f"{oid} refs/coord/requests/{name}\n")
    assert files(repo).read(["refs/coord/"]) is None


@pytest.mark.parametrize("line", ["x refs/coord/claims\n", "1111 refs/coord/x\n", "{oid} refs/coord/cut"])
def test_a_damaged_list_of_packed_refs_is_left_to_git(repo: Repo, line: str) -> None:
    (repo.path / ".git/packed-refs").write_text(line.format(oid=repo.rev("HEAD")))
    assert files(repo).read(["refs/coord/"]) is None


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("claims", path)], ids=["pipe", "symlink"])
def test_what_is_no_file_is_never_opened(repo: Repo, make: object) -> None:
    assert callable(make)
    make(repo.path / ".git/refs/coord/odd")
    assert files(repo).read(["refs/coord/"]) is None


def test_other_refs_and_other_ways_to_store_them_are_gits_affair(repo: Repo) -> None:
    assert files(repo).read(["refs/heads/main"]) is None
    assert ref_files(".git", "sha1", Config(b"local\0extensions.refstorage\nreftable\0")) is None
    assert ref_files(".git", "sha1", Config(b"local\0extensions.refstorage\nfiles\0")) is not None
    assert ref_files(".git", "sha1", Config(b"")) is not None


@pytest.mark.slow
def test_a_ref_that_is_moved_and_packed_meanwhile_is_never_missed_and_never_goes_back(repo: Repo) -> None:
    commits = [repo.rev("HEAD")] + [repo.commit(f"c{n}", a=f"{n}\n") for n in range(12)]
    place = {oid: n for n, oid in enumerate(commits)}

    def churn() -> None:
        for oid in commits:
            repo.git("update-ref", "refs/coord/claims", oid)
            repo.git("pack-refs", "--all", "--prune")

    mover = Thread(target=churn)
    mover.start()
    seen = []
    while mover.is_alive():
        found = files(repo).read(["refs/coord/"])
        assert found is not None
        seen.append(place[found["refs/coord/claims"]])  # type: ignore[index]
    mover.join()
    assert seen == sorted(seen)
    assert len(set(seen)) > 1
