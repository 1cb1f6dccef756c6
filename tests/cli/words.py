"""What differs from run to run, made the same: times, ages, ids, keys. Everything else is compared whole."""

from __future__ import annotations

import re
from typing import Any

from tests.helpers import Completed, Repo

_RULES = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<stamp>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d|\b\d\d:\d\d\b", "<time>"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>"),
    (r"SHA256:[A-Za-z0-9+/]{43}", "<key>"),
    (r"\b[0-9a-f]{40}\b", "<commit>"),
    (r"\b[0-9a-f]{16}\b", "<session>"),
    (r"\b[0-9a-f]{10}\b", "<short>"),
    (r"\b[0-9a-f]{8}\b", "<id>"),
    (r" +\d+ (s|min)\b", " <age>"),
)


def plain(text: str) -> str:
    """Return a text with everything replaced that differs from run to run."""
    for pattern, word in _RULES:
        text = re.sub(pattern, word, text)
    return text


def plain_json(value: Any) -> Any:
    """Return a JSON value with everything replaced that differs from run to run."""
    if isinstance(value, dict):
        return {key: plain_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain_json(one) for one in value]
    return plain(value) if isinstance(value, str) else value


def said(done: Completed) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr of a command for people, normalised."""
    return done.code, plain(done.out), plain(done.err)


def type_in(repo: Repo, line: str) -> Completed:
    """Type a line at the shell a user has, as a hint is meant to be used."""
    return repo.run("bash", "-c", line)


def hints(done: Completed) -> list[str]:
    """Return the commands a refusal advises, without the remark that may follow in parentheses."""
    lines = (done.out + done.err).splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("next ")), len(lines))
    return [re.sub(r" {3,}\(.*\)$", "", line[5:].strip()) for line in lines[first:] if line[:1] in ("n", " ")]


def picture(repo: Repo) -> dict[str, object]:
    """Return what a failed command must leave as it was: all refs, the configuration, the files of the worktree."""
    config = (repo.path / ".git/config").read_bytes() if (repo.path / ".git/config").exists() else b""
    files = sorted(str(path) for path in repo.path.rglob("*") if ".git" not in path.parts)
    return {"refs": repo.refs(), "config": config, "files": files}


def forget_sync(repo: Repo) -> None:
    """Let the next read fetch: as if `coord.freshness` had gone by since the last one."""
    for path in (repo.path / ".git/coord").glob("synced*"):
        path.unlink()
