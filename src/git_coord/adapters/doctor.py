"""Whether a tool's hooks are there, are run, and really deny and allow.

Versions and trust are read as the tool records them; the hook's very command is run against a repository made for that.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from git_coord.app import App

from . import trust, versions
from .entries import PLUGIN, PRE, TOOLS, command
from .findings import Finding, unsure, well, wrong
from .install import is_closed, is_current, is_installed, place

SECONDS = 60
NEXT = "git coord doctor"
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


def examine(app: App, name: str, *, is_user: bool) -> list[Finding]:
    """Look at a tool's installation; what is not installed is one finding."""
    if not is_installed(app, name, is_user=is_user):
        return [wrong("installed", "no", f"git coord adapter install {name}{' --user' if is_user else ''}")]
    findings = [well("installed", place(app, name, is_user=is_user))]
    if name != PLUGIN and not is_current(app, TOOLS[name], is_user=is_user):
        findings.append(wrong("entries", "not as this version writes them", f"git coord adapter install {name}"))
    findings += versions.look(name, app.env, is_closed=is_closed(app, name, is_user=is_user))
    findings += trust.look(app, name, is_user=is_user)
    with tempfile.TemporaryDirectory(prefix="git-coord-doctor-") as folder:
        return [*findings, *_trial(name, Path(folder), app.env)]


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
            return [wrong("runs", f"{step[0]} cannot be run: {trouble}", f"put {step[0]} on the PATH of {name}")]
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()
            said = words[-1] if words else f"exit {done.returncode}"
            return [unsure("trial", f"{' '.join(step[:3])}: {said}", NEXT)]
    env["GIT_COORD_AGENT"] = "other"
    denied, allowed = (_asks(name, path, top, env) for path in ("held.txt", "free.txt"))
    return [
        well("denies", "a held file") if "held by holder" in denied else wrong("denies", _said(denied), NEXT),
        wrong("allows", f"a free file is denied: {allowed[:200]}", NEXT)
        if "held by" in allowed or '"deny' in allowed.replace('"deny": false', "")
        else well("allows", "a free file"),
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
