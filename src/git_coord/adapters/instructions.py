"""Instructions for agents: a marked block in files they read, and a skill; what else is there is never touched."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from git_coord.errors import CoordError, Kind

BEGIN, END = "<!-- git-coord: begin -->", "<!-- git-coord: end -->"
FILES = ("AGENTS.md", "CLAUDE.md")
"""Files that agents read; those that exist get the block, the first one is made when there is none."""
SKILLS = (".claude/skills/git-coord/SKILL.md", ".agents/skills/git-coord/SKILL.md")
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Written:
    """A file of instructions, and whether it was changed."""

    path: str
    is_changed: bool


def block() -> str:
    """Return the block with its marks."""
    return f"{BEGIN}\n{(HERE / 'text' / 'block.md').read_text('utf-8')}{END}\n"


def skill() -> str:
    """Return the text of the skill file."""
    return (HERE / "text" / "SKILL.md").read_text("utf-8")


def shell_helper() -> str:
    """Return where the helper for shell scripts is."""
    return str(HERE / "shell" / "git-coord.sh")


def install(top: str, names: tuple[str, ...]) -> list[Written]:
    """Put the block into files of the worktree: in its place where there is one, at the end elsewhere; and the skill.

    Raises CoordError(ERROR) for a file whose marks are not a pair.
    """
    chosen = names or tuple(name for name in FILES if os.path.exists(os.path.join(top, name))) or FILES[:1]
    texts = [(name, _with_block(os.path.join(top, name))) for name in chosen]
    texts += [(name, skill()) for name in SKILLS if not names]
    return [_write(os.path.join(top, name), text) for name, text in texts]


def remove(top: str, names: tuple[str, ...]) -> list[Written]:
    """Take the block out again, and the skill; a file that held nothing else goes."""
    done = []
    for name in names or FILES:
        path = os.path.join(top, name)
        before, _, after = _parts(path)
        rest = f"{before.removesuffix(chr(10)) if before else ''}{after}"
        done.append(_write(path, rest) if rest else _unlink(path))
    return done + [_unlink(os.path.join(top, name)) for name in SKILLS if not names]


def _with_block(path: str) -> str:
    before, found, after = _parts(path)
    if found:
        return f"{before}{block()}{after}"
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}{block()}"


def _parts(path: str) -> tuple[str, str, str]:
    """Return what stands before our block, the block, and what stands after it; all is "before" without one."""
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return "", "", ""
    if text.count(BEGIN) != text.count(END) or text.count(BEGIN) > 1:
        raise CoordError(Kind.ERROR, f"{path} has marks of git coord that are not one pair; nothing was changed")
    before, begin, rest = text.partition(BEGIN)
    middle, _, after = rest.partition(END)
    return before, begin + middle, after.removeprefix("\n") if begin else ""


def _write(path: str, text: str) -> Written:
    data = text.encode("utf-8", "surrogateescape")
    if os.path.exists(path) and Path(path).read_bytes() == data:
        return Written(path, is_changed=False)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_bytes(data)
    return Written(path, is_changed=True)


def _unlink(path: str) -> Written:
    if not os.path.exists(path):
        return Written(path, is_changed=False)
    os.unlink(path)
    return Written(path, is_changed=True)
