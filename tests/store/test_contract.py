"""What every store promises; the memory store may stand in for git because it passes too."""

from __future__ import annotations

import pytest

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import hash_object
from git_coord.errors import CoordError, Kind
from git_coord.store.interface import ABSENT, RefUpdate, Store, Swap, TreeRow
from git_coord.store.refnames import FETCHED_LEDGER, LEDGER, SEEN, Ref

from .conftest import blob, commit

ALPHA = Ref("refs/coord/requests/alpha")
BETA = Ref("refs/coord/requests/beta")


def two(store: Store) -> tuple[Oid, Oid]:
    return commit(store, {"a": "1"}).oid, commit(store, {"a": "2"}).oid


def test_the_algorithm_is_the_length_of_its_ids(store: Store) -> None:
    assert len(blob(store, "x").oid) == {"sha1": 40, "sha256": 64}[store.algorithm]


def test_what_is_written_can_be_read_at_once(store: Store) -> None:
    made = [blob(store, "one"), blob(store, ""), hash_object("blob", bytes(range(256)) * 300, store.algorithm)]
    store.write(made)
    assert store.read([each.oid for each in made]) == made


def test_an_object_may_be_written_again(store: Store) -> None:
    made = blob(store, "one")
    store.write([made, made])
    store.write([made])
    assert store.read([made.oid, made.oid]) == [made, made]


def test_a_large_object_is_stored_whole(store: Store) -> None:
    made = hash_object("blob", b"0123456789abcdef" * 200_000, store.algorithm)
    store.write([made])
    assert store.read([made.oid]) == [made]


def test_writing_nothing_is_allowed(store: Store) -> None:
    store.write([])
    assert store.read([]) == []


def test_what_is_not_there_reads_as_none_and_keeps_its_place(store: Store) -> None:
    made = commit(store, {"a/b": "1"})
    absent = "1" * len(made.oid)
    specs = [f"{made.oid}:nothing", absent, made.oid, f"{absent}:a", f"{made.oid}:a/c", f"{made.oid}:a/b/c"]
    assert store.read(specs) == [None, None, made, None, None, None]


def test_objects_are_read_by_path_below_a_commit_or_tree(store: Store) -> None:
    made = commit(store, {"a/b c/d": "deep", "-e": "x"})
    tree = made.data[5 : 5 + len(made.oid)].decode()
    assert store.read([f"{made.oid}:a/b c/d", f"{tree}:-e"]) == [blob(store, "deep"), blob(store, "x")]
    [folder] = store.read([f"{made.oid}:a"])
    assert folder is not None
    assert folder.type == "tree"


def test_a_name_with_a_newline_is_one_name_and_names_nothing(store: Store) -> None:
    made = commit(store, {"a": "1"})
    assert store.read([f"{made.oid}:a\n{made.oid}:a", f"{made.oid}:a\0", made.oid]) == [None, None, made]


def test_the_size_is_looked_at_before_the_content(store: Store) -> None:
    small, large = blob(store, "12345"), blob(store, "123456")
    store.write([small, large])
    absent = "1" * len(small.oid)
    assert store.read([large.oid, small.oid, absent], limit=5) == [
        (large.oid, "oversized", b""),
        small,
        None,
    ]


def test_a_listing_has_every_row_with_folders_before_their_content(store: Store) -> None:
    made = commit(store, {"a/b/c": "1", "a/d": "2", "e": "3"})
    rows = store.listing(made.oid)
    assert [(row.type, row.path) for row in rows] == [
        ("tree", "a"),
        ("tree", "a/b"),
        ("blob", "a/b/c"),
        ("blob", "a/d"),
        ("blob", "e"),
    ]
    assert rows[2] == TreeRow("blob", "a/b/c", blob(store, "1").oid)


def test_a_tree_lists_as_its_commit_does(store: Store) -> None:
    made = commit(store, {"a/b": "1"})
    tree = Oid(made.data[5 : 5 + len(made.oid)].decode())
    assert store.listing(tree) == store.listing(made.oid)


def test_listing_what_is_not_there_is_an_error(store: Store) -> None:
    with pytest.raises(CoordError) as caught:
        store.listing(Oid("1" * len(blob(store, "").oid)))
    assert caught.value.kind is Kind.ERROR


def test_history_is_the_first_parent_chain_oldest_first(store: Store) -> None:
    root = commit(store, {"a": "1"})
    side = commit(store, {"a": "side"})
    second = commit(store, {"a": "2"}, root.oid)
    third = commit(store, {"a": "3"}, second.oid, side.oid)
    assert store.history(third.oid, None) == [root.oid, second.oid, third.oid]
    assert store.history(third.oid, root.oid) == [second.oid, third.oid]
    assert store.history(third.oid, third.oid) == []


def test_history_starts_at_the_root_when_since_is_not_on_the_chain(store: Store) -> None:
    root = commit(store, {"a": "1"})
    second = commit(store, {"a": "2"}, root.oid)
    other = commit(store, {"a": "other"}, root.oid)
    stranger = commit(store, {"a": "stranger"})
    absent = Oid("1" * len(root.oid))
    for since in (other.oid, stranger.oid, absent):
        assert store.history(second.oid, since) == [root.oid, second.oid]
    assert store.history(root.oid, second.oid) == [root.oid]


def test_history_with_a_hole_is_untrusted(store: Store) -> None:
    absent = Oid("1" * len(blob(store, "").oid))
    child = commit(store, {"a": "1"}, absent)
    only_blob = blob(store, "no commit")
    store.write([only_blob])
    for tip in (child.oid, absent, only_blob.oid):
        with pytest.raises(CoordError) as caught:
            store.history(tip, None)
        assert caught.value.kind is Kind.UNTRUSTED


def test_refs_are_found_by_name_or_below_a_slash(store: Store) -> None:
    one, other = two(store)
    lookalike = Ref("refs/coord/requests-of-others")
    moves = [(LEDGER, one), (ALPHA, one), (BETA, other), (lookalike, one), (SEEN, one)]
    assert store.swap([RefUpdate(ref, oid, ABSENT) for ref, oid in moves], "set") is Swap.MOVED
    assert store.refs("refs/coord/requests/") == {ALPHA: one, BETA: other}
    assert store.refs(LEDGER, SEEN) == {LEDGER: one, SEEN: one}
    assert store.refs("refs/coord/requests/", SEEN) == {ALPHA: one, BETA: other, SEEN: one}
    assert store.refs("refs/coord/requests", FETCHED_LEDGER) == {}
    assert store.refs() == {}


def test_a_swap_moves_all_refs(store: Store) -> None:
    one, other = two(store)
    assert store.swap([RefUpdate(ALPHA, one, ABSENT), RefUpdate(BETA, one, ABSENT)], "create") is Swap.MOVED
    moves = [RefUpdate(ALPHA, other, one), RefUpdate(BETA, ABSENT, one), RefUpdate(LEDGER, one, ABSENT)]
    assert store.swap(moves, "all at once") is Swap.MOVED
    assert store.refs("refs/coord/") == {ALPHA: other, LEDGER: one}


def test_a_swap_moves_nothing_when_one_ref_has_another_value(store: Store) -> None:
    one, other = two(store)
    store.swap([RefUpdate(ALPHA, one, ABSENT)], "create")
    for wrong in (
        RefUpdate(ALPHA, other, other),
        RefUpdate(ALPHA, other, ABSENT),
        RefUpdate(ALPHA, one, ABSENT),
        RefUpdate(ALPHA, ABSENT, other),
        RefUpdate(ALPHA, ABSENT, ABSENT),
    ):
        assert store.swap([RefUpdate(BETA, one, ABSENT), wrong], "stale") is Swap.STALE
        assert store.refs("refs/coord/") == {ALPHA: one}
    assert store.swap([RefUpdate(BETA, ABSENT, one)], "gone already") is Swap.STALE


def test_a_swap_to_the_same_value_only_checks_it(store: Store) -> None:
    one, other = two(store)
    store.swap([RefUpdate(ALPHA, one, ABSENT)], "create")
    both = [RefUpdate(ALPHA, one, one), RefUpdate(BETA, ABSENT, ABSENT)]
    assert store.swap(both, "check") is Swap.MOVED
    assert store.swap([RefUpdate(ALPHA, other, other)], "check") is Swap.STALE
    assert store.refs("refs/coord/") == {ALPHA: one}


def test_an_empty_swap_moves(store: Store) -> None:
    assert store.swap([], "nothing") is Swap.MOVED


def test_a_swap_to_an_object_that_is_gone_names_it_and_can_be_retried(store: Store) -> None:
    made = blob(store, "pruned")
    with pytest.raises(CoordError) as caught:
        store.swap([RefUpdate(ALPHA, made.oid, ABSENT)], "create")
    assert caught.value.kind is Kind.ERROR
    assert caught.value.data == {"missing": [made.oid]}
    assert store.refs("refs/coord/") == {}
    store.write([made])
    assert store.swap([RefUpdate(ALPHA, made.oid, ABSENT)], "create") is Swap.MOVED


def test_many_objects_do_not_block_the_pipes(store: Store) -> None:
    made = [blob(store, f"{number} " * 500) for number in range(300)]
    store.write(made)
    # More requests than a pipe holds, with more answers than a pipe holds.
    specs = [each.oid for each in made] * 10
    assert store.read(specs) == made * 10
