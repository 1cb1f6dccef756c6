"""The inspector of the protocol's own project drives the installed program, where there is one and a Node for it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from tests.helpers import Repo

NEEDED = (22, 19)


def _missing() -> str | None:
    node = shutil.which("node")
    if node is None or shutil.which("mcp-inspector") is None:
        return "needs node and mcp-inspector (npm install -g @modelcontextprotocol/inspector) on PATH"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = tuple(map(int, re.findall(r"\d+", said)[:2]))
    return None if found >= NEEDED else f"needs Node {NEEDED[0]}.{NEEDED[1]}, and this is {said.strip()}"


pytestmark = [pytest.mark.slow, pytest.mark.skipif(_missing() is not None, reason=str(_missing()))]


def _inspect(repo: Repo, era: str, *words: str, code: int = 0) -> dict[str, Any]:
    line = ["mcp-inspector", "--cli", "--protocol-era", era, "--format", "json", "--connect-timeout", "60000", *words]
    done = repo.run(*line, "--", "git-coord", "mcp")
    assert done.code == code, done
    assert "Warning" not in done.err, done.err
    return dict(json.loads(done.out)["result"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_calls_and_reads(alone: Repo, era: str) -> None:
    alone.coord_json("claim", "held", "--agent", "beta")
    assert len(_inspect(alone, era, "--strict", "--method", "tools/list")["tools"]) == 12
    call = ["--method", "tools/call", "--tool-name", "claim_files", "--tool-args-json"]
    assert _inspect(alone, era, *call, '{"files": ["a"]}')["structuredContent"]["ok"] is True
    refused = _inspect(alone, era, *call, '{"files": ["held"]}')
    assert (refused["isError"], refused["structuredContent"]["holder"]) == (False, "beta")
    assert _inspect(alone, era, *call, '{"files": ["../x"]}', code=5)["structuredContent"]["code"] == "usage"
    board = _inspect(alone, era, "--method", "resources/read", "--uri", "coord://claims")["contents"]
    assert [claim["agent"] for claim in json.loads(board[0]["text"])["claims"]] == ["beta", "alpha"]
