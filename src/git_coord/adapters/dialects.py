"""How each tool wants to be told "no", and how it lets words through to its model; never another tool's keys."""

from __future__ import annotations

import json

from git_coord.guard.edit import Answer

_EVENT = {"pre-edit": "PreToolUse", "post-edit": "PostToolUse", "session-start": "SessionStart"}


def denying(tool: str, reason: str) -> Answer:
    """Return a refusal of the call, in the tool's own form; the exit status stays 0."""
    if tool == "cursor":
        # 3.9 shows only `user_message` to the model, others may show only the other one.
        return Answer(json.dumps({"permission": "deny", "user_message": reason, "agent_message": reason}))
    if tool == "gemini":
        return Answer(json.dumps({"decision": "deny", "reason": reason}))
    if tool == "opencode":
        return Answer(json.dumps({"deny": True, "reason": reason}))
    fields = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return Answer(json.dumps({"hookSpecificOutput": fields}))


def greeting(tool: str, text: str) -> Answer:
    """Return what a session is told at its start."""
    if not text:
        return Answer("{}" if tool in ("cursor", "opencode") else "")
    if tool == "cursor":
        return Answer(json.dumps({"additional_context": text}))
    if tool == "opencode":
        return Answer(json.dumps({"notes": text}))
    fields = {"hookEventName": _EVENT["session-start"], "additionalContext": text}
    return Answer(json.dumps({"hookSpecificOutput": fields}))
