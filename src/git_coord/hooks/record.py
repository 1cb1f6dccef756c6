"""What the shims of post-commit and post-rewrite do, for hooks that call `git-coord hook NAME` themselves."""

from __future__ import annotations

import os

from git_coord.domain.ids import is_agent
from git_coord.guard import fast, git, whose

FILE = "commits"
"""In `<common directory>/coord`; push and sync turn its lines into receipts."""


def record_commit() -> None:
    """Note the commit just made."""
    commit = git.Process("rev-parse", "HEAD").finish()[1].decode("ascii").strip()
    _append([f"commit {commit}"])


def record_rewrites(lines: list[str]) -> None:
    """Note what became of commits, from the lines `<old> <new>` that git gives post-rewrite."""
    pairs = [line.split()[:2] for line in lines if len(line.split()) > 1]
    _append([f"rewrite {old} {new}" for old, new in pairs])


def _append(facts: list[str]) -> None:
    settings = fast.read_settings()
    if "coord.repo" not in settings or not facts:
        return
    head = git.Process("rev-parse", "-q", "--verify", git.LEDGER_REFS[0]).finish()[1].decode("ascii").strip() or "-"
    git_dir, common = git.locate()
    agent = whose.agent_of(settings, git_dir, common) or "-"
    is_signed = is_agent(agent) and not whose.is_elsewhere(git_dir, common, agent)
    tail = f"{head} {int(fast.is_bypassed())} {agent if is_signed else '-'}"
    folder = os.path.join(common, "coord")
    os.makedirs(folder, exist_ok=True)
    # One write at the end of the file: worktrees commit side by side.
    fd = os.open(os.path.join(folder, FILE), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, "".join(f"{fact} {tail}\n" for fact in facts).encode())
    finally:
        os.close(fd)
