"""Ledger commits that must never be adopted: each function stores one and returns its id."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from git_coord.crypto.record import seal
from git_coord.domain import canonical, chain
from git_coord.domain.chain import Sealed
from git_coord.domain.ids import Oid
from git_coord.domain.merkle import FILE_MODE, TREE_MODE, Tree
from git_coord.domain.statements import Break, Cancel, Claim, Join, Policy, Rejoin, to_bytes
from tests.hostile.attacker import Attacker

OTHER = "11111111-1111-4111-8111-111111111111"


def places(*operations: Sealed, by: Attacker) -> Oid:
    """Store the ledger commit of operations and return its id."""
    made = by.places(*operations)
    by.write(made.objects)
    return made.head.oid


def rebuilt(by: Attacker, change: Callable[[Tree], Tree]) -> Oid:
    """Store a commit of a harmless operation whose tree is something else."""
    made = by.places(by.sealed(by.cancel()))
    by.write(made.objects)
    tree = change(made.head.tree)
    by.write(list(tree.hashed("sha1")))
    assert tree.oid is not None
    return by.commit(tree.oid, by.head.oid, date=made.head.date, message="mallory cancels")


def with_file(by: Attacker, path: str, data: bytes) -> Oid:
    return rebuilt(by, lambda tree: tree.changed(path, by.put("blob", data)))


def forged_in_alphas_name(by: Attacker) -> Oid:
    return places(by.sealed(by.release_of("alpha", agent="alpha")), by=by)


def unsigned(by: Attacker) -> Oid:
    op = by.release_of("alpha", agent="alpha")
    return places(Sealed(to_bytes(op) + b"\n", op, by.key.key), by=by)


def signature_of_other_bytes(by: Attacker) -> Oid:
    op, good = by.cancel(), by.sealed(by.cancel())
    return places(Sealed(to_bytes(op) + b"\n" + good.record.partition(b"\n")[2], op, by.key.key), by=by)


def wrong_namespace(by: Attacker) -> Oid:
    return places(by.sealed(by.cancel(), namespace="git"), by=by)


def of_another_ledger(by: Attacker) -> Oid:
    return places(by.sealed(by.cancel(repo=OTHER)), by=by)


def replayed(by: Attacker) -> Oid:
    """Place the record of alpha's claim a second time."""
    record = by.coord.store.read([f"{by.head.oid}:claims/0/1/claim"])[0]
    assert record is not None
    claim = next(iter(by.head.state.claims.values()))
    fields = {"base": None, "items": claim.items, "lease": "quick", "not_after": None, "purpose": "", "stamps": None}
    op = by.op(Claim, agent="alpha", ttl=300, **fields)
    old = Sealed(record.data, op, by.head.state.agents[claim.holder].key)
    return places(old, by=by)


def key_of_a_stranger(by: Attacker) -> Oid:
    return places(by.sealed(by.cancel(), by.new_key("stranger")), by=by)


def key_joins_again_under_another_name(by: Attacker) -> Oid:
    return places(by.sealed(by.op(Join, agent="mallet", seq=1, key=by.key.key)), by=by)


def taken_name(by: Attacker) -> Oid:
    key = by.new_key("twin")
    return places(by.sealed(by.op(Join, agent="alpha", seq=99, key=key.key), key), by=by)


def no_head(by: Attacker) -> Oid:
    return places(by.sealed(by.cancel(head=None)), by=by)


def session_moved_by_a_stranger(by: Attacker) -> Oid:
    return places(by.sealed(by.op(Rejoin, agent="alpha", session="mine")), by=by)


def break_by_a_stranger(by: Attacker) -> Oid:
    return places(by.sealed(by.op(Break, claims=tuple(by.head.state.claims), reason="mine")), by=by)


def _policy(by: Attacker, **changes: object) -> Policy:
    policy = by.head.state.policy
    kept = {name: getattr(policy, name) for name in Policy.FIELDS}
    made: Policy = by.op(Policy, **{**kept, **changes})
    return made


def policy_by_a_stranger(by: Attacker) -> Oid:
    return places(by.sealed(_policy(by, admins=(by.key.key,))), by=by)


def void_by_a_stranger(by: Attacker) -> Oid:
    return places(by.sealed(_policy(by, void=(by.head.oid,))), by=by)


def holder_changed_without_an_operation(by: Attacker) -> Oid:
    grant = by.coord.store.read([f"{by.head.oid}:claims/0/1/grant"])[0]
    assert grant is not None
    return with_file(by, "claims/0/1/grant", grant.data.replace(b'"alpha"', b'"mallory"'))


def claim_dropped_without_an_operation(by: Attacker) -> Oid:
    return rebuilt(by, lambda tree: tree.changed("claims", None))


def extra_file(by: Attacker) -> Oid:
    return with_file(by, "claims/0/1/extra", b"x")


def extra_folder_of_git(by: Attacker) -> Oid:
    return with_file(by, "x/y/z", b"[core]\n\tfsmonitor = true\n")


def operation_swapped(by: Attacker) -> Oid:
    return with_file(by, "op/0000", by.sealed(by.cancel(seq=99)).record)


def operation_is_a_folder(by: Attacker) -> Oid:
    return with_file(by, "op/0000/x", b"x")


def no_operation(by: Attacker) -> Oid:
    return rebuilt(by, lambda tree: tree.changed("op", None))


def twice_the_same_name(by: Attacker) -> Oid:
    blob = by.put("blob", by.sealed(by.cancel()).record)
    row = f"{FILE_MODE} 0000\0".encode() + bytes.fromhex(blob)
    folder = by.put("tree", row + row)
    return by.commit(by.put("tree", f"{TREE_MODE} op\0".encode() + bytes.fromhex(folder)), by.head.oid)


def executable_mode(by: Attacker) -> Oid:
    blob = by.put("blob", by.sealed(by.cancel()).record)
    folder = by.put("tree", b"100755 0000\0" + bytes.fromhex(blob))
    return by.commit(by.put("tree", f"{TREE_MODE} op\0".encode() + bytes.fromhex(folder)), by.head.oid)


def _as_commit(by: Attacker, *parents: Oid, **changes: str) -> Oid:
    made = by.places(by.sealed(by.cancel()))
    by.write(made.objects)
    assert made.head.tree.oid is not None
    words = {"message": "mallory cancels", **changes}
    return by.commit(made.head.tree.oid, *(parents or (by.head.oid,)), date=made.head.date, **words)


def second_parent(by: Attacker) -> Oid:
    return _as_commit(by, by.head.oid, Oid(by.clone.rev("main")))


def merge_beside_the_chain(by: Attacker) -> Oid:
    return _as_commit(by, Oid(by.clone.rev("main")), by.head.oid)


def another_author(by: Attacker) -> Oid:
    return _as_commit(by, author="Alpha <alpha@example.com>")


def another_message(by: Attacker) -> Oid:
    return _as_commit(by, message="\x1b[2J\u202ealpha releases #1")


def extra_header(by: Attacker) -> Oid:
    return _as_commit(by, header="encoding UTF-16")


def another_date(by: Attacker) -> Oid:
    made = by.places(by.sealed(by.cancel()))
    by.write(made.objects)
    assert made.head.tree.oid is not None
    return by.commit(made.head.tree.oid, by.head.oid, date=made.head.date + 1, message="mallory cancels")


def out_of_turn(by: Attacker) -> Oid:
    key = by.new_key("second")
    join = by.sealed(by.op(Join, agent="mallet", seq=1, key=key.key), key)
    order = chain.turn_order
    with mock.patch.object(chain, "turn_order", lambda parent, turns: list(order(parent, turns))[::-1]):
        return places(join, by.sealed(by.cancel()), by=by)


def too_many(by: Attacker) -> Oid:
    first = by.cancel().seq
    many = [by.sealed(by.op(Cancel, op="0" * 32, seq=first + n)) for n in range(257)]
    with mock.patch.object(chain, "MAX_PLACED", 300):
        return places(*many, by=by)


def future_version(by: Attacker) -> Oid:
    return places(by.statement(lambda obj: {**obj, "v": 4}), by=by)


def future_kind(by: Attacker) -> Oid:
    return places(by.statement(lambda obj: {**obj, "kind": "retire"}), by=by)


def future_member(by: Attacker) -> Oid:
    return places(by.statement(lambda obj: {**obj, "\u202enew": 1}), by=by)


def duplicate_key(by: Attacker) -> Oid:
    return places(by.line(to_bytes(by.cancel()).replace(b'"agent":', b'"agent":"alpha","agent":')), by=by)


def deep_json(by: Attacker) -> Oid:
    return places(by.line(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), by=by)


def line_of_a_megabyte(by: Attacker) -> Oid:
    return places(by.line(canonical.dumps({"v": 3, "kind": "x" * 1_100_000})), by=by)


def escapes_in_a_purpose(by: Attacker) -> Oid:
    claim = {"purpose": "\x1b[2J\u202e", "kind": "claim", "items": [{"intent": "edit", "path": "b"}], "ttl": 300}
    more = {
        "base": {"default": None, "head": None, "upstream": None},
        "stamps": None,
        "lease": "quick",
        "not_after": None,
    }
    return places(by.statement(lambda obj: {k: v for k, v in obj.items() if k != "op"} | claim | more), by=by)


def cyrillic_agent(by: Attacker) -> Oid:
    key = by.new_key("twin")
    join = {"agent": "\u0430lpha", "kind": "join", "key": key.key, "seq": 1}
    data = canonical.loads(to_bytes(by.cancel()))
    record = seal(canonical.dumps({k: v for k, v in data.items() if k != "op"} | join), key)
    return places(Sealed(record, by.cancel(), key.key), by=by)
