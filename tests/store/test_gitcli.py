"""The stores against what else happens in a repository: other programs, locks, packs, reflogs."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import hash_object
from git_coord.errors import CoordError, Kind
from git_coord.store.gitcli import GitStore
from git_coord.store.interface import ABSENT, RefUpdate, Swap
from git_coord.store.libgit2 import open_libgit2
from git_coord.store.location import discover
from git_coord.store.loose import LooseObjects, loose_objects
from git_coord.store.refnames import LEDGER, Ref
from tests.helpers import Repo, new_repo

from .conftest import ClosableStore, blob, commit, libgit2_store, make_repo, open_store

ALPHA = Ref("refs/coord/requests/alpha")


@pytest.fixture(params=["gitcli", "loose", "libgit2"])
def opened(request: pytest.FixtureRequest, repo: Repo) -> ClosableStore:
    return open_store(request.param, repo)


def test_what_git_does_meanwhile_is_seen(opened: ClosableStore, repo: Repo) -> None:
    first = commit(opened, {"a": "1"}).oid
    opened.swap([RefUpdate(LEDGER, first, ABSENT)], "create")
    assert opened.read([first])[0] is not None
    loose = repo.git("hash-object", "-w", "--stdin", input="loose")
    repo.git("update-ref", LEDGER, loose, first)
    assert opened.refs(LEDGER) == {LEDGER: loose}
    assert opened.swap([RefUpdate(LEDGER, first, first)], "stale") is Swap.STALE
    repo.git("gc", "-q")
    assert opened.refs(LEDGER) == {LEDGER: loose}
    assert opened.read([loose, repo.rev("HEAD:README.md")]) == [blob(opened, "loose"), blob(opened, "hello\n")]
    repo.git("update-ref", "-d", LEDGER)
    assert opened.refs(LEDGER) == {}


def test_objects_fetched_after_opening_are_found(opened: ClosableStore, repo: Repo, tmp_path: Path) -> None:
    opened.read([repo.rev("HEAD")])
    other = new_repo(tmp_path / "other", repo.env)
    tip = other.commit("theirs", **{f"f{number}": str(number) for number in range(150)})  # enough for a kept pack
    repo.git("-c", "fetch.unpackLimit=1", "fetch", "-q", str(other.path), "main")
    assert opened.history(Oid(tip), None) == [tip]
    assert opened.swap([RefUpdate(ALPHA, Oid(tip), ABSENT)], "theirs") is Swap.MOVED


def test_no_reflog_is_written(opened: ClosableStore, repo: Repo) -> None:
    repo.git("config", "core.logAllRefUpdates", "always")
    opened.swap([RefUpdate(LEDGER, commit(opened, {"a": "1"}).oid, ABSENT)], "create")
    assert not (repo.path / ".git/logs" / LEDGER).exists()


def test_a_lock_left_behind_is_locked_and_not_stale(opened: ClosableStore, repo: Repo) -> None:
    one = commit(opened, {"a": "1"}).oid
    lock = repo.path / ".git" / f"{ALPHA}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert opened.swap([RefUpdate(ALPHA, one, ABSENT)], "create") is Swap.LOCKED
    assert lock.name in opened.trouble  # type: ignore[attr-defined]
    lock.unlink()
    assert opened.swap([RefUpdate(ALPHA, one, ABSENT)], "create") is Swap.MOVED


def test_a_lock_that_goes_away_is_waited_for(repo: Repo) -> None:
    lock = repo.path / ".git" / f"{ALPHA}.lock"
    location = discover(repo.path, repo.env)
    store = GitStore(location.git(repo.env), "sha1", sleep=lambda _: lock.unlink())
    one = commit(store, {"a": "1"}).oid
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert store.swap([RefUpdate(ALPHA, one, ABSENT)], "create") is Swap.MOVED


def test_a_packed_refs_lock_keeps_a_deletion_from_being_believed(repo: Repo) -> None:
    store = open_store("gitcli", repo)
    one = commit(store, {"a": "1"}).oid
    store.swap([RefUpdate(ALPHA, one, ABSENT)], "create")
    repo.git("pack-refs", "--all")
    (repo.path / ".git/packed-refs.lock").touch()
    assert store.swap([RefUpdate(ALPHA, ABSENT, one)], "delete") is Swap.LOCKED
    assert store.refs(ALPHA) == {ALPHA: one}


def test_a_fork_talks_to_processes_of_its_own(opened: ClosableStore, repo: Repo) -> None:
    one = commit(opened, {"a": "1"})
    opened.swap([RefUpdate(ALPHA, one.oid, ABSENT)], "create")
    assert opened.read([one.oid]) == [one]
    child = os.fork()
    if child == 0:
        good = opened.read([one.oid, f"{one.oid}:a"]) == [one, blob(opened, "1")]
        os._exit(0 if good and opened.swap([RefUpdate(ALPHA, ABSENT, one.oid)], "child") is Swap.MOVED else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert opened.read([one.oid]) == [one]
    assert opened.swap([RefUpdate(ALPHA, one.oid, ABSENT)], "again") is Swap.MOVED


def test_a_replaced_object_does_not_deceive(opened: ClosableStore, repo: Repo) -> None:
    real, decoy = commit(opened, {"a": "real"}), commit(opened, {"a": "decoy"})
    repo.git("replace", real.oid, decoy.oid)
    assert opened.read([real.oid, f"{real.oid}:a"]) == [real, blob(opened, "real")]
    assert opened.listing(real.oid)[0].oid == blob(opened, "real").oid


def test_a_damaged_object_is_an_error_and_not_absent(opened: ClosableStore, repo: Repo) -> None:
    made = hash_object("blob", random.Random(1).randbytes(3000), "sha1")
    opened.write([made])
    path = repo.path / ".git/objects" / made.oid[:2] / made.oid[2:]
    path.chmod(0o644)
    whole = path.read_bytes()
    # Cut short, as a power cut leaves it: given that file, libgit2 1.9 would never return.
    for damaged in (whole[:1500].ljust(len(whole), b"\0"), whole[:1500], whole[:20]):
        path.write_bytes(damaged)
        with pytest.raises(CoordError) as caught:
            opened.read([made.oid])
        assert caught.value.kind is Kind.ERROR


def test_git_finds_nothing_wrong_with_what_was_written(opened: ClosableStore, repo: Repo) -> None:
    made = commit(opened, {"a/b": "1", "a.b": "2", "c": "3"})
    opened.swap([RefUpdate(LEDGER, made.oid, ABSENT)], "create")
    assert repo.run("git", "fsck", "--strict", "--no-dangling", check=True).out == ""
    assert repo.git("show", f"{LEDGER}:a/b") == "1"


def test_a_repository_that_cannot_be_written_is_an_error(repo: Repo) -> None:
    store = open_store("gitcli", repo)
    objects = repo.path / ".git/objects"
    for folder in (objects / "pack", objects / "info"):
        folder.rmdir()
    objects.rmdir() if not any(objects.iterdir()) else objects.rename(repo.path / "moved")
    objects.touch()
    with pytest.raises(CoordError) as caught:
        store.write([blob(store, "1")])
    assert caught.value.kind is Kind.ERROR


def test_what_borrows_objects_is_left_to_git(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--shared", str(repo.path), str(tmp_path / "borrower"))
    location = discover(tmp_path / "borrower", repo.env)
    git = location.git(repo.env)
    loose = loose_objects(location.common_dir, git.config())
    assert loose is not None
    assert open_libgit2(git, GitStore(git, "sha1"), location.common_dir, loose) is None


def test_libgit2_leaves_to_git_what_it_cannot_open(tmp_path: Path, env: dict[str, str]) -> None:
    location = discover(make_repo("sha256", tmp_path, env).path, env)
    git, loose = location.git(env), LooseObjects(f"{location.common_dir}/objects")
    assert open_libgit2(git, GitStore(git, "sha256"), location.common_dir, loose) is None


def test_a_partial_clone_is_not_fetched_from_in_secret(tmp_path: Path, env: dict[str, str]) -> None:
    source = new_repo(tmp_path / "source", env)
    source.commit("first", a="1\n")
    source.git("config", "uploadpack.allowFilter", "true")
    source.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{source.path}", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", env)
    store = open_store("gitcli", clone)
    own = commit(store, {"b": "ours"})
    with pytest.raises(CoordError) as caught:
        store.read([own.oid, source.rev("HEAD:a")])
    assert caught.value.kind is Kind.ERROR
    assert store.read([own.oid, "1" * 40]) == [own, None]
    allowed = discover(clone.path, env).git(env, network=True)
    for other in (GitStore(allowed, "sha1"), libgit2_store(allowed, f"{clone.path}/.git")):
        assert other.read([source.rev("HEAD:a")]) == [hash_object("blob", b"1\n", "sha1")]
