"""Items: one spelling, strict reading, a look that cannot deceive."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.domain.ids import Oid
from git_coord.domain.items import (
    Intent,
    Item,
    ItemKind,
    is_canonical,
    item_from_json,
    item_to_json,
    normalise_glob,
    normalise_path,
    normalise_task,
    parse_argument,
    show_name,
)
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind

BLOB = Oid("0123456789" * 4)
ONE_KIND = "an item needs exactly one of 'path', 'glob', 'task' and 'branch'"
LATIN = b"caf\xe9.txt".decode(errors="surrogateescape")


def refusal(call, *args) -> tuple[Kind, str]:
    with pytest.raises(CoordError) as caught:
        call(*args)
    assert type(caught.value) is CoordError
    return caught.value.kind, caught.value.message


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("./a", "a"),
        ("a//b", "a/b"),
        ("docs/../a", "a"),
        ("a/", "a"),
        ("a/./b/", "a/b"),
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("...", "..."),
        ("a/..b", "a/..b"),
        ("[id].tsx", "[id].tsx"),
        ("*", "*"),
        ("**/x", "**/x"),
        ("*/../x", "x"),
        (":(top)x", ":(top)x"),
        ("back\\slash", "back\\slash"),
        ("tab\tname", "tab\tname"),
        ("nl\nname", "nl\nname"),
        (" a b ", " a b "),
        ("Cargo.lock", "Cargo.lock"),
        ("café.txt", "café.txt"),
        (b"caf\xc3\xa9".decode("ascii", "surrogateescape"), "café"),
        (LATIN, LATIN),
        ("d/" * 120 + "f", "d/" * 120 + "f"),
        ("x" * 4096, "x" * 4096),
    ],
)
def test_spellings_of_a_path_collapse(text, path):
    assert normalise_path(text) == path
    assert normalise_path(path) == path
    assert is_canonical(ItemKind.PATH, path)
    assert is_canonical(ItemKind.PATH, text) is (text == path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a path cannot be empty; '.' is everything"),
        ("/etc", "'/etc' is absolute; paths are relative to the repository"),
        ("..", "'..' leads out of the repository"),
        ("a/../../b", "'a/../../b' leads out of the repository"),
        ("a\0b", "'a\\x00b' contains NUL"),
        ("a\ud800", "'a\\ud800' has a lone surrogate"),
        ("é" * 2049, "'" + "é" * 50 + "...' is longer than 4096 bytes"),
    ],
)
def test_a_path_that_is_none_is_refused(text, message):
    assert refusal(normalise_path, text) == (Kind.USAGE, message)
    assert not is_canonical(ItemKind.PATH, text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("**", "**"),
        ("./src//**/*.py/", "src/**/*.py"),
        ("a/../*.c", "*.c"),
        ("[ab]?{c,d}\\*", "[ab]?{c,d}\\*"),
        ("README.md", "README.md"),
        ("*/" * 7 + "**", "*/" * 7 + "**"),
        ("**/**/a", "**/**/a"),
    ],
)
def test_spellings_of_a_glob_collapse(text, name):
    assert normalise_glob(text) == name
    assert is_canonical(ItemKind.GLOB, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".", "'.' is no glob; for everything claim the path '.'"),
        ("a**", "glob 'a**': '**' must be a whole component, as in 'a/**/b'"),
        ("x/***", "glob 'x/***': '**' must be a whole component, as in 'a/**/b'"),
        ("**?/x", "glob '**?/x': '**' must be a whole component, as in 'a/**/b'"),
        ("*/" * 8 + "**", "glob '*/*/*/*/*/*/*/*/**' has 9 stars; at most 8 are allowed"),
        ("*a*a*a*a*a*a*a*a*", "glob '*a*a*a*a*a*a*a*a*' has 9 stars; at most 8 are allowed"),
        ("*/../x", "'*/../x' has '..' after a wildcard"),
        ("../*", "'../*' leads out of the repository"),
        ("/*", "'/*' is absolute; paths are relative to the repository"),
        ("", "a path cannot be empty; '.' is everything"),
    ],
)
def test_a_glob_outside_the_grammar_is_refused(text, message):
    assert refusal(normalise_glob, text) == (Kind.USAGE, message)


@pytest.mark.parametrize("task", ["1", "EPIC-7/story.2", "a/b/c/d/e/f/g/h", "x" * 64, "A_b#c@d+e-f"])
def test_a_task_id_is_taken_as_it_is(task):
    assert normalise_task(task) == task


@pytest.mark.parametrize(
    "task", ["", "/a", "a/", "a//b", ".a", "-a", "a b", "é", "a\n", "x" * 65, "a/b/c/d/e/f/g/h/i", "a/..", "a/."]
)
def test_other_task_ids_are_refused(task):
    kind, message = refusal(normalise_task, task)
    assert kind is Kind.USAGE
    assert message == (
        f"'{escape_for_display(task)}' is no task id: up to 8 parts joined by '/', each of at most 64 letters, digits"
        " and . _ # @ + - that begins with a letter or digit"
    )


@pytest.mark.parametrize(
    ("text", "prefix", "glob", "result"),
    [
        ("x.py", "src", False, (ItemKind.PATH, "src/x.py")),
        ("x.py", "src/", False, (ItemKind.PATH, "src/x.py")),
        ("x.py", "", False, (ItemKind.PATH, "x.py")),
        ("../a", "src", False, (ItemKind.PATH, "a")),
        (".", "src", False, (ItemKind.PATH, "src")),
        ("..", "src", False, (ItemKind.PATH, ".")),
        ("path:task:x", "src", False, (ItemKind.PATH, "src/task:x")),
        ("./task:x", "", False, (ItemKind.PATH, "task:x")),
        ("./branch:x", "", False, (ItemKind.PATH, "branch:x")),
        ("path:*", "", True, (ItemKind.PATH, "*")),
        ("task:E/1", "src", False, (ItemKind.TASK, "E/1")),
        ("task:E/1", "src", True, (ItemKind.TASK, "E/1")),
        ("branch:release/1.x", "src", True, (ItemKind.BRANCH, "release/1.x")),
        ("*", "", False, (ItemKind.PATH, "*")),
        ("*", "src", True, (ItemKind.GLOB, "src/*")),
        ("../**/x?", "src", True, (ItemKind.GLOB, "**/x?")),
        ("*.tsx", "app/[id]", True, (ItemKind.GLOB, "app/[id]/*.tsx")),
        ("*", "we*ird", False, (ItemKind.PATH, "we*ird/*")),
    ],
)
def test_an_argument_is_relative_to_where_it_was_typed(text, prefix, glob, result):
    assert parse_argument(text, prefix, glob) == result


@pytest.mark.parametrize(
    ("text", "prefix", "glob", "message"),
    [
        ("branch:a..b", "", False, "'a..b' is no name of a branch"),
        ("../../out", "src", False, "'src/../../out' leads out of the repository"),
        ("", "src", False, "a path cannot be empty; '.' is everything"),
        ("path:", "src", False, "a path cannot be empty; '.' is everything"),
        ("/etc", "src", False, "'/etc' is absolute; paths are relative to the repository"),
        ("x", "a*", True, "'a*' has '*' or '?' in its name: run the command from the top of the repository"),
    ],
)
def test_an_argument_that_names_nothing_here_is_refused(text, prefix, glob, message):
    assert refusal(parse_argument, text, prefix, glob) == (Kind.USAGE, message)


@pytest.mark.parametrize(
    ("item", "line"),
    [
        (Item(ItemKind.PATH, "a.py", Intent.EDIT, BLOB), f'{{"blob":"{BLOB}","intent":"edit","path":"a.py"}}'),
        (Item(ItemKind.PATH, ".", Intent.READ), '{"intent":"read","path":"."}'),
        (Item(ItemKind.GLOB, "**/*.py", Intent.EDIT), '{"glob":"**/*.py","intent":"edit"}'),
        (Item(ItemKind.TASK, "E/1", Intent.EDIT), '{"intent":"edit","task":"E/1"}'),
        (Item(ItemKind.PATH, LATIN, Intent.EDIT), '{"intent":"edit","path":{"b64":"Y2Fm6S50eHQ="}}'),
        (Item(ItemKind.PATH, "café", Intent.EDIT), '{"intent":"edit","path":"caf\\u00e9"}'),
    ],
)
def test_an_item_stands_in_a_statement_like_this(item, line):
    assert json.dumps(item_to_json(item), sort_keys=True, separators=(",", ":")) == line
    assert item_from_json(json.loads(line)) == item


def b64(raw: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(raw).decode()}


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ([], "an item is not an object"),
        (None, "an item is not an object"),
        ({}, ONE_KIND),
        (
            {"path": "a", "task": "a", "intent": "edit"},
            ONE_KIND,
        ),
        (
            {"host": "main", "intent": "edit"},
            "an item has 'host', which this version does not know: a newer git coord is needed",
        ),
        (
            {"path": "a", "intent": "edit", "x\n": 1},
            "an item has 'x\\n', which this version does not know: a newer git coord is needed",
        ),
        ({"path": "a"}, "the intent of an item is neither 'read' nor 'edit'"),
        ({"path": "a", "intent": "write"}, "the intent of an item is neither 'read' nor 'edit'"),
        ({"path": "a", "intent": ["edit"]}, "the intent of an item is neither 'read' nor 'edit'"),
        ({"path": "./a", "intent": "edit"}, "path './a' is not in its canonical spelling"),
        ({"path": "", "intent": "edit"}, "path '' is not in its canonical spelling"),
        ({"path": "a\0", "intent": "edit"}, "path 'a\\x00' is not in its canonical spelling"),
        ({"glob": "a**", "intent": "edit"}, "glob 'a**' is not in its canonical spelling"),
        ({"task": "a b", "intent": "edit"}, "task 'a b' is not in its canonical spelling"),
        ({"path": 1, "intent": "edit"}, 'the name of an item is neither text nor {"b64": text}'),
        ({"path": {"b64": 1}, "intent": "edit"}, 'the name of an item is neither text nor {"b64": text}'),
        ({"path": {"b64": "6Q==", "x": 1}, "intent": "edit"}, 'the name of an item is neither text nor {"b64": text}'),
        ({"path": {}, "intent": "edit"}, 'the name of an item is neither text nor {"b64": text}'),
        ({"path": {"b64": "6Q"}, "intent": "edit"}, "the name of an item is not base64"),
        ({"path": {"b64": "é"}, "intent": "edit"}, "the name of an item is not base64"),
        ({"path": {"b64": "6Q==\n"}, "intent": "edit"}, "the name of an item is not base64"),
        (
            {"path": {"b64": "6R=="}, "intent": "edit"},
            "the base64 name of an item is not canonical, or the name is UTF-8",
        ),
        (
            {"path": b64("é".encode()), "intent": "edit"},
            "the base64 name of an item is not canonical, or the name is UTF-8",
        ),
        ({"path": b64(b"a//\xe9"), "intent": "edit"}, "path 'a//\\xe9' is not in its canonical spelling"),
        ({"task": b64(b"\xe9"), "intent": "edit"}, "task '\\xe9' is not in its canonical spelling"),
        ({"path": "\udce9", "intent": "edit"}, "the name of an item has a lone surrogate"),
        ({"path": "a", "intent": "edit", "blob": "abc"}, "the 'blob' of an item is not an object id"),
        ({"path": "a", "intent": "edit", "blob": None}, "the 'blob' of an item is not an object id"),
        ({"path": "a", "intent": "edit", "blob": BLOB.replace("0", "A")}, "the 'blob' of an item is not an object id"),
        ({"path": ".", "intent": "edit", "blob": BLOB}, "only the path of a file can have a 'blob'"),
        ({"glob": "*", "intent": "edit", "blob": BLOB}, "only the path of a file can have a 'blob'"),
        ({"task": "a", "intent": "edit", "blob": BLOB}, "only the path of a file can have a 'blob'"),
    ],
)
def test_an_item_that_we_would_not_write_is_untrusted(obj, message):
    assert refusal(item_from_json, obj) == (Kind.UNTRUSTED, message)


@settings(deadline=None)  # the machine may be busy
@given(st.binary(min_size=1, max_size=12).filter(lambda raw: b"\0" not in raw))
def test_every_name_that_git_can_hold_survives_a_statement(raw):
    text = raw.decode(errors="surrogateescape")
    try:
        name = normalise_path(text)
    except CoordError:
        return
    item = Item(ItemKind.PATH, name, Intent.EDIT)
    assert item_from_json(json.loads(json.dumps(item_to_json(item)))) == item


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        (ItemKind.PATH, "src/a.py", "src/a.py"),
        (ItemKind.PATH, "café", "café"),
        (ItemKind.PATH, "task:x", "path:task:x"),
        (ItemKind.PATH, "path:x", "path:path:x"),
        (ItemKind.PATH, "branch:x", "path:branch:x"),
        (ItemKind.PATH, "-dash", "path:-dash"),
        (ItemKind.PATH, "tab\tnl\nesc\x1b[0m", "tab\\tnl\\nesc\\x1b[0m"),
        (ItemKind.PATH, "\x85\u202e\u200b\udce9\U000e0041", "\\u0085\\u202e\\u200b\\xe9\\U000e0041"),
        (ItemKind.GLOB, "**/*.py", "**/*.py"),
        (ItemKind.GLOB, "task:*", "./task:*"),
        (ItemKind.TASK, "E/1", "task:E/1"),
    ],
)
def test_a_name_is_shown_so_that_it_is_not_misread(kind, name, shown):
    assert show_name(kind, name) == shown


@pytest.mark.parametrize(
    ("kind", "name"),
    [(ItemKind.PATH, "task:x"), (ItemKind.PATH, "a b"), (ItemKind.GLOB, "path:*"), (ItemKind.TASK, "E/1")],
)
def test_a_shown_name_can_be_typed_again(kind, name):
    assert parse_argument(show_name(kind, name), glob=kind is ItemKind.GLOB) == (kind, name)
