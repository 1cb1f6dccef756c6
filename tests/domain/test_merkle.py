"""Trees and objects have the ids git gives them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.world import oid_of
from tests.helpers import Repo

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import Tree, hash_object, parse_tree, tree_of

EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
AWKWARD = ["a", "a.b", "a-b", "a0", "ab", "B", "_", "a/b", "0000", "op/0000"]
"""Names around the slash that git sorts a directory by."""


@pytest.fixture(params=["sha1", "sha256"])
def bare(repo: Repo, request: pytest.FixtureRequest) -> Repo:
    """Return a bare repository of either object format."""
    repo.git("init", "-q", "--bare", f"--object-format={request.param}", request.param)
    return Repo(repo.path / request.param, repo.env)


def build(*paths: str, leaf: Oid | None = None) -> Tree:
    """Return a tree with the same blob at every path."""
    tree = Tree({})
    for path in paths:
        tree = tree.changed(path, leaf or oid_of("1"))
    return tree


def id_of(tree: Tree, algorithm: str = "sha1") -> Oid:
    """Return a tree's id."""
    list(tree.hashed(algorithm))
    assert tree.oid is not None
    return tree.oid


@pytest.mark.parametrize("data", [b"", b"hello\n", b"\0\xff" * 5000])
def test_blobs_have_the_ids_of_git_hash_object(bare: Repo, data: bytes) -> None:
    expected = bare.git("hash-object", "--stdin", input=data)
    assert hash_object("blob", data, bare.path.name).oid == expected


def test_trees_have_the_ids_of_git_mktree(bare: Repo) -> None:
    algorithm = bare.path.name
    blob = hash_object("blob", b"", algorithm).oid
    bare.git("hash-object", "-w", "--stdin", input=b"")
    rows = "".join(f"100644 {blob} 0\t{path}\n" for path in AWKWARD if path != "a")
    index = bare.with_env(GIT_INDEX_FILE=str(bare.path / "scratch"))
    index.git("update-index", "--add", "--index-info", input=rows)
    names = [path for path in AWKWARD if path != "a"]
    assert id_of(build(*names, leaf=blob), algorithm) == index.git("write-tree")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_the_empty_tree_is_gits_empty_tree(algorithm: str) -> None:
    assert id_of(Tree({}), algorithm) == EMPTY_TREES[algorithm]


def test_a_tree_object_is_what_git_writes(bare: Repo) -> None:
    algorithm = bare.path.name
    blob = hash_object("blob", b"", algorithm).oid
    (made,) = build("b", "a.b", leaf=blob).hashed(algorithm)
    bare.git("hash-object", "-w", "--stdin", input=b"")
    bare.git("mktree", input=f"100644 blob {blob}\tb\n100644 blob {blob}\ta.b\n")
    done = subprocess.run(["git", "cat-file", "tree", made.oid], cwd=bare.path, env=bare.env, stdout=-1, check=True)
    assert done.stdout == made.data
    assert parse_tree(made.data, algorithm) == [("100644", "a.b", blob), ("100644", "b", blob)]


names = st.text("ab.-0", min_size=1, max_size=3)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@settings(deadline=None)
@given(st.lists(st.tuples(paths, st.booleans()), max_size=12))
def test_a_tree_depends_on_what_is_in_it_and_not_on_how_it_came_there(changes: list[tuple[str, bool]]) -> None:
    tree, kept = Tree({}), dict[str, Oid]()
    for path, is_set in changes:
        before, untouched = dict(tree.entries), id_of(tree)
        tree, old = tree.changed(path, oid_of("1") if is_set else None), tree
        assert (old.entries, id_of(Tree(before))) == (before, untouched)
        gone = [name for name in kept if name == path or name.startswith(path + "/") or path.startswith(name + "/")]
        below = [name for name in gone if path.startswith(name + "/")]
        for name in gone if is_set else set(gone) - set(below):
            del kept[name]
        if is_set:
            kept[path] = oid_of("1")
        elif below:
            del kept[below[0]]  # a file in the way of what is removed goes with it
    assert id_of(tree) == id_of(build(*sorted(kept)))
    assert all(tree.get(path) == oid_of("1") for path in kept)


def test_only_what_changed_is_new(bare: Repo) -> None:
    tree = build("claims/0/1/grant", "claims/0/2/grant", "agents/a", "format")
    assert len(list(tree.hashed("sha1"))) == 6
    assert list(tree.hashed("sha1")) == []
    changed = tree.changed("claims/0/2/grant", oid_of("2"))
    assert len(list(changed.hashed("sha1"))) == 4
    assert changed.get("agents") is tree.get("agents")


def test_directories_that_become_empty_are_gone() -> None:
    tree = build("claims/0/1/grant").changed("claims/0/1", None)
    assert (tree.entries, tree.get("claims/0/1/grant"), tree.get("claims")) == ({}, None, None)


def test_a_listing_gives_the_tree_back_with_its_ids() -> None:
    tree = build("a/b/c", "a/d", "e")
    id_of(tree)
    rows = [("tree", "a", _oid(tree, "a")), ("tree", "a/b", _oid(tree, "a/b"))]
    rows += [("blob", path, oid_of("1")) for path in ("a/b/c", "a/d", "e")]
    again = tree_of(rows, tree.oid)
    assert list(again.hashed("sha1")) == []
    assert id_of(again.changed("x", oid_of("1")).changed("x", None)) == tree.oid


def _oid(tree: Tree, path: str) -> Oid:
    found = tree.get(path)
    assert isinstance(found, Tree)
    assert found.oid is not None
    return found.oid
