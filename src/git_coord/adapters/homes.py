"""Where each tool keeps what belongs to its user: the folder that its own variable names, else the one in the home."""

from __future__ import annotations

import os
from collections.abc import Mapping


def folder(tool: str, env: Mapping[str, str]) -> str:
    """Return the folder of a tool's configuration for this user, which need not exist."""
    home = env.get("HOME") or os.path.expanduser("~")
    if tool == "claude-code":
        return env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    if tool == "codex":
        return env.get("CODEX_HOME") or os.path.join(home, ".codex")
    if tool == "gemini":
        return os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini")
    if tool == "opencode":
        return os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "opencode")
    return os.path.join(home, f".{tool}")
