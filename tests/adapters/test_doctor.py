"""What the doctor of an adapter finds: the hook itself tried, versions asked, trust read where the tool records it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from git_coord.adapters import trust, versions
from git_coord.adapters.entries import NAMES
from git_coord.adapters.findings import Finding, State
from git_coord.app import open_app
from tests.helpers import Repo


def _program(folder: Path, name: str, says: str, code: int = 0) -> None:
    """Put a stand-in of a tool's program into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(
        f"#!/bin/sh\ntest \"$1\" = --version || exit 9\npwd > '{folder}/stood'\n{says}\nexit {code}\n"
    )
    (folder / name).chmod(0o755)


def look(repo: Repo, tool: str, *, is_user: bool = False, **env: str) -> dict[str, Finding]:
    """Return what is read of switches, trust and approval."""
    app = open_app(str(repo.path), {**repo.env, **env})
    return {one.what: one for one in trust.look(app, tool, is_user=is_user)}


def _states(found: dict[str, Finding]) -> dict[str, str]:
    return {what: one.state.value for what, one in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_doctor_feeds_the_command_a_denial_and_an_allowance(repo: Repo, name: str) -> None:
    missing = repo.coord("adapter", "doctor", name)
    assert (missing.code, missing.out) == (1, f"problem  installed no; next: git coord adapter install {name}\n")
    assert repo.coord("adapter", "install", name).code == 0
    found = repo.coord_json("adapter", "doctor", name)["findings"]
    assert [one for one in found if one["what"] in ("denies", "allows")] == [
        {"what": "denies", "state": "ok", "text": "a held file", "next": None},
        {"what": "allows", "state": "ok", "text": "a free file", "next": None},
    ]


def test_the_doctor_says_when_the_command_cannot_start(repo: Repo) -> None:
    assert repo.coord("adapter", "install", "claude-code").code == 0
    program = shutil.which("git-coord", path=repo.env["PATH"])
    assert program is not None
    done = repo.with_env(PATH="/usr/bin:/bin").run(program, "adapter", "doctor", "claude-code")
    assert done.code == 1
    assert "problem  runs      git-coord cannot be run: " in done.out
    assert done.out.endswith("; next: put git-coord on the PATH of claude-code\n")


def test_a_line_a_check_the_next_step_and_a_status_for_problems_only(repo: Repo, tmp_path: Path) -> None:
    assert repo.coord("adapter", "install", "claude-code").code == 0
    home = Path(repo.env["HOME"])
    _program(tmp_path / "bin", "claude", "echo '2.1.332 (Claude Code)'")
    here = repo.with_env(PATH=f"{tmp_path}/bin:{repo.env['PATH']}")
    step = f"start claude in {repo.path} once and accept the question"
    unknown = here.coord("adapter", "doctor", "claude-code")
    assert (unknown.code, unknown.out.splitlines()) == (
        0,
        [
            f"ok       installed {repo.path}/.claude/settings.json",
            "ok       version   claude 2.1.332, 2.1.122 or newer is needed",
            "ok       hooks     not switched off in any settings",
            f"unknown  trust     nothing is recorded yet, there is no {home}/.claude.json; next: {step}",
            "ok       denies    a held file",
            "ok       allows    a free file",
        ],
    )
    (home / ".claude.json").write_text('{"projects": {}}')
    refused = here.coord("adapter", "doctor", "claude-code", "--json")
    assert (refused.code, json.loads(refused.out)["ok"]) == (1, False)
    assert json.loads(refused.out)["findings"][3] == {
        "what": "trust",
        "state": "problem",
        "text": "this folder is not trusted: until then sessions with a terminal hold all hooks back",
        "next": step,
    }
    (home / ".claude.json").write_text(json.dumps({"projects": {str(tmp_path): {"hasTrustDialogAccepted": True}}}))
    trusted = here.coord("adapter", "doctor", "claude-code")
    assert (trusted.code, trusted.out.splitlines()[3]) == (0, f"ok       trust     {tmp_path} is trusted")


VERSIONS = [
    ("claude-code", "claude", "echo '2.1.121 (Claude Code)'", "problem"),
    ("claude-code", "claude", "echo '2.1.122 (Claude Code)'", "ok"),
    ("codex", "codex", "echo warning 1>&2; echo codex-cli 0.171.0", "ok"),
    ("codex", "codex", "echo codex-cli 0.99.0", "problem"),
    ("gemini", "gemini", "echo 0.9.0-nightly", "problem"),
    ("cursor", "cursor-agent", "echo 2026.09.10-abcdef", "ok"),
    ("cursor", "cursor", "printf '3.9.15\\ndeadbeef\\nx64\\n'", "problem"),
    ("opencode", "opencode", "echo 1.18.33", "ok"),
    ("opencode", "opencode", "echo hello", "unknown"),
    ("opencode", "opencode", "echo 1.18.33; exit 1", "unknown"),
    ("opencode", "opencode", "head -c 100000 /dev/zero", "unknown"),
]


@pytest.mark.parametrize(("tool", "program", "says", "state"), VERSIONS)
def test_a_version_is_asked_and_compared(tmp_path: Path, tool: str, program: str, says: str, state: str) -> None:
    _program(tmp_path / "bin", program, says)
    (found,) = versions.look(tool, {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, is_closed=False)
    assert (found.what, found.state) == ("version", state)
    assert (found.next is None) == (state == "ok")
    assert (tmp_path / "bin/stood").read_text() == "/\n"  # nothing of a repository can have a say in it


def test_to_be_closed_needs_a_newer_version(tmp_path: Path) -> None:
    _program(tmp_path / "bin", "claude", "echo 2.1.294")
    (found,) = versions.look("claude-code", {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, is_closed=True)
    assert found == Finding(
        "version",
        State.PROBLEM,
        "claude 2.1.294 cannot deny when a hook fails (--closed), which needs 2.1.295",
        "update claude",
    )


def test_a_program_that_hangs_or_is_not_there_leaves_its_version_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "SECONDS", 0.2)
    _program(tmp_path / "bin", "codex", "exec sleep 60")
    (found,) = versions.look("codex", {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, is_closed=False)
    assert found.text == "codex --version does not tell a version"
    (found,) = versions.look("gemini", {"PATH": f"{tmp_path}/bin"}, is_closed=False)
    assert (found.state, found.text) == ("unknown", "gemini is not on PATH here, so its version cannot be asked")


# Claude Code


@pytest.mark.parametrize(
    ("file", "text", "state"),
    [
        ("repo/.claude/settings.json", '{"disableAllHooks": true}', "problem"),
        ("repo/.claude/settings.local.json", '{"disableAllHooks": true}', "problem"),
        ("home/.claude/settings.json", '// mine\n{"disableAllHooks": true,}', "problem"),
        ("home/.claude/settings.json", '{"disableAllHooks": "yes"}', "ok"),
        ("home/.claude/settings.json", "{", "unknown"),
    ],
)
def test_claude_code_with_its_hooks_switched_off_is_a_problem(repo: Repo, file: str, text: str, state: str) -> None:
    path = Path(file.replace("repo", str(repo.path)).replace("home", repo.env["HOME"]))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    found = look(repo, "claude-code")
    assert found["trust" if state == "unknown" else "hooks"].state == state
    if state == "problem":
        assert found["hooks"].text == f"switched off by disableAllHooks in {path}"


def test_the_nearest_settings_decide_and_the_environment_too(repo: Repo) -> None:
    user = Path(repo.env["HOME"], ".claude/settings.json")
    user.parent.mkdir()
    user.write_text('{"disableAllHooks": true}')
    repo.write(".claude/settings.local.json", '{"disableAllHooks": false}')
    assert look(repo, "claude-code")["hooks"].state == "ok"
    assert look(repo, "claude-code", CLAUDE_CODE_SIMPLE="1")["hooks"].next == "unset CLAUDE_CODE_SIMPLE"


def test_trust_in_the_main_checkout_counts_for_its_worktrees_and_links_are_followed(repo: Repo, tmp_path: Path) -> None:
    linked = repo.worktree("linked")
    (tmp_path / "way").symlink_to(repo.path)
    record = {"projects": {str(tmp_path / "way"): {"hasTrustDialogAccepted": True}}}
    folder = tmp_path / "claude"
    folder.mkdir()
    (folder / ".claude.json").write_text(json.dumps(record))
    assert look(linked, "claude-code", CLAUDE_CONFIG_DIR=str(folder))["trust"].text == f"{repo.path} is trusted"
    record["projects"][str(tmp_path / "way")]["hasTrustDialogAccepted"] = False
    (folder / ".claude.json").write_text(json.dumps(record))
    assert look(linked, "claude-code", CLAUDE_CONFIG_DIR=str(folder))["trust"].state == "problem"


# Codex: what these tests take for its behaviour was seen of `hooks/list` of its app server, 0.171.0

HASHES = {
    "pre_tool_use": "36fcee7cdbb038784e6900725cf3d191286ee81fe0c2fc5b38aa0f00473d0395",
    "post_tool_use": "96d248f821e59da9cd4499f75e87a4bb4ad4081fa2569a878106cb6af0751159",
    "session_start": "ead3c405ea12e8d33f10f108f176ec6732ec39fdbe5adaca46561fe7cf671e1f",
    "session_end": "53ea71a2cf5cb04a1ba96309c7e2aa7193d7ff2c031ae8521802eef9d118c97d",
    "stop": "cb9f8116d40a20ba73108837e1e244f30091cad9a4400ab9afa7b07a7602291f",
}
"""What codex 0.171.0 itself makes of the hooks that we install; a change of one makes every user approve it anew."""


def codex_config(
    repo: Repo, *, trusted: str = "trusted", approved: dict[str, str] | None = None, more: str = ""
) -> None:
    hooks = HASHES if approved is None else approved
    text = f'{more}\n[projects."{repo.path}"]\ntrust_level = "{trusted}"\n'
    for event, digest in hooks.items():
        text += f'[hooks.state."{repo.path}/.codex/hooks.json:{event}:0:0"]\ntrusted_hash = "sha256:{digest}"\n'
    path = Path(repo.env["HOME"], ".codex/config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_codex_is_well_when_it_is_on_trusted_and_every_hook_approved_as_it_stands(repo: Repo) -> None:
    assert repo.coord("adapter", "install", "codex").code == 0
    assert _states(look(repo, "codex")) == {"hooks": "ok", "trust": "unknown"}
    codex_config(repo)
    assert _states(look(repo, "codex")) == {"hooks": "ok", "trust": "ok", "approval": "ok"}


@pytest.mark.parametrize("name", ["hooks", "codex_hooks"])
@pytest.mark.parametrize("is_project", [False, True])
def test_codex_with_the_feature_off_is_a_problem(repo: Repo, name: str, is_project: bool) -> None:
    assert repo.coord("adapter", "install", "codex").code == 0
    more = f"[features]\n{name} = false\n"
    codex_config(repo, more="" if is_project else more)
    if is_project:
        repo.write(".codex/config.toml", more)
    assert look(repo, "codex")["hooks"].state == "problem"


def test_codex_runs_nothing_of_a_project_that_is_not_trusted(repo: Repo) -> None:
    assert repo.coord("adapter", "install", "codex").code == 0
    codex_config(repo, trusted="untrusted")
    assert look(repo, "codex")["trust"].text.startswith(f"{repo.path} is 'untrusted' in ")
    path = Path(repo.env["HOME"], ".codex/config.toml")
    path.write_text(f'[projects."{repo.path.parent}"]\ntrust_level = "trusted"\n')  # a folder above does not count
    assert look(repo, "codex")["trust"].state == "problem"
    path.write_text("[projects")
    assert look(repo, "codex")["trust"].state == "unknown"


def test_codex_hooks_that_are_not_approved_as_they_stand_are_named(repo: Repo) -> None:
    assert repo.coord("adapter", "install", "codex").code == 0
    codex_config(repo, approved={})
    shown = ", ".join(("pre_tool_use", "post_tool_use", "session_start", "stop", "session_end"))
    assert look(repo, "codex")["approval"].text == f"not approved, so they do not run: {shown}"
    codex_config(repo, approved={**HASHES, "pre_tool_use": HASHES["stop"]})
    assert look(repo, "codex")["approval"].text == "changed since approved, so they do not run: pre_tool_use"
    off = f'[hooks.state."{repo.path}/.codex/hooks.json:stop:0:0"]\nenabled = false\n'
    codex_config(repo, approved={event: digest for event, digest in HASHES.items() if event != "stop"}, more=off)
    assert look(repo, "codex")["approval"].text == "switched off, so they do not run: stop"


def test_a_linked_worktree_of_codex_reads_the_main_checkout(repo: Repo) -> None:
    linked = repo.worktree("linked")
    assert linked.coord("adapter", "install", "codex").code == 0
    codex_config(repo)
    found = look(linked, "codex")
    assert found["trust"].state == "ok"
    assert found["approval"].text == (
        f"codex reads {repo.path}/.codex/hooks.json for this worktree, where there is none of our hooks"
    )
    shutil.rmtree(linked.path / ".codex")
    assert look(linked, "codex")["trust"].next == "git coord adapter install codex --user"


def test_hooks_of_the_user_need_their_approval_and_no_trusted_project(repo: Repo, tmp_path: Path) -> None:
    here = repo.with_env(CODEX_HOME=str(tmp_path / "codex"))
    assert here.coord("adapter", "install", "codex", "--user").code == 0
    (tmp_path / "codex/config.toml").write_text("")
    assert _states(look(here, "codex", is_user=True)) == {"hooks": "ok", "approval": "problem"}


# Gemini, Cursor, opencode


@pytest.mark.parametrize(
    ("rules", "state"),
    [
        ({"{top}": "TRUST_FOLDER"}, "ok"),
        ({"{above}": "TRUST_FOLDER", "{top}": "DO_NOT_TRUST"}, "problem"),
        ({"{top}/src": "TRUST_PARENT"}, "ok"),
        ({"{top}/src": "TRUST_FOLDER"}, "problem"),
        ({}, "problem"),
        (None, "unknown"),
    ],
)
def test_gemini_goes_by_the_rule_with_the_longest_path(repo: Repo, rules: dict[str, str] | None, state: str) -> None:
    folder = Path(repo.env["HOME"], ".gemini")
    folder.mkdir()
    if rules is not None:
        named = {key.format(top=repo.path, above=repo.path.parent): value for key, value in rules.items()}
        (folder / "trustedFolders.json").write_text(json.dumps(named))
    assert look(repo, "gemini")["trust"].state == state
    assert look(repo, "gemini", GEMINI_CLI_TRUST_WORKSPACE="true")["trust"].state == "ok"
    (folder / "settings.json").write_text('{"security": {"folderTrust": {"enabled": false}}} // not here')
    assert look(repo, "gemini")["trust"].state == "ok"


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ({"hooksConfig": {"enabled": False}}, "problem"),
        ({"hooksConfig": {"disabled": ["lint", "git-coord-pre-edit"]}}, "problem"),
        ({"hooksConfig": {"disabled": ["lint"]}}, "ok"),
        ({"hooksConfig": {"enabled": True}}, "ok"),
    ],
)
def test_gemini_with_our_hooks_switched_off_is_a_problem(repo: Repo, settings: object, state: str) -> None:
    repo.write(".gemini/settings.json", json.dumps(settings))
    assert look(repo, "gemini")["hooks"].state == state


def test_cursor_may_leave_out_a_file_with_one_odd_line_and_hides_whom_its_editor_trusts(repo: Repo) -> None:
    assert repo.coord("adapter", "install", "cursor").code == 0
    assert _states(look(repo, "cursor")) == {"hooks": "ok", "trust": "unknown"}
    path = repo.path / ".cursor/hooks.json"
    good = json.loads(path.read_text())
    path.write_text(json.dumps({**good, "hooks": {**good["hooks"], "preEdit": []}}))
    assert look(repo, "cursor")["hooks"].text.endswith(": preEdit")
    path.write_text(json.dumps({**good, "hooks": {"stop": [{"command": "curl https://example.com"}]}}))
    assert "URL" in look(repo, "cursor")["hooks"].text
    for name, top in (("other", "/nowhere"), ("this", str(repo.path))):
        folder = Path(repo.env["HOME"], ".cursor/projects", name)
        folder.mkdir(parents=True)
        (folder / ".workspace-trusted").write_text(json.dumps({"workspacePath": top}))
    assert look(repo, "cursor")["trust"].state == "ok"


def test_opencode_asks_for_nothing_but_can_be_told_to_leave_plugins_out(repo: Repo) -> None:
    assert _states(look(repo, "opencode")) == {"trust": "ok"}
    assert look(repo, "opencode", OPENCODE_PURE="1")["hooks"].next == "unset OPENCODE_PURE"
    assert _states(look(repo, "opencode", is_user=True, OPENCODE_DISABLE_PROJECT_CONFIG="1")) == {"trust": "ok"}
    repo.write("opencode.json", '{"plugins": []}')
    assert _states(look(repo, "opencode")) == {"hooks": "unknown"}


def test_without_a_worktree_there_is_no_trust_to_read(repo: Repo) -> None:
    repo.git("clone", "--bare", "-q", str(repo.path), str(repo.path.parent / "bare.git"))
    bare = Repo(repo.path.parent / "bare.git", repo.env)
    assert _states(look(bare, "codex", is_user=True)) == {"trust": "unknown"}


@pytest.mark.parametrize(
    ("tool", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "x/settings.json"),
        ("codex", "CODEX_HOME", "x/hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", "x/.gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "x/opencode/plugins/git-coord.js"),
    ],
)
def test_hooks_of_the_user_go_where_the_tool_is_told_that_its_folder_is(
    repo: Repo, tmp_path: Path, tool: str, variable: str, file: str
) -> None:
    here = repo.with_env(**{variable: str(tmp_path / "x")})
    assert here.coord_json("adapter", "install", tool, "--user")["path"] == str(tmp_path / file)
    assert os.path.exists(tmp_path / file)
