"""Presence, posts and receipts: unknown members are ignored, everything else is as strict as in the ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.domain.world import START, oid_of, statement

from git_coord.domain import canonical
from git_coord.domain.announcements import (
    Post,
    Posts,
    Presence,
    Receipt,
    ReceiptEntry,
    Taken,
    TouchedPath,
    parse_announcement,
)
from git_coord.domain.carried import TreeEntry
from git_coord.domain.ids import Agent, Nonce
from git_coord.domain.statements import CLAIM_LIMIT, RECORD_LIMIT, to_bytes
from git_coord.errors import CoordError, Kind

POST = Post("abcd1234", START, "open", "who takes the parser?", Agent("beta"), Nonce("1" * 32))
TAKE = Post("abcd1235", START, "taken", "", Agent("beta"), None, Taken(Agent("beta"), "ABCD1234"))
THERE = TreeEntry("100755", oid_of("3"))
TOUCHED = (TouchedPath("a/\udcff", THERE, None), TouchedPath("/..", None, THERE))
ENTRY = ReceiptEntry(oid_of("1"), oid_of("2"), False, TOUCHED)


def presence() -> Presence:
    """Return a heartbeat."""
    fields = {"branch": "main", "host": None, "note": None, "place": None, "queue": 2, "since": START, "state": "busy"}
    return statement(3, Presence, "alpha", **fields, task=None, ttl=900, will="ask gamma")


def posts(*entries: Post) -> Posts:
    """Return an agent's list of posts."""
    return statement(3, Posts, "alpha", posts=entries)


def receipt(*entries: ReceiptEntry) -> Receipt:
    """Return a receipt."""
    return statement(3, Receipt, "alpha", commits=entries)


def refusal(data: bytes, cls: Any) -> str:
    """Return the words with which bytes are refused."""
    with pytest.raises(CoordError) as caught:
        parse_announcement(data, cls)
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message


@pytest.mark.parametrize(
    "record", [presence(), posts(), posts(POST, TAKE), receipt(ENTRY)], ids=lambda record: record.KIND
)
def test_an_announcement_is_read_back(record: Any) -> None:
    assert parse_announcement(to_bytes(record), type(record)) == record


def test_unknown_members_are_ignored_at_the_top_and_nowhere_else() -> None:
    obj = json.loads(to_bytes(posts(POST)))
    assert parse_announcement(canonical.dumps(obj | {"zeal": [1]}), Posts) == posts(POST)
    obj["posts"][0]["zeal"] = 1
    assert refusal(canonical.dumps(obj), Posts) == (
        "field 'posts' of posts is not an object with exactly at, claim, id, status, takes, text, to"
    )


def test_each_kind_is_read_only_where_it_belongs() -> None:
    assert refusal(to_bytes(posts()), Presence) == "a 'posts' where a presence belongs"
    assert refusal(to_bytes(presence()), Receipt) == "a 'presence' where a receipt belongs"


def test_a_newer_version_is_said_to_be_needed() -> None:
    data = canonical.dumps(json.loads(to_bytes(presence())) | {"v": 1})
    assert refusal(data, Presence) == "statement version 1 needs a newer git coord (this one reads 3)"


def test_posts_and_commits_are_listed_once() -> None:
    again = POST._replace(text="again")
    assert refusal(to_bytes(posts(POST, again)), Posts) == "field 'posts' of posts is not a list without repetitions"
    assert refusal(to_bytes(receipt(ENTRY, ENTRY)), Receipt) == (
        "field 'commits' of receipt is not a list without repetitions"
    )
    assert refusal(to_bytes(receipt()), Receipt) == "field 'commits' of receipt is not a list of 1 to 256"


def test_only_receipts_may_be_large() -> None:
    assert (Presence.LIMIT, Posts.LIMIT, Receipt.LIMIT) == (RECORD_LIMIT, RECORD_LIMIT, CLAIM_LIMIT)
