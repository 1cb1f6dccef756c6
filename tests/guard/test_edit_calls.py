"""Payloads as each tool sends them, cut short, and malicious: which files they name, or why they name none."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.helpers import Repo

from git_coord.guard.edit import groups, parse
from git_coord.guard.edit_calls import TOOLS, Call, dialect, read_call
from git_coord.guard.edit_places import real_paths
from git_coord.guard.edit_state import session_key

PATCH = (
    "*** Begin Patch\n  *** Update File: src/a.py\n*** Move to: src/b.py\n@@\n-x\n+y\n*** Add File: c\n*** End Patch\n"
)
NAMED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("claude-code", {"tool_name": "Edit", "tool_input": {"file_path": "/w/a", "old_string": "x"}}, ["/w/a"]),
    ("claude-code", {"tool_name": "MultiEdit", "tool_input": {"file_path": "/w/a", "edits": []}}, ["/w/a"]),
    ("claude-code", {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/w/n.ipynb"}}, ["/w/n.ipynb"]),
    ("claude-code", {"tool_name": "mcp__fs__write_file", "tool_input": {"path": "a"}}, ["a"]),
    ("claude-code", {"tool_name": "mcp__fs__move_file", "tool_input": {"source": "a", "destination": "b"}}, ["a", "b"]),
    ("claude-code", {"tool_name": "mcp__x__editFiles", "tool_input": {"files": ["a", {"path": "b"}]}}, ["a", "b"]),
    ("claude-code", {"tool_name": "Bash", "tool_input": {"command": "rm a"}}, ["/w/a"]),
    ("codex", {"tool_name": "apply_patch", "tool_input": {"command": PATCH}}, ["src/a.py", "src/b.py", "c"]),
    ("codex", {"tool_name": "Bash", "tool_input": {"command": "git mv a b"}}, ["/w/a", "/w/b"]),
    (
        "codex",
        {"tool_name": "Bash", "tool_input": {"command": f"apply_patch <<'E'\n{PATCH}E"}},
        ["src/a.py", "src/b.py", "c"],
    ),
    ("gemini", {"tool_name": "replace", "tool_input": {"file_path": "src/a.py", "instruction": "i"}}, ["src/a.py"]),
    ("gemini", {"tool_name": "write_file", "tool_input": {"file_path": "b", "content": ""}}, ["b"]),
    ("gemini", {"tool_name": "run_shell_command", "tool_input": {"command": "git mv a b"}}, ["/w/a", "/w/b"]),
    ("gemini", {"tool_name": "mcp_fs_write_file", "tool_input": {"path": "a"}}, ["a"]),
    ("cursor", {"tool_name": "Write", "tool_input": {"file_path": "/w/a", "content": ""}, "cwd": ""}, ["/w/a"]),
    ("cursor", {"tool_name": "Delete", "tool_input": {"path": "a"}}, ["a"]),
    ("cursor", {"tool_name": "Shell", "tool_input": {"command": "rm a", "cwd": "/v"}}, ["/v/a"]),
    ("cursor", {"hook_event_name": "afterFileEdit", "file_path": "/w/a", "edits": []}, ["/w/a"]),
    ("opencode", {"sid": "s", "tool": "edit", "args": {"filePath": "a", "oldString": "x"}}, ["a"]),
    ("opencode", {"sid": "s", "tool": "patch", "args": {"patchText": PATCH}}, ["src/a.py", "src/b.py", "c"]),
    ("opencode", {"sid": "s", "paths": ["a", "b"]}, ["a", "b"]),
    ("opencode", {"sid": "s", "tool": "bash", "args": {"command": "rm a"}}, ["/w/a"]),
]
SILENT: list[tuple[str, dict[str, Any]]] = [
    ("claude-code", {"tool_name": "Read", "tool_input": {"file_path": "/w/a"}}),
    ("claude-code", {"tool_name": "Bash", "tool_input": {"command": "cat a"}}),
    ("claude-code", {"tool_name": "mcp__fs__read_file", "tool_input": {"path": "a"}}),
    ("claude-code", {"tool_name": "mcp__tracker__create_issue", "tool_input": {"title": "a"}}),
    ("codex", {"tool_name": "mcp__fs__list", "tool_input": {"path": "a"}}),
    ("gemini", {"tool_name": "read_file", "tool_input": {"file_path": "a"}}),
    ("cursor", {"tool_name": "Read", "tool_input": {"file_path": "a"}}),
    ("opencode", {"sid": "s", "tool": "read", "args": {"filePath": "a"}}),
    ("claude-code", {"tool_name": "Unheard", "tool_input": None}),
]
UNREAD: list[tuple[str, dict[str, Any], str]] = [
    ("claude-code", {}, "it names no tool"),
    ("claude-code", {"tool_name": 7, "tool_input": {}}, "it names no tool"),
    ("claude-code", {"tool_name": "Edit"}, "Edit has no input that can be read"),
    ("claude-code", {"tool_name": "Edit", "tool_input": None}, "Edit has no input that can be read"),
    ("claude-code", {"tool_name": "Edit", "tool_input": {}}, "Edit names no file"),
    ("claude-code", {"tool_name": "Edit", "tool_input": {"file_path": ["a"]}}, "Edit names no file"),
    ("claude-code", {"tool_name": "Edit", "tool_input": {"file_path": "a\0b"}}, "Edit names no file"),
    ("claude-code", {"tool_name": "Edit", "tool_input": {"notebook_path": "a"}}, "Edit names no file"),
    ("claude-code", {"tool_name": "Bash", "tool_input": {"command": None}}, "Bash has no command"),
    ("codex", {"tool_name": "apply_patch", "tool_input": {"command": "no patch"}}, "apply_patch names no file"),
    ("gemini", {"tool_name": "replace", "tool_input": "text"}, "replace has no input that can be read"),
    ("cursor", {"tool_name": "Write", "tool_input": {"content": ""}}, "Write names no file"),
    ("opencode", {"sid": "s", "tool": "write", "args": {}}, "write names no file"),
]


def _names(call: Call) -> list[str]:
    return [path for path, _ in call.targets]


@pytest.mark.parametrize(("tool", "payload", "paths"), NAMED)
def test_a_call_that_changes_files_names_all_of_them(tool: str, payload: dict[str, Any], paths: list[str]) -> None:
    call = read_call(tool, payload, "/w")
    assert (_names(call), call.problem) == (paths, "")


@pytest.mark.parametrize(("tool", "payload"), SILENT)
def test_reading_and_what_is_not_about_files_names_nothing(tool: str, payload: dict[str, Any]) -> None:
    call = read_call(tool, payload, "/w")
    assert (_names(call), call.problem) == ([], "")


@pytest.mark.parametrize(("tool", "payload", "problem"), UNREAD)
def test_what_cannot_be_read_says_why_and_names_nothing(tool: str, payload: dict[str, Any], problem: str) -> None:
    call = read_call(tool, payload, "/w")
    assert (_names(call), call.problem) == ([], problem)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("value", [None, 1, True, "x", [], {}, [[[]]], {"path": {"path": {}}}])
def test_no_value_in_any_field_makes_a_payload_crash(tool: str, value: object) -> None:
    fields = ("tool_name", "tool", "tool_input", "args", "session_id", "sid", "agent_id", "cwd", "workspace_roots")
    for field in (*fields, "paths", "hook_event_name"):
        for name in ("Edit", "Bash", "apply_patch", "mcp__x__write", "replace", "Write", "edit"):
            read_call(tool, {"tool_name": name, "tool": name, "tool_input": {"command": value}, field: value}, "/w")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the hook was given no JSON"),
        (b'{"tool_name": "Ed', "the hook was given no JSON"),
        (b"[" * 100_000, "the hook was given no JSON"),
        (b"[1]", "the hook was given no JSON object"),
        (b"null", "the hook was given no JSON object"),
    ],
)
def test_what_is_no_json_object_is_said_to_be_none(data: bytes, why: str) -> None:
    assert parse(data) == why


def test_bytes_that_are_not_utf8_stay_the_same_bytes_of_a_path() -> None:
    payload = parse(b'{"tool_name": "Edit", "tool_input": {"file_path": "/w/\xff"}}')
    assert isinstance(payload, dict)
    assert _names(read_call("claude-code", payload, "/w")) == ["/w/\udcff"]


def test_cursor_running_the_hooks_of_claude_code_is_answered_as_cursor() -> None:
    assert dialect("claude-code", {"cursor_version": "3.20.0"}) == "cursor"


def test_the_path_decides_the_repository_and_links_are_followed(repo: Repo) -> None:
    repo.write("src/a.py", "")
    (repo.path / "link").symlink_to("src/a.py")
    (repo.path / "folder").symlink_to("src")
    other = repo.worktree("other")
    call = Call("Edit", str(other.path), "s", "")
    call.targets = [
        (str(repo.path / "folder/../src/./a.py"), False),
        (str(repo.path / "folder/a.py"), False),
        (str(repo.path / "link"), False),
        (str(repo.path / ".git/config"), False),
        ("new/b.py", False),
        ("/nowhere/c", False),
    ]
    assert [(place.top, names) for place, names in groups(call)] == [
        (str(repo.path), [b"src/a.py", b"link"]),
        (str(other.path), [b"new/b.py"]),
    ]
    call.targets = [(str(repo.path / "link"), True)]
    assert [names for _, names in groups(call)] == [[b"link"]]


@pytest.mark.parametrize(("root", "found"), [("/mnt/c", "/mnt/c/a/b.txt"), ("/c", "/c/a/b.txt"), (None, None)])
@pytest.mark.parametrize("spelled", ["C:\\a\\b.txt", "c:/a/b.txt", "C:\\a\\x\\..\\b.txt"])
def test_a_drive_is_where_the_system_under_us_has_it(
    monkeypatch: pytest.MonkeyPatch, root: str | None, found: str | None, spelled: str
) -> None:
    monkeypatch.setattr("os.path.isdir", lambda path: path == root)
    paths = real_paths(spelled, "/w", is_link=False)
    # Where no drive is to be found, it is an odd name in the folder.
    assert paths == ([found] if found else [os.path.normpath(f"/w/{spelled}")])


def test_a_session_is_known_by_a_name_that_is_fit_for_a_file() -> None:
    assert session_key("claude-code", "s-1", "ag", apart=False) == "claude-code-s-1"
    assert session_key("claude-code", "s-1", "ag", apart=True) == "claude-code-s-1-ag"
    assert session_key("claude-code", "", "ag", apart=True) == ""
    hostile = session_key("claude-code", "../../etc/passwd", "", apart=False)
    assert hostile.startswith("claude-code-")
    assert "/" not in hostile
    assert "." not in hostile
