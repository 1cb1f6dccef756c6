"""Which store and signer a program gets: a one-shot command git's processes, one that lives long its own process."""

from __future__ import annotations

import pytest
from tests.helpers import Repo, new_repo

from git_coord.app import App, open_app
from git_coord.crypto.keys import InProcessSigner, SshKeygenSigner
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base
from git_coord.service.claims import ClaimGranted, Wanted, claim
from git_coord.service.ledger import open_ledger
from git_coord.store.gitcli import GitStore
from git_coord.store.interface import Store
from git_coord.store.libgit2 import LibGit2Store
from git_coord.store.refcache import RefCache


def store_of(app: App) -> Store:
    assert isinstance(app.coord.store, RefCache)
    return app.coord.store.below


def test_a_one_shot_command_works_with_processes(repo: Repo) -> None:
    assert repo.coord("init", "--agent", "alpha").code == 0
    app = open_app(str(repo.path), repo.env)
    assert (type(store_of(app)), type(app.coord.signer)) == (GitStore, SshKeygenSigner)


def test_a_long_lived_one_reads_and_signs_itself_and_sees_what_others_did(repo: Repo) -> None:
    assert repo.coord("init", "--agent", "alpha").code == 0
    app = open_app(str(repo.path), repo.env, long_lived=True)
    assert (type(store_of(app)), type(app.coord.signer)) == (LibGit2Store, InProcessSigner)
    for name in ("a.txt", "b.txt"):
        repo.coord_json("claim", f"other-{name}")
        repo.git("gc", "-q", "--prune=now")
        app.look_again()
        open_ledger(app.coord)
        item = Item(ItemKind.PATH, name, Intent.EDIT)
        wanted = Wanted((item,), "", "standard", 7200, None, Base(None, None, None))
        assert isinstance(claim(app.coord, wanted), ClaimGranted)
    held = {row["path"] for claim in repo.coord_json("status", "--local")["claims"] for row in claim["items"]}
    assert held == {"a.txt", "b.txt", "other-a.txt", "other-b.txt"}
    assert repo.git("fsck", "--strict", "--no-dangling") == ""


def test_the_upstream_of_a_long_lived_one_is_as_it_is_now(repo: Repo) -> None:
    app = open_app(str(repo.path), repo.env, long_lived=True)
    assert app.worktree.base().upstream is None
    repo.git("branch", "other")
    repo.git("branch", "-q", "--set-upstream-to=other")
    assert app.worktree.base().upstream == repo.rev("other")


@pytest.mark.parametrize("why", ["sha256", "partial", "fsync"])
def test_what_libgit2_cannot_or_should_not_read_is_left_to_git(why: str, repo: Repo) -> None:
    place = repo
    if why == "sha256":
        place = new_repo(repo.path.parent / "sha256", repo.env, "--object-format=sha256")
    elif why == "partial":
        repo.git("config", "extensions.partialClone", "origin")
        repo.git("config", "core.repositoryFormatVersion", "1")
    else:
        repo.git("config", "core.fsync", "all")
    assert type(store_of(open_app(str(place.path), place.env, long_lived=True))) is GitStore
