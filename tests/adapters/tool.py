"""A stand-in for a coding agent's tool: runs the hook commands as the tool does, and obeys their answers as it does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.helpers import Completed, Repo


@dataclass
class Session:
    """A session of a tool in a worktree, whose hooks are called directly."""

    repo: Repo
    id: str
    tool: str = "claude-code"
    more: dict[str, Any] = field(default_factory=dict)

    def hook(self, event: str, **payload: Any) -> Completed:
        """Run a hook; nothing it may be given makes it exit with anything but 0."""
        given = {"session_id": self.id, "cwd": str(self.repo.path), **self.more, **payload}
        done = self.repo.run("git-coord", "hook", self.tool, event, input=json.dumps(given))
        assert done.code == 0, done
        return done

    def said(self, event: str, **payload: Any) -> dict[str, Any]:
        """Return what Claude Code reads in a hook's answer, empty for "no opinion"."""
        done = self.hook(event, **payload)
        assert done.err == "", done
        answer = json.loads(done.out)["hookSpecificOutput"] if done.out else {}
        assert isinstance(answer, dict)
        return answer

    def edit(self, path: str | Path, name: str = "Edit") -> dict[str, Any]:
        """Ask whether a file may be edited."""
        return self.said("pre-edit", tool_name=name, tool_input={"file_path": str(self.repo.path / path)})

    def denied(self, path: str | Path) -> str:
        """Return the reason for which a file may not be edited."""
        answer = self.edit(path)
        assert answer.get("permissionDecision") == "deny", answer
        assert isinstance(answer["permissionDecisionReason"], str)
        return answer["permissionDecisionReason"]

    def edited(self, path: str, text: str = "edited\n") -> None:
        """Edit a file as the tool does: ask, write, tell."""
        assert "permissionDecision" not in self.edit(path)
        self.repo.write(path, text)
        self.said("post-edit", tool_name="Edit", tool_input={"file_path": str(self.repo.path / path)})

    def start(self) -> str:
        """Begin the session; return what it is told."""
        return str(self.said("session-start", source="startup").get("additionalContext", ""))

    def shell(self, command: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run a command as the tool does; return the answers before and after; a denied one is not run."""
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        before = self.said("pre-edit", **call)
        if before.get("permissionDecision") == "deny":
            return before, {}
        self.repo.run("sh", "-c", command)
        return before, self.said("post-edit", **call)
