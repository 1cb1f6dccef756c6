"""Whether an installed hook really denies and allows: its very command is run against a repository made for that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from git_coord.app import App

from .entries import PLUGIN, PRE, TOOLS, command
from .install import is_current, is_installed

SECONDS = 60
PROGRAMS = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "cursor": "cursor-agent",
    "opencode": "opencode",
}
ADVICE = {
    "claude-code": "hooks run once the folder is trusted; --closed needs 2.1.295",
    "codex": "approve the hooks in /hooks; linked worktrees read the main checkout's file",
    "gemini": "a git-coord that is gone denies every edit here: uninstall first",
    "cursor": "an open window may need a new session",
    "opencode": "if git-coord is gone, edits pass",
}
CALLS = {
    "claude-code": {"tool_name": "Edit", "tool_input": {"file_path": "@"}},
    "codex": {
        "tool_name": "apply_patch",
        "tool_input": {"command": "*** Begin Patch\n*** Update File: @\n*** End Patch"},
    },
    "gemini": {"tool_name": "replace", "tool_input": {"file_path": "@"}},
    "cursor": {"tool_name": "Write", "tool_input": {"file_path": "@"}},
    "opencode": {"tool": "edit", "args": {"filePath": "@"}},
}
"""A call of each tool that edits `@`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at."""

    what: str
    is_well: bool
    text: str


def examine(app: App, name: str, *, is_user: bool) -> list[Finding]:
    """Look at a tool's installation; what is not installed is one finding."""
    if not is_installed(app, name, is_user=is_user):
        return [Finding("installed", False, f"no; next: git coord adapter install {name}")]
    findings = [Finding("installed", True, "yes")]
    if name != PLUGIN and not is_current(app, TOOLS[name], is_user=is_user):
        findings.append(
            Finding("entries", False, f"not as this version writes them; next: git coord adapter install {name}")
        )
    findings.append(_version(PROGRAMS[name], app.env))
    with tempfile.TemporaryDirectory(prefix="git-coord-doctor-") as folder:
        findings += _trial(name, Path(folder), app.env)
    return [*findings, Finding("note", True, ADVICE[name])]


def _version(program: str, env: Mapping[str, str]) -> Finding:
    found = shutil.which(program, path=env.get("PATH"))
    if found is None:
        return Finding("program", True, f"{program} is not on PATH here")
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return Finding("program", True, f"{program} does not tell its version")
    return Finding("program", True, done.stdout.decode("utf-8", "replace").strip()[:80])


def _trial(name: str, folder: Path, outer: Mapping[str, str]) -> list[Finding]:
    """Let one agent hold a file and another one ask for it, and for a free one."""
    env = {key: value for key, value in outer.items() if not key.startswith(("GIT_", "CLAUDE_ENV_FILE"))}
    env |= {"XDG_STATE_HOME": str(folder / "state"), "GIT_COORD_AGENT": "holder", "GIT_CONFIG_GLOBAL": os.devnull}
    top = folder / "repo"
    steps = [
        ["git", "init", "-q", str(top)],
        ["git", "-C", str(top), "config", "coord.autoClaim", "off"],
        ["git-coord", "init"],
        ["git-coord", "claim", "held.txt", "-m", "a trial"],
    ]
    for step in steps:
        cwd = top if step[0] == "git-coord" else folder
        try:
            done = subprocess.run(step, cwd=cwd, env=env, capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as trouble:
            return [Finding("runs", False, f"{step[0]} cannot be run: {trouble}; is it on the tool's PATH?")]
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return [Finding("trial", False, f"{' '.join(step[:3])}: {words[-1] if words else done.returncode}")]
    env["GIT_COORD_AGENT"] = "other"
    denied, allowed = (_asks(name, path, top, env) for path in ("held.txt", "free.txt"))
    return [
        Finding("denies", "held by holder" in denied, "a held file" if "held by holder" in denied else _said(denied)),
        Finding(
            "allows", "held by" not in allowed and '"deny' not in allowed.replace('"deny": false', ""), "a free file"
        ),
    ]


def _said(answer: str) -> str:
    return f"a held file is not denied: {answer[:200] or 'nothing was said'}"


def _asks(name: str, path: str, top: Path, env: Mapping[str, str]) -> str:
    """Run the hook's command line as the tool does, through a shell; return its standard output."""
    call = json.loads(json.dumps(CALLS[name]).replace("@", path))
    given = json.dumps({"session_id": "trial", "cwd": str(top), **call}).encode()
    line = ["sh", "-c", command(name, PRE)]
    done = subprocess.run(line, cwd=top, env=dict(env), input=given, capture_output=True, timeout=SECONDS, check=False)
    return done.stdout.decode("utf-8", "replace")
