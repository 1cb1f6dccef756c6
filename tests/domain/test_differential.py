"""The small validator of records accepts exactly what the reference models accept."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.reference.statements import KINDS, accepts
from tests.reference.strategies import ODD, key_text, statements

from git_coord.domain import canonical
from git_coord.domain.announcements import Posts, Presence, Receipt, parse_announcement
from git_coord.domain.statements import OPERATIONS, parse_operation, to_bytes
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind

ANNOUNCEMENTS: dict[str, Any] = {"presence": Presence, "posts": Posts, "receipt": Receipt}


def ours(kind: str, value: dict[str, Any]) -> bool:
    """Tell whether our parser accepts the value; any other failure than "untrusted" goes through."""
    data = canonical.dumps(value)
    try:
        if kind in ANNOUNCEMENTS:
            parse_announcement(data, ANNOUNCEMENTS[kind])
        else:
            parse_operation(data)
    except CoordError as trouble:
        return trouble.kind is not Kind.UNTRUSTED
    return True


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container with each key or index of it."""
    if isinstance(value, dict):
        return [spot for key in value for spot in [(value, key), *places(value[key])]]
    if isinstance(value, list):
        return [spot for at in range(len(value)) for spot in [(value, at), *places(value[at])]]
    return []


def near_misses(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the statement with one change after another, some of which do no harm."""
    for number, (_, name) in enumerate(places(value)):
        for odd in () if name == "kind" else ODD:
            changed = copy.deepcopy(value)
            where, at = places(changed)[number]
            where[at] = odd
            yield changed
        yield from _with_less_or_more(value, number)


def _with_less_or_more(value: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    changed = copy.deepcopy(value)
    where, at = places(changed)[number]
    if isinstance(where, list):
        where.append(where[at])
        yield copy.deepcopy(changed)
        where.pop()
    else:
        for name in ("zeal", "blob", "path"):
            added = where | {name: "a" * 40}
            kept = dict(where)
            where.update(added)
            yield copy.deepcopy(changed)
            where.clear()
            where.update(kept)
    if at != "kind":
        del where[at]
        yield changed


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_accept_a_valid_statement_which_has_one_spelling(kind: str, data: st.DataObject) -> None:
    value = data.draw(statements(kind))
    assert accepts(kind, value)
    assert ours(kind, value)
    spelled = canonical.dumps(value)
    made = parse_announcement(spelled, ANNOUNCEMENTS[kind]) if kind in ANNOUNCEMENTS else parse_operation(spelled)
    assert to_bytes(made) == spelled


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4, deadline=None, phases=[Phase.generate])
@given(data=st.data())
def test_both_judge_every_near_miss_alike(kind: str, data: st.DataObject) -> None:
    verdicts = set()
    for value in near_misses(data.draw(statements(kind))):
        verdicts.add(verdict := ours(kind, value))
        assert verdict == accepts(kind, value), value
    assert verdicts == {True, False}


LIMITS = [
    ("claim", "items", lambda n: [{"intent": "edit", "path": str(i)} for i in range(n)], 5000),
    ("release", "targets", lambda n: [{"claim": f"{i:032x}", "items": None} for i in range(n)], 5000),
    ("break", "claims", lambda n: [f"{i:032x}" for i in range(n)], 5000),
    ("settle", "claims", lambda n: [f"{i:032x}" for i in range(n)], 5000),
    ("block", "tasks", lambda n: [f"T-{i}" for i in range(n)], 256),
    ("unblock", "blocks", lambda n: [f"{i:032x}" for i in range(n)], 256),
    (
        "takeover",
        "claims",
        lambda n: [
            {"beat": None, "lease_end": format_stamp(0), "tip": None, "unchanged": 0, "witness": None}
            | {"claim": f"{i:032x}"}
            for i in range(n)
        ],
        5000,
    ),
    ("policy", "admins", lambda n: [key_text("x", i) for i in range(n)], 64),
    ("policy", "listed", lambda n: [{"agent": None, "key": key_text("x", 0)}] * n, 256),
    ("policy", "void", lambda n: [f"{i:040x}" for i in range(n)], 256),
    ("claim", "stamps", lambda n: [{"name": str(i), "value": ""} for i in range(n)], 32),
    (
        "posts",
        "posts",
        lambda n: [
            {
                "at": format_stamp(0),
                "claim": None,
                "id": f"{i:08}",
                "status": "open",
                "takes": None,
                "text": "",
                "to": None,
            }
            for i in range(n)
        ],
        64,
    ),
    (
        "receipt",
        "commits",
        lambda n: [{"bypass": False, "commit": f"{i:040x}", "head": "a" * 40, "paths": []} for i in range(n)],
        256,
    ),
]


@pytest.mark.parametrize(("kind", "member", "entries", "most"), LIMITS, ids=lambda value: str(value)[:20])
@settings(max_examples=1, deadline=None)
@given(data=st.data())
def test_both_know_how_long_a_list_may_be(kind: str, member: str, entries: Any, most: int, data: st.DataObject) -> None:
    value = data.draw(statements(kind))
    value[member] = entries(most)
    assert (ours(kind, value), accepts(kind, value)) == (True, True)
    value[member] = entries(most + 1)
    assert (ours(kind, value), accepts(kind, value)) == (False, False)


def test_the_reference_has_a_model_of_every_kind() -> None:
    assert KINDS.keys() == OPERATIONS.keys() | ANNOUNCEMENTS.keys()


@pytest.mark.parametrize(("globs", "is_accepted"), [(64, True), (65, False)])
@settings(max_examples=1, deadline=None)
@given(data=st.data())
def test_both_accept_sixty_four_globs_and_no_more(data: st.DataObject, globs: int, is_accepted: bool) -> None:
    claim = data.draw(statements("claim"))
    claim["items"] = [{"glob": f"a{number}*", "intent": "edit"} for number in range(globs)]
    assert (ours("claim", claim), accepts("claim", claim)) == (is_accepted, is_accepted)
