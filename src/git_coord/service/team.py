"""The tracked `.coord.toml`: read, checked, and compiled for the guard; a broken one stops, it never judges less."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable
from typing import Any

from git_coord.domain.fold import Fold, fold_name
from git_coord.domain.ids import Oid, is_oid, is_uuid
from git_coord.domain.items import ItemKind
from git_coord.domain.team import NO_RULES, Rule, Team, parse_rule
from git_coord.errors import CoordError, Kind
from git_coord.guard import snapshot
from git_coord.store.refnames import is_prefix

from .exchange.moved import is_plain_url
from .files import CoordFiles

RULES_FILE = ".coord.toml"
MAX_BYTES = 1 << 20
_DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]{1,256}|"[^"\n]{0,256}"|'[^'\n]{0,256}')[ \t]*\.[ \t]*){64}""")
"""A key of many parts, for which tomllib takes seconds (it is quadratic in them); a real one has two."""
_TROUBLES = {
    "extra_forbidden": "is no key of this file",
    "list_type": "is not a list",
    "model_type": "is not a table",
    "string_type": "is not text",
}


def load_team(top: str) -> tuple[Team, bytes]:
    """Return the rules of a worktree and the stamp of the file they come from; raises CoordError(ERROR) if broken."""
    path = os.path.join(top, RULES_FILE)
    try:
        # O_NONBLOCK: a link to a pipe or a terminal would wait for ever.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _broken("is not a file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return NO_RULES, snapshot.NO_FILE
    except OSError as error:
        raise _broken(f"cannot be read: {error.strerror}") from error
    return parse_team(data), snapshot.stamp(found.st_size, found.st_mtime_ns, found.st_ino)


def parse_team(data: bytes) -> Team:
    """Read the content of a `.coord.toml`; raises CoordError(ERROR) naming key and line."""
    if len(data) > MAX_BYTES:
        raise _broken("is larger than 1 MiB")
    try:
        text = data.decode()
        if _DEEP_KEY.search(text):
            raise _broken("has a key of too many parts")
        values = tomllib.loads(text)
    except UnicodeDecodeError:
        raise _broken("is not UTF-8") from None
    except (ValueError, RecursionError) as error:  # tomllib lets through what Python says of a deep or huge value
        raise _broken(f"is not TOML: {error}") from None
    checked = _validate(values, text)
    claims, ledger = checked.get("claims", {}), checked.get("ledger", {})
    root = _pin(ledger.get("root"), "ledger.root", is_oid, "an object id", text)
    return Team(
        required=_rules(claims.get("required", []), "claims.required", text),
        exempt=_rules(claims.get("exempt", []), "claims.exempt", text),
        repo=_pin(ledger.get("repo"), "ledger.repo", is_uuid, "what `git coord whoami` shows", text),
        root=Oid(root) if root else None,
        url=_pin(ledger.get("url"), "ledger.url", is_plain_url, "a URL or path of a repository", text),
        prefix=_pin(ledger.get("prefix"), "ledger.prefix", is_prefix, "what names of refs begin with", text),
    )


def _validate(values: dict[str, Any], text: str) -> dict[str, Any]:
    from pydantic import BaseModel, ConfigDict, ValidationError  # noqa: PLC0415 (250 ms, only when a file changed)

    strict = ConfigDict(extra="forbid", strict=True)

    class Claims(BaseModel):
        model_config = strict
        required: list[str] = []
        exempt: list[str] = []

    class Ledger(BaseModel):
        model_config = strict
        repo: str | None = None
        root: str | None = None
        url: str | None = None
        prefix: str | None = None

    class File(BaseModel):
        model_config = strict
        claims: Claims = Claims()
        ledger: Ledger = Ledger()

    try:
        return File.model_validate(values).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        keys = [str(part) for part in first["loc"] if isinstance(part, str)]
        trouble = _TROUBLES.get(first["type"], first["msg"].lower())
        raise _at(".".join(keys), trouble, text) from None


def _rules(entries: list[str], key: str, text: str) -> tuple[Rule, ...]:
    rules = []
    for entry in entries:
        try:
            rules.append(parse_rule(entry))
        except CoordError as error:
            raise _at(key, error.message, text) from None
    return tuple(rules)


def _pin(value: str | None, key: str, fits: Callable[[str], bool], what: str, text: str) -> str | None:
    if value is not None and not fits(value):
        raise _at(key, f"is not {what}", text)
    return value


def _at(key: str, trouble: str, text: str) -> CoordError:
    return _broken(f"line {_line_of(key, text)}: {key}: {trouble}")


def _line_of(key: str, text: str) -> int:
    """Return where a key stands: the first line, in its table when that has a heading, that begins with its name."""
    *tables, name = key.split(".")
    lines = [line.strip().replace(" ", "").translate({34: None, 39: None}) for line in text.splitlines()]
    heading = f"[{'.'.join(tables)}]"
    start = lines.index(heading) if heading in lines else 0
    starts = (f"{name}=", f"{key}=", f"{name}.", f"[{key}]", f"[{key}.", f"[[{key}]]")
    return next((n for n, line in enumerate(lines[start:], start + 1) if line.startswith(starts)), start + 1)


def _broken(trouble: str) -> CoordError:
    return CoordError(Kind.ERROR, f"{RULES_FILE} {trouble}", next=f"git diff HEAD -- :/{RULES_FILE}")


def write_policy(files: CoordFiles, team: Team, stamped: bytes, fold: Fold) -> None:
    """Write the rules in the form that the guard reads, for the version of the file that has this stamp."""
    rules = [_compiled(b"R", rule, fold) for rule in team.required] + [
        _compiled(b"X", rule, fold) for rule in team.exempt
    ]
    data = snapshot.encode_policy(fold.value, stamped, rules)
    if files.read(snapshot.POLICY_FILE, local=True) != data:
        files.write(snapshot.POLICY_FILE, data, local=True)


def _compiled(sort: bytes, rule: Rule, fold: Fold) -> snapshot.Rule:
    kind, name = rule
    return sort, b"P" if kind is ItemKind.PATH else b"G", fold_name(name, fold).encode(errors="surrogateescape")
