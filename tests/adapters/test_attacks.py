"""Attempts to break the edit hooks: odd names and files, killed in the middle, several at once, a damaged ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from git_coord.service.failpoints import VARIABLE
from tests.adapters.conftest import Pair
from tests.adapters.test_edits import holders, settle
from tests.adapters.tool import Session
from tests.helpers import Completed, Repo
from tests.race.crew import wrong
from tests.race.test_killed import BEFORE_PUBLISH, LOCAL

KEYS = ("cwd", "session_id", "tool_name", "tool_input", "agent_id", "workspace_roots", "tool", "args", "paths")


def _edit(path: object) -> dict[str, Any]:
    return {"tool_name": "Edit", "tool_input": {"file_path": path}}


def _raw(repo: Repo, event: str, payload: dict[str, Any], tool: str = "claude-code", cwd: str = ".") -> Completed:
    script = f'cd "{cwd}" && rmdir "{cwd}"; exec git-coord hook "$@"' if cwd != "." else 'exec git-coord hook "$@"'
    return repo.run("sh", "-c", script, "sh", tool, event, input=json.dumps(payload))


@pytest.mark.parametrize("name", ["x" * 5000, "d/" * 2500 + "x"])
def test_a_name_too_long_for_the_ledger_is_denied_and_the_ledger_reads_on(pair: Pair, name: str) -> None:
    assert "is longer than 4096 bytes" in pair.session().denied(name)
    assert holders(pair.alpha) == {"b.txt": "beta"}
    pair.session().edited("a.txt")
    assert wrong(pair.beta) == []


def test_more_files_than_one_claim_can_have_are_denied_and_the_ledger_reads_on(pair: Pair) -> None:
    before, _ = pair.session().shell("touch " + " ".join(f"f{number}" for number in range(5001)))
    assert before["permissionDecisionReason"].splitlines()[:2] == [
        "git coord: cannot tell whether this is free: 5001 files in one call, and at most 5000 in one claim",
        "next   git coord claim FOLDER -m WHY",
    ]
    assert holders(pair.beta) == {"b.txt": "beta"}


@pytest.mark.parametrize("odd", ["'\ud800'", "'new\nline'", "x" * 300, "''", "~nobody/x", "/proc/self/mem"])
def test_an_odd_word_in_a_command_does_not_hide_the_others(pair: Pair, odd: str) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": f"rm {odd} b.txt"}}
    assert pair.session().said("pre-edit", **call)["permissionDecision"] == "deny"


def test_half_of_a_surrogate_pair_is_the_file_that_a_tool_would_write(pair: Pair) -> None:
    session = pair.session()
    assert "permissionDecision" not in session.said("pre-edit", **_edit("\ud800.txt"))
    assert holders(pair.alpha)["\ufffd.txt"] == "alpha"


def test_a_folder_that_is_gone_under_the_tool_does_not_let_a_held_file_pass(pair: Pair, tmp_path: Path) -> None:
    for event, out in (("pre-edit", "held by beta"), ("post-edit", ""), ("session-start", ""), ("stop", "")):
        gone = tmp_path / event
        gone.mkdir()
        done = _raw(pair.alpha, event, {"session_id": "s", **_edit(str(pair.alpha.path / "b.txt"))}, cwd=str(gone))
        assert (done.code, done.err) == (0, ""), event
        assert out in done.out


@pytest.mark.parametrize("name", ["pipe", ".coord.toml"])
def test_what_is_no_file_is_never_waited_for(pair: Pair, name: str) -> None:
    os.mkfifo(pair.alpha.path / name)
    session = pair.session()
    for _ in range(2):
        session.said("pre-edit", **_edit(str(pair.alpha.path / "pipe")))
    session.hook("post-edit", **_edit(str(pair.alpha.path / "pipe")))
    before, _ = session.shell("true > /dev/null; : > b.txt")
    assert before["permissionDecision"] == "deny"


def test_no_edit_waits_until_a_large_file_was_read_through(pair: Pair) -> None:
    session = pair.session()
    path = pair.alpha.write("large", "x")
    os.truncate(path, 40 << 30)
    session.said("pre-edit", **_edit("large"))
    assert holders(pair.alpha)["large"] == "alpha"
    session.hook("post-edit", **_edit("large"))
    assert session.edit("large") == {}
    os.utime(path, (1, 1))
    assert "changed under your claim" in session.denied("large")


def test_an_agents_name_is_no_way_out_of_our_folder(pair: Pair) -> None:
    odd = Session(pair.alpha.with_env(GIT_COORD_AGENT="../../../../x"), "s-1")
    assert "cannot be an agent's name" in odd.denied("a.txt")
    odd.hook("post-edit", **_edit("a.txt"))
    assert list(pair.alpha.path.parent.rglob("x")) == []


@pytest.mark.parametrize(
    "link", [("link", "b.txt"), ("link", "loop/../b.txt"), ("dir", "."), ("link", "/proc/self/cwd/b.txt")]
)
def test_a_link_to_a_held_file_is_that_file(pair: Pair, link: tuple[str, str]) -> None:
    (pair.alpha.path / "loop").symlink_to("loop")
    (pair.alpha.path / link[0]).symlink_to(link[1])
    path = link[0] if link[0] == "link" else "dir/dir/b.txt"
    assert "held by beta" in pair.session().denied(path)


# killed in the middle


@pytest.mark.parametrize("step", LOCAL)
def test_a_hook_killed_in_an_automatic_claim_made_it_once_or_not_at_all(pair: Pair, step: str) -> None:
    session = pair.session()
    session.start()
    payload = {"session_id": "s-1", "cwd": str(pair.alpha.path), **_edit(str(pair.alpha.path / "a.txt"))}
    assert _raw(pair.alpha.with_env(**{VARIABLE: step}), "pre-edit", payload).code == -9
    held = {"a.txt": "alpha"} if step not in BEFORE_PUBLISH else {}
    assert holders(pair.beta) == {"b.txt": "beta", **held}
    # The tool lets the edit pass when its hook dies; the session goes on as if nothing had been.
    pair.alpha.write("a.txt", "written meanwhile\n")
    if held:
        assert "changed under your claim" in session.denied("a.txt")
        assert pair.alpha.coord("claim", "a.txt").code == 0
    session.edited("a.txt")
    assert holders(pair.beta)["a.txt"] == "alpha"
    session.hook("session-end")
    pair.alpha.coord("release", "--all")
    assert pair.beta.coord("claim", "a.txt").code == 0
    assert wrong(pair.alpha) == []


@pytest.mark.parametrize("step", [*BEFORE_PUBLISH, "after publish"])
def test_a_hook_killed_with_a_remote_leaves_nothing_in_anybodys_way(clones: Pair, step: str) -> None:
    session = clones.session()
    session.start()
    payload = {"session_id": "s-1", "cwd": str(clones.alpha.path), **_edit(str(clones.alpha.path / "README.md"))}
    assert _raw(clones.alpha.with_env(**{VARIABLE: step}), "pre-edit", payload).code == -9
    settle(clones.alpha)
    assert clones.alpha.coord("sync").code == 0
    queued = step not in BEFORE_PUBLISH
    assert clones.beta.coord("claim", "README.md").code == (3 if queued else 0)
    assert clones.alpha.coord("release", "--all").code == (0 if queued else 4)
    assert (wrong(clones.alpha), wrong(clones.beta)) == ([], [])


# several at once


def _at_once(repo: Repo, calls: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Run hooks of (tool, session, file) side by side, released by the closing of one pipe; return their answers."""
    gate, opener = os.pipe()
    line = ["bash", "-c", f'read -r _ <&{gate}; exec git-coord hook "$1" pre-edit', "bash"]
    running = []
    for tool, session, path in calls:
        patch = {"command": f"*** Begin Patch\n*** Update File: {path}\n*** End Patch"}
        call = {"tool_name": "apply_patch", "tool_input": patch} if tool == "codex" else _edit(path)
        given = json.dumps({"session_id": session, "cwd": str(repo.path), **call})
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "pass_fds": (gate,)}
        running.append((subprocess.Popen([*line, tool], cwd=repo.path, env=repo.env, **pipes), given))
    os.close(gate)
    os.close(opener)
    said = [process.communicate(given.encode(), 60)[0] for process, given in running]
    assert [process.returncode for process, _ in running] == [0] * len(calls)
    return [json.loads(out)["hookSpecificOutput"] if out else {} for out in said]


def test_two_tools_that_begin_at_once_in_one_checkout_are_two_agents_and_one_has_the_file(pair: Pair) -> None:
    answers = _at_once(pair.alpha, [("claude-code", "s-1", "a.txt"), ("codex", "t-1", "a.txt")])
    denied = [answer for answer in answers if answer.get("permissionDecision") == "deny"]
    assert len(denied) == 1
    holder = holders(pair.alpha)["a.txt"]
    assert f"a.txt   held by {holder} " in denied[0]["permissionDecisionReason"]
    # Whoever lost still is somebody: another file is free for it, under another name.
    loser = [("claude-code", "s-1"), ("codex", "t-1")][answers.index(denied[0])]
    _at_once(pair.alpha, [(*loser, "src/x.py")])
    assert holders(pair.alpha)["src/x.py"] not in (holder, "beta")


def test_calls_of_one_session_at_once_all_get_their_files(pair: Pair) -> None:
    pair.session().start()
    names = [f"new-{number}.txt" for number in range(6)]
    answers = _at_once(pair.alpha, [("claude-code", "s-1", name) for name in names])
    assert [answer.get("permissionDecision") for answer in answers] == [None] * len(names)
    assert holders(pair.alpha) == {"b.txt": "beta", **dict.fromkeys(names, "alpha")}


# a ledger that is damaged


@pytest.mark.parametrize("damage", ["cut", "zeros", "gone", "snapshot"])
def test_a_damaged_ledger_is_never_taken_for_nobody_holds_it(pair: Pair, damage: str) -> None:
    session = pair.session()
    session.start()
    common = pair.alpha.path / ".git"
    if damage == "snapshot":
        (common / "coord/claims.snap").write_bytes(os.urandom(300))
        assert "held by beta" in session.denied("b.txt")
        return
    tip = pair.alpha.rev("refs/coord/claims")
    blob = common / "objects" / tip[:2] / tip[2:]
    blob.chmod(0o644)
    data = blob.read_bytes()
    if damage == "gone":
        blob.unlink()
    else:
        blob.write_bytes(data[: len(data) // 2] if damage == "cut" else bytes(len(data)))
    (common / "coord/claims.snap").unlink(missing_ok=True)
    if damage == "gone":  # what was stored a moment ago is kept beside, and written again
        assert "held by beta" in session.denied("b.txt")
        return
    for path in ("a.txt", "b.txt"):
        assert session.denied(path).startswith("git coord: cannot tell whether this is free: ")
    for event in ("stop", "session-end"):
        assert session.hook(event).out == ""


def test_junk_in_any_file_of_ours_lets_no_held_file_pass(pair: Pair) -> None:
    session = pair.session()
    session.start()
    session.edited("a.txt")
    session.shell("true")
    ours = sorted(path for path in (pair.alpha.path / ".git/coord").rglob("*") if path.is_file())
    assert {"claims.snap", "owner", "alpha", "session"} <= {path.name for path in ours}
    for path in ours:
        kept = path.read_bytes()
        path.write_bytes(b"\xff\0\t\\x\n" * 20)
        assert "held by beta" in session.denied("b.txt"), path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(kept)


def test_what_a_payload_may_hold_never_crashes_a_hook(pair: Pair) -> None:
    """Every field as every kind of value; what it decides is for other tests."""
    values: list[Any] = [None, True, 7, -1.5e308, "", "b.txt", "\0", "\ud800", [], ["b.txt"], [[]], {}, {"path": {}}]
    script = (
        "import json, sys; from git_coord.guard import edit; from git_coord.adapters.events import decide\n"
        "for tool, event, payload in json.load(sys.stdin):\n"
        "    data = json.dumps(payload).encode()\n"
        "    said = edit.quick(tool, event, data) or decide(tool, event, data)\n"
        "    assert isinstance(said.out, str) and isinstance(said.err, str)\n"
        "print('done')\n"
    )
    cases = []
    for tool in ("claude-code", "opencode"):  # all of them are read by `tests/guard/test_edit_calls.py`
        for key in (
            "cwd",
            "session_id",
            "tool_name",
            "tool_input",
            "agent_id",
            "workspace_roots",
            "tool",
            "args",
            "paths",
        ):
            for value in values:
                whole = {"session_id": "s", "cwd": str(pair.alpha.path), **_edit("b.txt"), key: value}
                cases.append((tool, "pre-edit" if len(cases) % 2 else "post-edit", whole))
    done = pair.alpha.run(sys.executable, "-P", "-c", script, input=json.dumps(cases))
    assert (done.code, done.out) == (0, "done\n"), done.err[-2000:]
