"""Our hooks in a tool's configuration: beside what is there, once, and gone again without a trace."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from git_coord.adapters.entries import NAMES, TOOLS
from tests.adapters.conftest import Pair
from tests.helpers import Repo

FOREIGN = {
    "claude-code": b'{"permissions": {"allow": ["Bash"]},\n\n "hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": [\n'
    b'  {"type": "command", "command": "lint \xc3\xa4"}]}], "Stop": []}}',
    "codex": b'{"description": "ours", "hooks": {}}\n',
    "gemini": b'{\n\t"theme": "dark",\n\t"hooks": '
    b'{"BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}]}\n}\n',
    "cursor": b'{"version": 1, "hooks": {"preToolUse": [{"command": "lint"}]}}',
}


def _path(repo: Repo, name: str) -> Path:
    files = {**{tool.name: tool.project for tool in TOOLS.values()}, "opencode": ".opencode/plugins/git-coord.js"}
    return repo.path / files[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_configuration_made_by_us_is_gone_again_afterwards(repo: Repo, name: str) -> None:
    assert repo.coord("adapter", "install", name).out.startswith(f"hooks   {_path(repo, name)}\n")
    written = _path(repo, name).read_bytes()
    assert f"git-coord hook {name}" in written.decode() or name == "opencode"
    assert repo.coord("adapter", "install", name).out.startswith(f"already   {_path(repo, name)}\n")
    assert _path(repo, name).read_bytes() == written
    assert repo.coord_json("adapter", "status")["installed"] == [
        {"tool": name, "path": str(_path(repo, name)), "user": False}
    ]
    assert repo.coord_json("adapter", "uninstall", name)["changed"] is True
    assert not _path(repo, name).exists()
    assert repo.coord_json("adapter", "uninstall", name)["changed"] is False


@pytest.mark.parametrize("name", FOREIGN)
def test_what_others_configured_stays_and_comes_back_byte_for_byte(repo: Repo, name: str) -> None:
    path = repo.write(str(_path(repo, name).relative_to(repo.path)), FOREIGN[name])
    path.chmod(0o640)
    assert repo.coord("adapter", "install", name).code == 0
    before, after = json.loads(FOREIGN[name]), json.loads(path.read_text())
    assert {key: value for key, value in after.items() if key != "hooks"} == {
        key: value for key, value in before.items() if key != "hooks"
    }
    for event, listed in before["hooks"].items():
        assert after["hooks"][event][: len(listed)] == listed
    assert repo.coord("adapter", "uninstall", name).code == 0
    assert path.read_bytes() == FOREIGN[name]
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_was_added_since_stays_when_ours_is_taken_out(repo: Repo) -> None:
    path = repo.write(".claude/settings.json", FOREIGN["claude-code"])
    assert repo.coord("adapter", "install", "claude-code").code == 0
    found = json.loads(path.read_text())
    found["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": "late"}]})
    path.write_text(json.dumps(found))
    assert repo.coord("adapter", "uninstall", "claude-code").code == 0
    wanted: dict[str, Any] = json.loads(FOREIGN["claude-code"])
    wanted["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": "late"}]})
    assert json.loads(path.read_text()) == wanted


def test_an_older_entry_of_ours_is_replaced_and_not_doubled(repo: Repo) -> None:
    old = {
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "git-coord hook claude-code pre-edit"}]}]}
    }
    path = repo.write(".claude/settings.json", json.dumps(old))
    assert repo.coord("adapter", "install", "claude-code", "--closed").code == 0
    found = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert [(entry["matcher"][:6], entry["hooks"][0]["onFailure"]) for entry in found] == [("^(Edit", "block")]


def test_a_file_behind_a_link_is_changed_where_it_is(repo: Repo, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    (repo.path / ".claude").mkdir()
    (repo.path / ".claude/settings.json").symlink_to(real)
    assert repo.coord("adapter", "install", "claude-code").code == 0
    assert "git-coord hook" in real.read_text()
    assert (repo.path / ".claude/settings.json").is_symlink()


@pytest.mark.parametrize("text", ["{ // comment\n}", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', "{"])
def test_a_file_that_we_cannot_read_is_left_alone(repo: Repo, text: str) -> None:
    path = repo.write(".claude/settings.json", text)
    done = repo.coord("adapter", "install", "claude-code")
    assert (done.code, path.read_text()) == (1, text)
    assert "nothing was changed" in done.err


def test_printing_changes_nothing_and_user_means_the_home_folder(repo: Repo) -> None:
    shown = repo.coord("adapter", "install", "codex", "--print")
    assert sorted(json.loads(shown.out)["hooks"]) == ["PostToolUse", "PreToolUse", "SessionEnd", "SessionStart", "Stop"]
    assert not (repo.path / ".codex").exists()
    assert repo.coord("adapter", "install", "codex", "--user").code == 0
    assert Path(repo.env["HOME"], ".codex/hooks.json").read_text() == shown.out


SERVERS = {
    "claude-code": (".mcp.json", b'{"mcpServers": {"other": {"command": "x"}}}'),
    "codex": (".codex/config.toml", b'model = "m"\n[mcp_servers.other]\ncommand = "x"'),
    "gemini": (".gemini/settings.json", FOREIGN["gemini"]),
    "cursor": (".cursor/mcp.json", b'{ "mcpServers": {} }\n'),
    "opencode": ("opencode.json", b'{\n    "theme": "x"\n}\n'),
}


@pytest.mark.parametrize("name", SERVERS)
def test_our_server_is_listed_beside_others_and_goes_byte_for_byte(repo: Repo, name: str) -> None:
    file, before = SERVERS[name]
    path = repo.write(file, before)
    assert repo.coord_json("adapter", "install", name, "--mcp")["server"] == str(path)
    after = path.read_bytes()
    if file.endswith(".toml"):
        listed = tomllib.loads(after.decode())["mcp_servers"]
        assert listed == {"other": {"command": "x"}, "git-coord": {"command": "git-coord", "args": ["mcp"]}}
    else:
        found = json.loads(after)
        entry = found.get("mcpServers", found.get("mcp"))["git-coord"]
        assert "mcp" in entry.get("args", entry["command"])
    assert repo.coord_json("adapter", "install", name, "--mcp")["server"] is None
    assert path.read_bytes() == after
    assert repo.coord("adapter", "uninstall", name).code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", SERVERS)
def test_a_list_of_servers_made_by_us_is_gone_again_afterwards(repo: Repo, name: str) -> None:
    assert repo.coord("adapter", "install", name, "--mcp").code == 0
    assert (repo.path / SERVERS[name][0]).exists()
    assert repo.coord("adapter", "uninstall", name).code == 0
    assert not (repo.path / SERVERS[name][0]).exists()


HOST = """
import plugin from "./.opencode/plugins/git-coord.js"
const hooks = await plugin.server({ directory: process.cwd() })
const before = async (tool, args) => {
  try { await hooks["tool.execute.before"]({ tool, sessionID: "s-1", callID: "c" }, { args }); return "done" }
  catch (trouble) { return trouble.message.split("\\n")[1] }
}
const call = { action: "edit", sessionID: "s-1", resources: ["b.txt"] }
await plugin.setup({ location: { directory: process.cwd() }, permission: { hook: async (_, ask) => ask(call) } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s-1" } } })
console.log(JSON.stringify([await before("edit", { filePath: "b.txt" }), await before("read", { filePath: "b.txt" }),
  await before("bash", { command: "rm b.txt" }), await before("edit", { filePath: "a.txt" }), call.effect]))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="the plugin is JavaScript: needs node")
def test_the_plugin_of_opencode_denies_in_either_generation(pair: Pair) -> None:
    assert pair.alpha.coord("adapter", "install", "opencode").code == 0
    script = pair.alpha.write("host.mjs", HOST)
    env = {**pair.alpha.env, "NODE_NO_WARNINGS": "1"}
    done = subprocess.run(["node", str(script)], cwd=pair.alpha.path, env=env, capture_output=True, check=False)
    denied, read, shell, free, effect = json.loads(done.stdout)
    assert denied.startswith("  b.txt   held by beta #1")
    assert shell == denied
    assert (read, free, effect) == ("done", "done", "deny")


@pytest.mark.skipif(shutil.which("node") is None, reason="the plugin is JavaScript: needs node")
def test_the_plugin_of_opencode_lets_edits_pass_when_git_coord_is_gone(pair: Pair) -> None:
    assert pair.alpha.coord("adapter", "install", "opencode").code == 0
    script = pair.alpha.write("host.mjs", HOST)
    node = shutil.which("node")
    assert node is not None
    env = {**pair.alpha.env, "NODE_NO_WARNINGS": "1", "PATH": "/nowhere"}
    done = subprocess.run([node, str(script)], cwd=pair.alpha.path, env=env, capture_output=True, check=False)
    assert json.loads(done.stdout) == ["done", "done", "done", "done", None]
