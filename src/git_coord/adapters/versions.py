"""Which version of a tool is installed here, and whether it is one that our hooks are known to work with."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

from git_coord.domain.text import escape_for_display
from git_coord.lean import NamedTuple

from .findings import Finding, unsure, well, wrong

SECONDS = 10
"""How long a program may take to tell its version; the slowest takes three."""
Version = tuple[int, ...]


class Program(NamedTuple):
    """A tool's program, and the oldest version whose hooks are known to be those that we write."""

    name: str
    oldest: Version


PROGRAMS = {
    "claude-code": (Program("claude", (2, 1, 122)),),
    "codex": (Program("codex", (0, 153, 2)),),
    "gemini": (Program("gemini", (0, 26, 0)),),
    # The editor and the command line count differently.
    "cursor": (Program("cursor-agent", (2026, 9, 10)), Program("cursor", (3, 9, 16))),
    "opencode": (Program("opencode", (1, 18, 0)),),
}
CLOSED = {"claude-code": (2, 1, 295)}
"""From when on a hook can be told to deny when it fails itself; an older one lets the edit proceed."""


def look(tool: str, env: Mapping[str, str], *, is_closed: bool) -> list[Finding]:
    """Ask those of a tool's programs that are installed; `is_closed`: its hooks are to deny when they fail."""
    programs = PROGRAMS[tool]
    found = [(each, path) for each in programs if (path := shutil.which(each.name, path=env.get("PATH")))]
    if not found:
        names = " or ".join(each.name for each in programs)
        return [unsure("version", f"{names} is not on PATH here, so its version cannot be asked")]
    return [_judged(each, _said(path, env), CLOSED.get(tool) if is_closed else None) for each, path in found]


def _said(path: str, env: Mapping[str, str]) -> str | None:
    """Return what a program says of its version, None when it does not; it is started outside of any repository."""
    try:
        done = subprocess.run(
            [path, "--version"],
            cwd="/",
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _judged(program: Program, said: str | None, closed: Version | None) -> Finding:
    found = re.search(r"\d+(?:\.\d+)+", said or "")
    if found is None:
        return unsure("version", f"{program.name} --version does not tell a version", f"{program.name} --version")
    version = tuple(map(int, found[0].split(".")))
    shown = escape_for_display(f"{program.name} {found[0]}")
    if version < program.oldest:
        text = f"{shown} is older than {_dotted(program.oldest)}, the oldest that our hooks are known to work with"
        return wrong("version", text, f"update {program.name}")
    if closed is not None and version < closed:
        text = f"{shown} cannot deny when a hook fails (--closed), which needs {_dotted(closed)}"
        return wrong("version", text, f"update {program.name}")
    return well("version", f"{shown}, {_dotted(closed or program.oldest)} or newer is needed")


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
