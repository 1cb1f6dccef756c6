"""Around an edit: claimed when free, denied when held, pinned, and reported when nobody was asked."""

from __future__ import annotations

import json
import re
import sys
import time

import pytest

from tests.adapters.conftest import Pair
from tests.adapters.tool import Session
from tests.helpers import PATIENCE, Repo


def holders(repo: Repo) -> dict[str, str]:
    return {item["path"]: claim["agent"] for claim in repo.coord_json("status")["claims"] for item in claim["items"]}


def test_a_free_file_is_claimed_and_its_edits_then_pass_in_silence(pair: Pair) -> None:
    session = pair.session()
    said = session.edit("a.txt")
    assert re.fullmatch(r"git coord: claimed for you \(#2, until \d\d:\d\d\): a\.txt", said.pop("additionalContext"))
    assert said == {"hookEventName": "PreToolUse"}
    claim = pair.alpha.coord_json("status")["claims"][1]
    assert (claim["agent"], claim["lease"], claim["purpose"]) == ("alpha", "quick", "auto, an edit by claude-code")
    pair.alpha.write("a.txt", "mine\n")
    assert session.said("post-edit", tool_name="Edit", tool_input={"file_path": str(pair.alpha.path / "a.txt")}) == {}
    assert session.edit("a.txt") == {}


def test_a_held_file_is_denied_naming_holder_time_purpose_and_the_next_command(pair: Pair) -> None:
    reason = pair.session().denied("b.txt")
    assert re.sub(r"\d\d:\d\d", "HH:MM", reason).splitlines() == [
        "git coord: not yours to change",
        '  b.txt   held by beta #1   until HH:MM   "fix the parser"',
        "next   git coord check b.txt      (wait, try again at most three times, then do something else)",
        "       git coord post --to beta 'need b.txt'",
    ]
    assert pair.alpha.coord("check", "b.txt").code == 3
    assert pair.alpha.coord("post", "--to", "beta", "need b.txt").code == 0


def test_a_call_is_denied_whole_and_then_nothing_of_it_is_claimed(pair: Pair) -> None:
    before, _ = pair.session().shell("cp a.txt free.txt && mv b.txt c.txt")
    assert before["permissionDecision"] == "deny"
    assert holders(pair.alpha) == {"b.txt": "beta"}


@pytest.mark.parametrize(
    "command", ["git checkout -- .", "git restore ./", "rm -rf ../repo", "cd src; git restore ..", "rm -r ."]
)
def test_a_command_on_the_whole_worktree_is_judged_by_what_differs_there(pair: Pair, command: str) -> None:
    session = pair.session()
    call = {"tool_name": "Bash", "tool_input": {"command": command}}
    assert session.said("pre-edit", **call) == {}
    assert holders(pair.alpha) == {"b.txt": "beta"}  # and never locks out everybody
    pair.alpha.write("b.txt", "changed\n")
    assert "b.txt   held by beta #1" in session.said("pre-edit", **call)["permissionDecisionReason"]


@pytest.mark.parametrize("name", ["Read", "Grep", "Glob"])
def test_reading_a_held_file_is_never_denied(pair: Pair, name: str) -> None:
    session = pair.session()
    assert session.edit("b.txt", name) == {}
    assert session.shell("cat b.txt; grep b b.txt > /dev/null") == ({}, {})


@pytest.mark.parametrize(
    "call",
    [
        ("NotebookEdit", {"notebook_path": "b.txt"}),
        ("Write", {"file_path": "src/../b.txt"}),
        ("MultiEdit", {"file_path": "link"}),
        ("mcp__fs__write_file", {"path": "b.txt"}),
        ("Bash", {"command": "sed -i s/a/b/ 'b.txt'"}),
        ("Bash", {"command": "echo x | tee -a b.txt"}),
        ("Bash", {"command": "git checkout HEAD -- b.txt"}),
        ("Bash", {"command": "rm -rf *.txt"}),
    ],
)
def test_every_way_to_change_a_held_file_is_denied(pair: Pair, call: tuple[str, dict[str, str]]) -> None:
    (pair.alpha.path / "link").symlink_to("b.txt")
    answer = pair.session().said("pre-edit", tool_name=call[0], tool_input=call[1])
    assert answer["permissionDecision"] == "deny"
    assert "b.txt   held by beta #1" in answer["permissionDecisionReason"]


def test_the_repository_is_that_of_the_file_wherever_the_session_stands(pair: Pair, tmp_path: object) -> None:
    session = Session(Repo(pair.alpha.path.parent, pair.alpha.env), "s-1")
    reason = session.denied(pair.alpha.path / "b.txt")
    assert f"next   git -C {pair.alpha.path} coord check b.txt" in reason


def test_from_a_subfolder_the_next_command_is_typed_as_there(pair: Pair) -> None:
    session = pair.session()
    session.more["cwd"] = str(pair.alpha.path / "src")
    assert "next   git coord check ../b.txt" in session.denied("b.txt")


def test_what_somebody_else_changed_under_the_own_claim_is_denied_until_claimed_anew(pair: Pair) -> None:
    session = pair.session()
    session.edited("a.txt")
    pair.alpha.write("a.txt", "somebody else was here\n")
    assert session.denied("a.txt").splitlines() == [
        "git coord: changed under your claim, by something else than your own edits: a.txt",
        "next   read it again, then: git coord claim a.txt",
    ]
    assert pair.alpha.coord("claim", "a.txt").code == 0
    assert session.edit("a.txt") == {}


def test_a_file_that_was_only_touched_is_not_changed(pair: Pair) -> None:
    session = pair.session()
    session.edited("a.txt", "mine\n")
    pair.alpha.write("a.txt", "mine\n")
    assert session.edit("a.txt") == {}


def test_a_command_that_writes_is_claimed_for_and_pins_anew(pair: Pair) -> None:
    session = pair.session()
    before, after = session.shell("sed -i s/a/z/ a.txt; echo new > new.txt; echo noise > out.log")
    assert before["additionalContext"].endswith(": a.txt new.txt")
    assert after == {}
    assert holders(pair.alpha) == {"b.txt": "beta", "a.txt": "alpha", "new.txt": "alpha"}
    assert session.edit("a.txt") == {}
    assert session.edit("new.txt") == {}


def test_what_a_command_changed_without_a_claim_is_reported_and_logged(pair: Pair) -> None:
    session = pair.session()
    before, after = session.shell("python3 -c \"open('a.txt','w').write('x'); open('b.txt','w').write('y')\"")
    assert before == {}
    assert after["additionalContext"].splitlines() == [
        "git coord: changed without a claim: a.txt; next: git coord claim a.txt",
        "git coord: changed although somebody else holds it: b.txt; next: git coord check b.txt",
    ]
    log = (pair.alpha.path / ".git/coord/edit/unclaimed").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in log] == ["alpha claude-code a.txt", "alpha claude-code b.txt"]
    assert session.shell("true") == ({}, {})


def test_the_turns_end_gives_back_what_was_claimed_automatically_and_nothing_else(pair: Pair) -> None:
    session = pair.session()
    session.edit("a.txt")
    assert pair.alpha.coord("claim", "src").code == 0
    assert session.hook("stop").out == ""
    assert holders(pair.alpha) == {"b.txt": "beta", "src": "alpha"}


def test_a_second_session_in_the_same_checkout_is_another_agent(pair: Pair, tmp_path: object) -> None:
    one, two = pair.session("s-1"), pair.session("s-2")
    one.edited("a.txt")
    reason = two.denied("a.txt")
    assert "a.txt   held by alpha #2" in reason
    two.edited("src/x.py")
    name = holders(pair.alpha)["src/x.py"]
    assert re.fullmatch(r"claude-[a-z0-9-]+-1", name)
    two.hook("session-end", reason="other")
    assert holders(pair.alpha) == {"b.txt": "beta", "a.txt": "alpha"}
    three = pair.session("s-3")
    three.edited("src/x.py")
    assert holders(pair.alpha)["src/x.py"] == name


def test_a_session_start_tells_who_one_is_and_who_is_in_the_way(pair: Pair) -> None:
    env_file = pair.alpha.path / "env"
    session = Session(pair.alpha.with_env(CLAUDE_ENV_FILE=str(env_file)), "s-1")
    pair.beta.coord_json("claim", "task:E-1", "branch:release")
    lines = session.start().splitlines()
    assert lines[0] == "git coord: you are alpha in this repository."
    assert re.fullmatch(r'  beta holds b\.txt until \d\d:\d\d "fix the parser"', lines[1])
    assert re.fullmatch(r"  beta holds task:E-1, branch:release until \d\d:\d\d", lines[2])
    assert re.fullmatch(r"export GIT_COORD_AGENT=alpha\nexport GIT_COORD_SESSION=\w+\n", env_file.read_text())


def test_a_session_start_warns_of_changed_files_that_somebody_else_holds(pair: Pair) -> None:
    pair.alpha.write("b.txt", "changed\n")
    assert [line for line in pair.session().start().splitlines() if "careful" in line and "b.txt" in line] != []


def test_what_a_shell_that_we_do_not_read_changed_is_found_by_looking(pair: Pair) -> None:
    session = pair.session()
    call = {"tool_name": "PowerShell", "tool_input": {"command": "Set-Content b.txt y"}}
    assert session.said("pre-edit", **call) == {}
    pair.alpha.write("b.txt", "y\n")
    assert session.said("post-edit", **call)["additionalContext"] == (
        "git coord: changed although somebody else holds it: b.txt; next: git coord check b.txt"
    )


@pytest.mark.parametrize(
    ("mode", "key"), [("warn", "additionalContext"), ("block", "permissionDecisionReason"), ("off", None)]
)
def test_the_mode_is_that_of_the_environment_then_of_the_configuration(pair: Pair, mode: str, key: str | None) -> None:
    pair.alpha.git("config", "coord.mode", mode)
    answer = pair.session().edit("b.txt")
    assert ("b.txt" in answer.get(key, "")) if key else answer == {}
    if mode != "block":
        blocking = Session(pair.alpha.with_env(GIT_COORD_MODE="block"), "s-1")
        assert blocking.edit("b.txt")["permissionDecision"] == "deny"


def test_an_invalid_mode_blocks_with_one_warning(pair: Pair) -> None:
    pair.alpha.git("config", "coord.mode", "blok")
    reason = pair.session().denied("b.txt")
    assert reason.splitlines()[-1] == "git coord: mode 'blok' is none of block, warn, off; taken as block"


def test_checking_only_claims_nothing_and_still_denies(pair: Pair) -> None:
    pair.alpha.git("config", "coord.autoClaim", "off")
    session = pair.session()
    assert session.edit("a.txt") == {}
    assert "held by beta" in session.denied("b.txt")
    pair.alpha.write(".coord.toml", '[claims]\nrequired = ["src"]\nexempt = ["b.txt"]\n')
    assert session.edit("b.txt") == {}
    assert session.denied("src/x.py").splitlines() == [
        "git coord: .coord.toml wants a claim before this is changed: src/x.py",
        "next   git coord claim src/x.py",
    ]


def test_an_edit_claim_can_end_with_the_edit(pair: Pair) -> None:
    pair.alpha.git("config", "coord.autoRelease", "edit")
    session = pair.session()
    session.edited("a.txt")
    assert holders(pair.alpha) == {"b.txt": "beta"}


def test_the_bypass_lets_an_edit_pass(pair: Pair) -> None:
    assert Session(pair.alpha.with_env(GIT_COORD_BYPASS="1"), "s-1").edit("b.txt") == {}


def test_where_nobody_set_it_up_nothing_is_said(repo: Repo) -> None:
    session = Session(repo, "s-1")
    assert session.start() == ""
    assert session.edit("README.md") == {}
    assert session.shell("echo x > README.md") == ({}, {})
    assert [session.hook(event).out for event in ("stop", "session-end")] == ["", ""]
    assert not (repo.path / ".git/coord").exists()


@pytest.mark.parametrize("ruin", ["ledger", "rules", "git"])
def test_not_finding_out_denies_and_warns_where_warnings_were_asked_for(pair: Pair, ruin: str) -> None:
    if ruin == "ledger":
        for ref in pair.alpha.refs("refs/coord/", "refs/coord-local/"):
            pair.alpha.git("update-ref", "-d", ref)
    elif ruin == "rules":
        pair.alpha.write(".coord.toml", "broken")
    else:
        pair.alpha.git("config", "core.repositoryFormatVersion", "99")
    reason = pair.session().denied("a.txt")
    assert reason.startswith("git coord: cannot tell whether this is free: ")
    if ruin != "git":
        pair.alpha.git("config", "coord.mode", "warn")
        assert "warning, cannot tell" in pair.session().edit("a.txt")["additionalContext"]


@pytest.mark.parametrize("data", [b"", b'{"tool_na', b"[]", b'{"tool_name": "Edit"}', b"\xff\xfe", b"[" * 50_000])
def test_what_is_no_payload_is_let_pass_with_a_word(pair: Pair, data: bytes) -> None:
    done = pair.alpha.run("git-coord", "hook", "claude-code", "pre-edit", input=data)
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(r"git coord: .*; nothing was checked\n", done.err)


def test_a_huge_payload_is_judged_like_any_other(pair: Pair) -> None:
    given = {"tool_name": "Write", "tool_input": {"content": "x" * 10_000_000, "file_path": "b.txt"}}
    assert pair.session().said("pre-edit", **given)["permissionDecision"] == "deny"


def test_an_event_that_does_not_exist_is_plain_failure_and_no_denial(pair: Pair) -> None:
    done = pair.alpha.run("git-coord", "hook", "claude-code", "pre-edti", input="{}")
    assert (done.code, done.out) == (1, "")


def test_words_of_others_are_escaped(pair: Pair) -> None:
    odd = "a\u202eb\u001b.txt"
    pair.beta.write(odd, "")
    assert pair.beta.coord("claim", odd).code == 0
    assert r"a\u202eb\x1b.txt   held by beta" in pair.session().denied(odd)


@pytest.mark.parametrize(
    ("tool", "call", "answer"),
    [
        ("codex", {"tool_name": "Bash", "tool_input": {"command": "rm b.txt"}}, ["hookSpecificOutput"]),
        ("gemini", {"tool_name": "replace", "tool_input": {"file_path": "b.txt"}}, ["decision", "reason"]),
        (
            "cursor",
            {"tool_name": "Delete", "tool_input": {"file_path": "b.txt"}},
            ["agent_message", "permission", "user_message"],
        ),
        ("opencode", {"tool": "edit", "args": {"filePath": "b.txt"}}, ["deny", "reason"]),
    ],
)
def test_each_tool_is_answered_in_its_own_words_only(
    pair: Pair, tool: str, call: dict[str, object], answer: list[str]
) -> None:
    found = json.loads(pair.session(tool=tool).hook("pre-edit", **call).out)
    assert sorted(found) == answer
    assert "held by beta" in json.dumps(found)


@pytest.mark.parametrize(("tool", "out"), [("cursor", '{"permission": "allow"}'), ("gemini", ""), ("codex", "")])
def test_no_objection_is_what_each_tool_takes_for_one(pair: Pair, tool: str, out: str) -> None:
    call = {"tool_name": "Read", "tool_input": {"file_path": "b.txt"}}
    assert pair.session(tool=tool).hook("pre-edit", **call).out == out


def test_an_automatic_claim_is_pending_then_confirmed_or_lost_to_whom(clones: Pair) -> None:
    session = clones.session()
    session.start()
    lost = {
        "GIT_CONFIG_KEY_0": "url./nowhere.insteadOf",
        "GIT_CONFIG_VALUE_0": str(clones.alpha.path.parent / "hub.git"),
    }
    cut_off = Session(clones.alpha.with_env(GIT_CONFIG_COUNT="1", **lost), "s-1")
    said = cut_off.edit("README.md")["additionalContext"]
    assert re.fullmatch(r"git coord: claimed for you \(here, to be confirmed, until \d\d:\d\d\): README\.md", said)
    assert clones.beta.coord("claim", "README.md", "-m", "first").code == 0
    settle(clones.alpha)
    # It holds nothing any more, and the holder is named.
    assert "git coord: the claim of README.md is lost to beta #1: undo your change or ask for it" in session.denied(
        "README.md"
    )
    session.edit("free.txt")
    settle(clones.alpha)
    assert session.edit("free.txt")["additionalContext"].splitlines()[-1] == "git coord: #2 free.txt is confirmed"
    assert session.edit("free.txt") == {}


def settle(repo: Repo) -> None:
    """Do what the process beside an edit does, after that one is done: it may have found no hub."""
    done = repo.with_env(GIT_COORD_AGENT="alpha").run(sys.executable, "-P", "-m", "git_coord.adapters", "settle")
    assert done.code == 0, done


def test_waiting_for_the_confirmation_can_be_asked_for(clones: Pair) -> None:
    clones.alpha.git("config", "coord.autoClaim", "confirmed")
    session = clones.session()
    said = session.edit("README.md")["additionalContext"]
    assert "claimed for you (#1, until" in said
    clones.alpha.git("remote", "set-url", "origin", "/nowhere")
    assert session.denied("other.txt").startswith("git coord: cannot tell whether this is free: ")


def test_neither_an_edit_nor_the_end_of_a_turn_waits_for_a_remote_that_hangs(clones: Pair) -> None:
    session = Session(clones.alpha.with_env(GIT_SSH_COMMAND="sleep 600", GIT_ALLOW_PROTOCOL="ssh"), "s-1")
    clones.alpha.git("remote", "set-url", "origin", "ssh://nowhere/x")
    clones.alpha.git("config", "coord.fetchTimeout", "1s")
    clones.alpha.git("config", "coord.pushTimeout", "1s")
    begun = time.monotonic()
    assert "to be confirmed" in session.edit("README.md")["additionalContext"]
    session.hook("stop")
    assert time.monotonic() - begun < PATIENCE
