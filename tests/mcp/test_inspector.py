"""The inspector of the protocol's own project drives the installed program; it, and a Node for it, come from npm."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.helpers import Repo
from tests.helpers.registries import from_npm, shared_folder

PACKAGES = ("node@22", "@modelcontextprotocol/inspector@2")
"""It needs Node 22.19; the package of that name brings one."""
pytestmark = pytest.mark.slow(60)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folder that has both."""
    folder, why = from_npm(shared_folder(tmp_path_factory), "inspector", PACKAGES)
    if why:
        pytest.skip(why)
    return str(folder)


def _inspect(repo: Repo, era: str, *words: str, code: int = 0) -> dict[str, Any]:
    line = ["mcp-inspector", "--cli", "--protocol-era", era, "--format", "json", "--connect-timeout", "60000", *words]
    done = repo.run(*line, "--", "git-coord", "mcp")
    assert done.code == code, done
    assert "Warning" not in done.err, done.err
    return dict(json.loads(done.out)["result"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_calls_and_reads(alone: Repo, programs: str, era: str) -> None:
    alone = alone.with_env(PATH=f"{programs}{os.pathsep}{alone.env['PATH']}")
    alone.coord_json("claim", "held", "--agent", "beta")
    assert len(_inspect(alone, era, "--strict", "--method", "tools/list")["tools"]) == 12
    call = ["--method", "tools/call", "--tool-name", "claim_files", "--tool-args-json"]
    assert _inspect(alone, era, *call, '{"files": ["a"]}')["structuredContent"]["ok"] is True
    refused = _inspect(alone, era, *call, '{"files": ["held"]}')
    assert (refused["isError"], refused["structuredContent"]["holder"]) == (False, "beta")
    assert _inspect(alone, era, *call, '{"files": ["../x"]}', code=5)["structuredContent"]["code"] == "usage"
    board = _inspect(alone, era, "--method", "resources/read", "--uri", "coord://claims")["contents"]
    assert [claim["agent"] for claim in json.loads(board[0]["text"])["claims"]] == ["beta", "alpha"]
