"""Statements: what is read, what is refused, and in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.domain.world import NOBODY, REPO, START, glob, oid_of, path, statement, task

from git_coord.domain import canonical
from git_coord.domain.ids import Agent, Nonce, is_agent, is_nonce, is_oid, is_session, is_uuid
from git_coord.domain.statements import (
    CLAIM_LIMIT,
    OPERATIONS,
    RECORD_LIMIT,
    Claim,
    Rejoin,
    Stamp,
    parse_operation,
    rotation_challenge,
    to_bytes,
)
from git_coord.errors import CoordError, Kind


def claim() -> Claim:
    """Return a claim with something in every field."""
    return statement(
        7,
        Claim,
        "alpha",
        base=NOBODY._replace(head=oid_of("1")),
        items=(path("é", "read"), path("a/\udcff", blob=oid_of("2")), glob("**/*.py"), task("E-1/2")),
        lease="quick",
        not_after=START,
        purpose='say "why"',
        stamps=(Stamp("n", ""),),
        ttl=60,
    )


def refusal(**changes: Any) -> str:
    """Return what is said to a claim with some members changed, or dropped where the value is `...`."""
    obj = json.loads(to_bytes(claim())) | changes
    data = canonical.dumps({name: value for name, value in obj.items() if value is not ...})
    with pytest.raises(CoordError) as caught:
        parse_operation(data)
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message


def test_a_statement_has_this_spelling_and_is_read_back() -> None:
    data = (
        b'{"agent":"alpha","at":"2026-01-01T00:07:00Z","base":{"default":null,"head":"' + b"1" * 40 + b'",'
        b'"upstream":null},"head":"' + b"a" * 40 + b'","items":[{"intent":"read","path":"\\u00e9"},'
        b'{"blob":"' + b"2" * 40 + b'","intent":"edit","path":{"b64":"YS//"}},{"glob":"**/*.py","intent":"edit"},'
        b'{"intent":"edit","task":"E-1/2"}],"kind":"claim","lease":"quick","nonce":"00000000000000000000000000000007",'
        b'"not_after":"2026-01-01T00:00:00Z","purpose":"say \\"why\\"","repo":"00000000-0000-4000-8000-000000000001",'
        b'"seq":7,"session":"alpha-1","stamps":[{"name":"n","value":""}],"ttl":60,"v":3,"wait_until":null}'
    )
    assert to_bytes(claim()) == data
    assert parse_operation(data) == claim()


def test_a_kind_without_fields_has_only_the_common_ones() -> None:
    op = statement(7, Rejoin, "alpha")
    assert parse_operation(to_bytes(op)) == op
    members = set(json.loads(to_bytes(op)))
    assert members == {"v", "kind", "repo", "agent", "session", "seq", "at", "nonce", "head"}


def test_what_a_newer_version_wrote_is_said_to_need_it() -> None:
    assert refusal(v=4) == "statement version 4 needs a newer git coord (this one reads 3)"
    assert refusal(kind="retire") == "operation kind 'retire' needs a newer git coord"
    assert refusal(after=None) == "field 'after' of claim needs a newer git coord"
    assert refusal(items=[{"host": "main", "intent": "edit"}]) == (
        "an item has 'host', which this version does not know: a newer git coord is needed"
    )


def test_what_is_no_statement_at_all_is_said_to_be_none() -> None:
    for changes in ({"v": ...}, {"v": "1"}, {"v": True}, {"kind": ...}, {"kind": 1}):
        assert refusal(**changes) == "not a statement: no version or kind"
    with pytest.raises(CoordError, match=r"^not a statement: no version or kind$"):
        parse_operation(b"[]")


def test_a_missing_or_wrong_field_is_named_with_what_was_expected() -> None:
    assert refusal(ttl=...) == "claim has no field 'ttl'"
    assert refusal(ttl=0) == "field 'ttl' of claim is not an integer from 1 to 31622400"
    assert refusal(seq=True) == "field 'seq' of claim is not an integer from 1 to 9007199254740991"
    assert refusal(lease="forever") == "field 'lease' of claim is not one of quick, standard, long"
    assert refusal(at="yesterday") == "field 'at' of claim is not a time like 2026-01-31T12:00:00Z"
    assert refusal(items=[]) == "field 'items' of claim is not a list of 1 to 5000"
    twice = [{"intent": "read", "path": "a"}, {"intent": "edit", "path": "a"}]
    assert refusal(items=twice) == "field 'items' of claim is not a list without repetitions"
    assert refusal(base={}) == "field 'base' of claim is not an object with exactly head, upstream, default"
    assert refusal(purpose="\u202e") == (
        "field 'purpose' of claim is not one line of at most 500 characters without control characters"
    )


def test_lists_of_claims_and_items_may_be_large_records_and_no_others() -> None:
    large = {kind for kind, cls in OPERATIONS.items() if cls.LIMIT == CLAIM_LIMIT}
    assert large == {"claim", "renew", "release", "break", "takeover", "settle", "replay"}
    assert {cls.LIMIT for kind, cls in OPERATIONS.items() if kind not in large} == {RECORD_LIMIT}


def test_the_challenge_of_a_rotation_is_one_line() -> None:
    challenge = rotation_challenge(REPO, Agent("alpha"), Nonce("0" * 32))
    assert challenge == f"git-coord rotate {REPO} alpha {'0' * 32}\n".encode()


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            is_agent,
            ["a", "0", "a.b-c_d", "a" * 63],
            ["", "A", "-a", ".a", "a.", "a..b", "a.lock", "a" * 64, "a/b", "a\n", "é"],
        ),
        (is_nonce, ["0123456789abcdef" * 2], ["0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n"]),
        (is_oid, ["0" * 40, "f" * 64], ["", "0" * 41, "0" * 63, "F" * 40, "g" * 40, "0" * 40 + "\n"]),
        (is_session, ["a", "Z9._:@-", "a" * 128], ["", "-a", "a b", "a" * 129, "a/b", "a\n", "é"]),
        (is_uuid, [REPO], ["", REPO.upper() + "A", REPO[:-1], REPO + "\n", REPO.replace("-", "")]),
    ],
)
def test_names_have_exactly_these_shapes(check: Any, good: list[str], bad: list[str]) -> None:
    assert [name for name in good if not check(name)] == []
    assert [name for name in bad if check(name)] == []
