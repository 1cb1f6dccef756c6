"""The user's commits as plumbing shows them: merges, roots, renames, submodules, odd names, both hashes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.helpers import Repo, new_repo

from git_coord.domain.carried import TreeEntry
from git_coord.domain.commits import Delta
from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.store.git import Git
from git_coord.store.userhistory import GitHistory


def history(repo: Repo, remote: str | None = None) -> GitHistory:
    return GitHistory(Git(repo.path / ".git", repo.env, repo.path), remote)


def paths(repo: Repo, *commits: str) -> list[list[str]]:
    return [[delta.path for delta in commit.changes] for commit in history(repo).named([Oid(oid) for oid in commits])]


@pytest.fixture(params=["sha1", "sha256"])
def any_repo(request: pytest.FixtureRequest, tmp_path: Path, env: dict[str, str]) -> Repo:
    return new_repo(tmp_path / "any", env, f"--object-format={request.param}")


def test_commits_come_parents_first_with_blobs_before_and_after(any_repo: Repo) -> None:
    first = any_repo.commit("1", a="1\n")
    second = any_repo.commit("2", a="2\n", b="b\n")
    any_repo.git("rm", "-q", "a")
    third = any_repo.commit("3")
    names = (f"{first}:a", f"{second}:a", f"{second}:b")
    one, two, blob = (TreeEntry("100644", Oid(any_repo.rev(name))) for name in names)
    found = history(any_repo).commits([Oid(third)], [])
    assert [(commit.oid, commit.parents) for commit in found] == [(first, ()), (second, (first,)), (third, (second,))]
    assert [commit.changes for commit in found] == [
        (Delta("a", None, one),),
        (Delta("a", one, two), Delta("b", None, blob)),
        (Delta("a", two, None),),
    ]


def test_a_range_leaves_out_what_is_excluded_and_what_the_remote_has(any_repo: Repo) -> None:
    first, second, third = (any_repo.commit(name, a=name) for name in "123")
    assert [commit.oid for commit in history(any_repo).commits([Oid(third)], [Oid(first)])] == [second, third]
    any_repo.git("update-ref", "refs/remotes/hub/main", second)
    any_repo.git("update-ref", "refs/remotes/other/main", third)
    assert [commit.oid for commit in history(any_repo).commits([Oid(third)], [], "hub")] == [third]
    assert [commit.oid for commit in history(any_repo).commits([Oid(third)], [], "nobody")] == [first, second, third]
    assert history(any_repo).commits([], [Oid(first)]) == []


def test_a_merges_own_delta_is_what_differs_from_all_parents(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", side="s", both="1\n2\n3\n4\n5\n6\n")
    repo.git("checkout", "-q", "main")
    repo.commit("main", main="m")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    clean = repo.commit("clean merge")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    evil = repo.commit("evil merge", side="changed", extra="x")
    assert paths(repo, clean, evil) == [[], ["extra", "side"]]
    [found] = history(repo).named([Oid(evil)])
    sides = [TreeEntry("100644", Oid(repo.rev(f"{name}:side"))) for name in (f"{evil}^2", evil)]
    assert found.changes[1] == Delta("side", None, sides[1], (sides[0],))


def test_both_sides_of_a_rename_count_and_so_does_a_mode(repo: Repo) -> None:
    repo.git("config", "diff.renames", "copies")
    repo.git("mv", "README.md", "READ.md")
    renamed = repo.commit("rename")
    (repo.path / "READ.md").chmod(0o755)
    repo.git("add", "READ.md")
    assert paths(repo, renamed, repo.commit("mode")) == [["READ.md", "README.md"], ["READ.md"]]


def test_a_submodule_that_a_tracked_file_hides_is_seen(repo: Repo) -> None:
    repo.commit("modules", **{".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = ./s\n\tignore = all\n'})
    repo.git("config", "diff.ignoreSubmodules", "all")
    for digit in "12":
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{digit * 40},s")
        repo.git("update-ref", "HEAD", repo.git("commit-tree", "-p", "HEAD", "-m", "pointer", repo.git("write-tree")))
    [moved] = history(repo).named([Oid(repo.rev("HEAD"))])
    assert moved.changes == (Delta("s", *(TreeEntry("160000", Oid(digit * 40)) for digit in "12")),)


def test_names_are_whole_whatever_bytes_they_have(repo: Repo) -> None:
    names = ['with "quotes"', "new\nline", "tab\t", "é", ":colon", "byte\udcff"]
    for name in names:
        repo.write(name, name.encode("utf-8", "surrogateescape"))
    repo.git("add", "-A")
    [found] = paths(repo, repo.commit("odd"))
    assert sorted(found) == sorted(names)


def test_names_resolve_to_commits_or_to_nothing(repo: Repo) -> None:
    repo.git("tag", "-a", "-m", "t", "annotated")
    head = repo.rev("HEAD")
    names = ["HEAD", "annotated", "HEAD:README.md", "HEAD^{tree}", "0" * 40, "gone", "-x", "a\nb", "main", ""]
    assert history(repo).resolve(names) == [head, head, None, None, None, None, None, None, head, None]
    assert history(repo).resolve([]) == []


def test_replaced_objects_are_no_decoys(repo: Repo) -> None:
    true = repo.commit("true", a="1")
    decoy = repo.git("commit-tree", "-p", f"{true}^", "-m", "decoy", f"{true}^^{{tree}}")
    repo.git("replace", true, decoy)
    assert paths(repo, true) == [["a"]]


def test_commits_that_no_branch_has_are_unreachable(repo: Repo) -> None:
    dropped = Oid(repo.commit("dropped", a="1"))
    repo.git("reset", "-q", "--hard", "HEAD~1")
    kept, gone = Oid(repo.rev("HEAD")), Oid("1" * 40)
    assert history(repo).unreachable([dropped, kept, gone]) == {dropped}
    assert history(repo).unreachable([]) == set()
    assert history(repo).named([gone, kept]) == history(repo).named([kept])


def test_a_shallow_clone_knows_where_it_is_cut_off(repo: Repo, tmp_path: Path) -> None:
    base = Oid(repo.rev("HEAD"))
    commits = [repo.commit(name, a=name) for name in "123"]
    shallow = Repo(tmp_path / "shallow", repo.env)
    repo.git("clone", "-q", "--depth=2", f"file://{repo.path}", str(shallow.path))
    tip, cut = Oid(commits[2]), Oid(commits[1])
    seen = history(shallow, "origin")
    assert seen.is_cut_off(seen.commits([tip], [cut]), cut, tip) is False
    assert seen.is_cut_off(seen.commits([tip], []), cut, tip) is True
    assert history(repo).is_cut_off(history(repo).commits([tip], [base]), base, tip) is False
    assert (seen.default_tip(5), history(repo).default_tip(5)) == (tip, None)


def test_the_remote_is_asked_for_its_default_branch_where_this_clone_has_no_copy(repo: Repo, tmp_path: Path) -> None:
    other = new_repo(tmp_path / "other", repo.env)
    other.git("remote", "add", "origin", str(repo.path))
    assert history(other, "origin").default_tip(5) == repo.rev("HEAD")


def test_a_remote_that_does_not_say_its_default_branch_is_named(repo: Repo) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        repo.git("remote", "add", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/hub")
        with pytest.raises(CoordError) as caught:
            history(repo, "origin").default_tip(0.5)
    assert (caught.value.kind, caught.value.message) == (Kind.UNKNOWN, "no answer from origin in 0.5 s")
