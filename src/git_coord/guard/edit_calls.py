"""What one call of a coding agent's tool would change, read from what its hook is given; one dialect a tool."""

from .edit_patch import BEGIN, patched
from .edit_shell import Target, targets

TOOLS = ("claude-code", "codex", "gemini", "cursor", "opencode")
EVENTS = ("pre-edit", "post-edit", "session-start", "session-end", "stop")
_EDITS: dict[str, dict[str, tuple[str, ...]]] = {
    "claude-code": {
        "Edit": ("file_path",),
        "Write": ("file_path",),
        "MultiEdit": ("file_path",),
        "NotebookEdit": ("notebook_path",),
    },
    "codex": {},
    "gemini": {"replace": ("file_path",), "write_file": ("file_path",)},
    "cursor": dict.fromkeys(("Write", "Delete", "Edit"), ("file_path", "path", "target_file")),
    "opencode": dict.fromkeys(("edit", "write"), ("filePath", "path", "file_path")),
}
_PATCHES = {"codex": ("apply_patch",), "opencode": ("apply_patch", "patch")}
_SHELLS = {
    "claude-code": ("Bash",),
    "codex": ("Bash", "shell"),
    "gemini": ("run_shell_command",),
    "cursor": ("Shell",),
    "opencode": ("bash", "shell"),
}
_UNREAD_SHELLS = ("PowerShell",)
"""Shells whose idioms we do not know; what they changed is found by looking at the tree."""
_CHANGING = frozenset({"append", "apply", "create", "delete", "edit", "insert", "modify", "move", "overwrite", "patch"})
_CHANGING |= {"remove", "rename", "replace", "save", "update", "write"}
"""Words in the name of another server's tool (MCP) that say that it changes files."""
_NAMED = ("path", "file_path", "filepath", "file", "filename", "notebook_path", "source", "destination", "target_file")
_LISTED = ("paths", "files", "file_paths", "edits")


class Call:
    """One call; `problem` says why it cannot be read, and then it names no files."""

    __slots__ = ("cwd", "is_shell", "name", "problem", "session", "subagent", "targets")

    def __init__(self, name: str, cwd: str, session: str, subagent: str) -> None:
        self.name = name
        """The tool's own word for what is called."""
        self.cwd = cwd
        self.session = session
        self.subagent = subagent
        self.targets: list[Target] = []
        self.is_shell = False
        self.problem = ""


def dialect(tool: str, payload: dict[str, object]) -> str:
    """Return whose payload it is: Cursor also runs the hooks that are configured for Claude Code."""
    return "cursor" if tool == "claude-code" and "cursor_version" in payload else tool


def read_call(tool: str, payload: dict[str, object], here: str) -> Call:
    """Return what a payload says; `here` is where the hook was started. Never raises for any payload."""
    call = Call(
        _text(payload, "tool_name") or _text(payload, "tool"),
        _cwd(payload, here),
        _text(payload, "session_id") or _text(payload, "conversation_id") or _text(payload, "sid"),
        _text(payload, "agent_id"),
    )
    given = payload.get("tool_input", payload.get("args"))
    if tool == "cursor" and _text(payload, "hook_event_name") == "afterFileEdit":
        call.name, given = "Write", payload
    if tool == "opencode" and isinstance(payload.get("paths"), list):
        call.name, given = "edits", {"paths": payload["paths"]}
        _take_named(call, given)
        return call
    if not call.name:
        call.problem = "it names no tool"
    elif not isinstance(given, dict):
        if _is_changing(tool, call.name):
            call.problem = f"{call.name} has no input that can be read"
    else:
        _take(tool, call, given)
    return call


def _take(tool: str, call: Call, given: dict[str, object]) -> None:
    name = call.name
    if name in _EDITS[tool]:
        path = next((text for key in _EDITS[tool][name] if (text := _text(given, key))), "")
        call.targets = [(path, False)] if path else []
        call.problem = "" if path else f"{name} names no file"
    elif name in _PATCHES.get(tool, ()):
        text = _text(given, "command") or _text(given, "patchText") or _text(given, "input")
        call.targets = [(path, False) for path in patched(text)]
        call.problem = "" if call.targets else f"{name} names no file"
    elif name in _SHELLS[tool] or name in _UNREAD_SHELLS:
        _take_command(tool, call, given)
    elif _is_foreign_change(tool, name):
        _take_named(call, given)


def _take_command(tool: str, call: Call, given: dict[str, object]) -> None:
    call.is_shell = True
    command = given.get("command")
    if isinstance(command, list):
        command = next((word for word in reversed(command) if isinstance(word, str)), None)
    if not (command := _string(command)):
        call.problem = f"{call.name} has no command"
        return
    folder = _text(given, "cwd") or _text(given, "workdir") or call.cwd
    if call.name in _SHELLS[tool]:
        call.targets = targets(command, folder)
    if BEGIN in command:  # some agents apply a patch found in a command by themselves
        call.targets += [(path, False) for path in patched(command)]


def _take_named(call: Call, given: dict[str, object]) -> None:
    """Take every path that another server's tool is given under the usual names."""
    found = [_text(given, key) for key in _NAMED]
    for key in _LISTED:
        listed = given.get(key)
        for each in listed if isinstance(listed, list) else ():
            found.append(_string(each))
            if isinstance(each, dict):
                found += [_text(each, name) for name in _NAMED]
    call.targets = [(path.removeprefix("file://"), False) for path in dict.fromkeys(found) if path]


def _is_changing(tool: str, name: str) -> bool:
    return name in _EDITS[tool] or name in _PATCHES.get(tool, ()) or name in _SHELLS[tool]


def _is_foreign_change(tool: str, name: str) -> bool:
    """Tell whether the name is that of another server's tool, and says that it changes something."""
    if not name.lower().startswith(("mcp__", "mcp_", "mcp:")) and tool != "opencode":
        return False
    words = "".join(f"_{char.lower()}" if char.isupper() else char for char in name).replace("-", "_").split("_")
    return not _CHANGING.isdisjoint(words)


def _cwd(payload: dict[str, object], here: str) -> str:
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return _text(payload, "cwd") or root or here


def _text(found: dict[str, object], key: str) -> str:
    return _string(found.get(key))


def _string(value: object) -> str:
    """Return a text that can name something, empty for what cannot: with a NUL in it no system takes it.

    Half of a surrogate pair is what JavaScript writes as U+FFFD; what stands for a byte (`surrogateescape`) stays.
    """
    if not isinstance(value, str) or "\0" in value:
        return ""
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
