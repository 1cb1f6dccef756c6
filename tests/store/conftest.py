"""Every kind of store on every kind of repository, made the way the composition root makes them."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from git_coord.domain.merkle import GitObject, Tree, hash_object
from git_coord.store.git import Git
from git_coord.store.gitcli import GitStore
from git_coord.store.interface import Store
from git_coord.store.libgit2 import open_libgit2
from git_coord.store.location import discover
from git_coord.store.loose import loose_objects
from git_coord.store.memory import MemoryStore
from git_coord.store.reffiles import ref_files
from tests.helpers import PATIENCE, Repo, new_repo

KINDS = [
    "memory-sha1",
    "memory-sha256",
    "gitcli-plain",
    "gitcli-worktree",
    "gitcli-bare",
    "gitcli-sha256",
    "loose-plain",
    "loose-worktree",
    "loose-bare",
    "loose-sha256",
    "libgit2-plain",
    "libgit2-worktree",
    "libgit2-bare",
]


class ClosableStore(Store, Protocol):
    """What all stores are beyond the contract."""

    def close(self) -> None: ...


def make_repo(shape: str, folder: Path, env: dict[str, str]) -> Repo:
    """Make a repository of the shape that the second half of a kind names."""
    if shape in {"bare", "sha256"}:
        return new_repo(folder / shape, env, {"bare": "--bare", "sha256": "--object-format=sha256"}[shape])
    repo = new_repo(folder / "plain", env)
    repo.commit("first", a="1\n")
    return repo.worktree("linked") if shape == "worktree" else repo


def open_store(kind: str, repo: Repo) -> ClosableStore:
    """Open a repository with the store that the first half of a kind names."""
    location = discover(repo.path, repo.env)
    git = location.git(repo.env)
    if kind.startswith("gitcli"):
        return GitStore(git, location.object_format)
    if kind.startswith("loose"):
        config = git.config()
        files = ref_files(location.common_dir, location.object_format, config)
        return GitStore(git, location.object_format, loose=loose_objects(location.common_dir, config), ref_files=files)
    return libgit2_store(git, location.common_dir)


def libgit2_store(git: Git, common_dir: str) -> ClosableStore:
    """Open a SHA-1 repository the way that long-lived programs do."""
    loose, files = loose_objects(common_dir, git.config()), ref_files(common_dir, "sha1", git.config())
    store = open_libgit2(git, GitStore(git, "sha1", loose=loose, ref_files=files), common_dir, loose)
    assert store is not None
    return store


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path, env: dict[str, str]) -> Iterator[ClosableStore]:
    """Return a store of each kind."""
    family, _, shape = request.param.partition("-")
    made = MemoryStore(shape) if family == "memory" else open_store(family, make_repo(shape, tmp_path, env))
    yield made
    made.close()


def blob(store: Store, text: str) -> GitObject:
    """Return a blob, not written."""
    return hash_object("blob", text.encode(), store.algorithm)


def commit(store: Store, files: dict[str, str], *parents: str, message: str = "m") -> GitObject:
    """Write blobs, trees and a commit of them; return the commit."""
    tree = Tree({})
    objects = []
    for path, text in files.items():
        objects.append(blob(store, text))
        tree = tree.changed(path, objects[-1].oid)
    objects += tree.hashed(store.algorithm)
    lines = [f"tree {tree.oid}", *(f"parent {oid}" for oid in parents)]
    lines += [f"{who} git-coord <> 1700000000 +0000" for who in ("author", "committer")]
    made = hash_object("commit", "\n".join([*lines, "", message, ""]).encode(), store.algorithm)
    store.write([*objects, made])
    return made


def ends(pid: int) -> bool:
    """Wait for the end of a process that was killed; it need not be a child."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    waiting = select.poll()
    waiting.register(pidfd, select.POLLIN)
    ended = bool(waiting.poll(PATIENCE * 1000))
    os.close(pidfd)
    return ended
