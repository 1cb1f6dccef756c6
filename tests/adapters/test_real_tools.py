"""The tools themselves, without a model: what they make of the configuration that we write, beside what we read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_doctor import HASHES, codex_config, look
from tests.helpers import PATIENCE, Repo
from tests.helpers.registries import npm_install

pytestmark = pytest.mark.slow(60)  # two large downloads
NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return where to install a tool; they are large, and nobody else wants them."""
    yield tmp_path / "tool"
    shutil.rmtree(tmp_path / "tool", ignore_errors=True)


def _install(folder: Path, package: str) -> str:
    if why := npm_install(folder, [package]):
        pytest.skip(why)
    return str(folder / "node_modules/.bin")


class AppServer:
    """Codex as editors start it, spoken to line by line."""

    def __init__(self, programs: str, repo: Repo) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        env = {**repo.env, **NOWHERE}
        self._process = subprocess.Popen([f"{programs}/codex", "app-server"], cwd=repo.path, env=env, **pipes)
        client = {"name": "test", "title": None, "version": "1"}
        self._ask(1, "initialize", {"clientInfo": client, "capabilities": None})
        self._say({"method": "initialized"})

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._say({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            said = json.loads(self._process.stdout.readline())
            if said.get("id") == number:
                return dict(said["result"])

    def hooks(self, repo: Repo) -> dict[str, str]:
        """Return whether each hook is trusted, by the event that it is filed under; and end."""
        (found,) = self._ask(2, "hooks/list", {"cwds": [str(repo.path)]})["data"]
        assert (found["warnings"], found["errors"]) == ([], [])
        self._process.communicate(timeout=PATIENCE)
        return {hook["key"].split(":")[1]: hook["trustStatus"] for hook in found["hooks"] if hook["enabled"]}


def test_codex_takes_our_file_and_is_read_by_us_as_it_reads_itself(repo: Repo, folder: Path) -> None:
    programs = _install(folder, "@openai/codex@0.171.0")
    assert repo.coord("adapter", "install", "codex", "--mcp").code == 0
    codex_config(repo, trusted="untrusted")
    assert AppServer(programs, repo).hooks(repo) == {}
    assert look(repo, "codex")["trust"].state == "problem"
    codex_config(repo)
    assert AppServer(programs, repo).hooks(repo) == dict.fromkeys(HASHES, "trusted")
    assert look(repo, "codex")["approval"].state == "ok"
    codex_config(repo, approved={**HASHES, "stop": HASHES["session_end"]})
    assert AppServer(programs, repo).hooks(repo)["stop"] == "modified"
    assert look(repo, "codex")["approval"].state == "problem"
    listed = repo.with_env(**NOWHERE).run(f"{programs}/codex", "mcp", "list")
    assert "git-coord" in listed.out


def test_gemini_finds_no_fault_in_our_file_and_connects_to_our_server(repo: Repo, folder: Path) -> None:
    programs = _install(folder, "@google/gemini-cli@0.61.0")
    assert repo.coord("adapter", "install", "gemini", "--mcp").code == 0
    rules = Path(repo.env["HOME"], ".gemini/trustedFolders.json")
    rules.parent.mkdir()
    here = repo.with_env(**NOWHERE, PATH=f"{programs}{os.pathsep}{repo.env['PATH']}")
    said = []
    for level in ("TRUST_FOLDER", "DO_NOT_TRUST"):
        rules.write_text(json.dumps({str(repo.path): level}))
        done = here.run("gemini", "mcp", "list")
        said.append(done.out + done.err)
        state = "ok" if level == "TRUST_FOLDER" else "problem"
        assert look(repo, "gemini")["trust"].state == state
    assert "Invalid" not in said[0]
    assert "git-coord: git-coord mcp (stdio) - Connected" in said[0]
    assert "Connected" not in said[1]
