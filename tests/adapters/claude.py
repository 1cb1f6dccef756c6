"""Claude Code as far as hooks go: which of the configured ones run for a call, how, and what their answers do."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.helpers import Completed, Repo, run


@dataclass
class ClaudeCode:
    """One session that works through the hooks of `.claude/settings.json`, as the tool's documentation has it."""

    repo: Repo
    id: str

    def begin(self) -> str:
        """Start the session; what its hooks write into the environment file, its shells read."""
        env_file = self.repo.path.parent / f"{self.id}.env"
        env_file.touch()
        self.repo = self.repo.with_env(CLAUDE_ENV_FILE=str(env_file))
        answers = self._run("SessionStart", "startup", source="startup")
        exports = dict(re.findall(r"^export (\w+)=(\S+)$", env_file.read_text(), re.MULTILINE))
        self.shell_env = {**self.repo.env, **exports}
        return "\n".join(self._context(answers))

    def call(self, tool: str, **given: Any) -> str | None:
        """Do a tool's call; return why it was blocked, None when it was done."""
        blocked = self._blocked(self._run("PreToolUse", tool, tool_name=tool, tool_input=given))
        if blocked is None:
            self._do(tool, given)
            self._run("PostToolUse", tool, tool_name=tool, tool_input=given, tool_response={}, duration_ms=1)
        return blocked

    def end(self) -> None:
        """End the turn, then the session."""
        self.end_turn()
        self.end_session()

    def end_turn(self) -> None:
        """End the turn."""
        self._run("Stop", "", stop_hook_active=False)

    def end_session(self) -> None:
        """End the session."""
        self._run("SessionEnd", "other", reason="other")

    def _run(self, event: str, subject: str, **payload: Any) -> list[Completed]:
        settings = json.loads((self.repo.path / ".claude/settings.json").read_text())
        common = {"session_id": self.id, "transcript_path": "t.jsonl", "cwd": str(self.repo.path)}
        given = json.dumps({**common, "permission_mode": "default", "hook_event_name": event, **payload})
        env = {**self.repo.env, "CLAUDE_PROJECT_DIR": str(self.repo.path), "CLAUDE_CODE_SESSION_ID": self.id}
        done = []
        for group in settings["hooks"].get(event, ()):
            if not _matches(group.get("matcher", ""), subject):
                continue
            for hook in group["hooks"]:
                assert hook["type"] == "command"
                line = ["sh", "-c", hook["command"]]
                done.append(run(line, cwd=self.repo.path, env=env, input=given, timeout=hook["timeout"] * 6))
        return done

    @staticmethod
    def _blocked(answers: list[Completed]) -> str | None:
        """Exit 2 blocks with stderr; exit 0 with a denial in JSON blocks; everything else lets the call proceed."""
        for done in answers:
            if done.code == 2:
                return done.err
            said = ClaudeCode._said(done)
            if said.get("permissionDecision") == "deny":
                return str(said["permissionDecisionReason"])
        return None

    @staticmethod
    def _said(done: Completed) -> dict[str, Any]:
        try:
            found = json.loads(done.out).get("hookSpecificOutput", {}) if done.code == 0 else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _context(self, answers: list[Completed]) -> list[str]:
        return [text for done in answers if (text := self._said(done).get("additionalContext"))]

    def _do(self, tool: str, given: dict[str, Any]) -> None:
        if tool == "Bash":
            run(["sh", "-c", given["command"]], cwd=self.repo.path, env=self.shell_env)
        elif tool in ("Edit", "Write"):
            path = self.repo.path / given["file_path"]
            before = path.read_text() if path.exists() else ""
            path.parent.mkdir(parents=True, exist_ok=True)
            new = before.replace(given["old_string"], given["new_string"]) if tool == "Edit" else given["content"]
            path.write_text(new)


def _matches(matcher: str, subject: str) -> bool:
    """Names and alternatives are exact; anything else is a regular expression; nothing matches everything."""
    if matcher in ("", "*"):
        return True
    if re.fullmatch(r"[A-Za-z0-9_\- ,|]+", matcher):
        return subject in re.split(r"[|,]", matcher)
    return re.search(matcher, subject) is not None
