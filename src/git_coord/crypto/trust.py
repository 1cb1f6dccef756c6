"""Who may sign as whom: OpenSSH allowed-signers files, read as `ssh-keygen` reads them, except that trouble is fatal.

`ssh-keygen -Y verify` passes over a line it cannot read; here one such line refuses the whole file, because the line
may be the one that takes a right away.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..domain.ids import Agent, KeyText, matches
from ..errors import CoordError, Kind
from ._files import read_small_file
from .sshsig import PublicKey, parse_public_line

if TYPE_CHECKING:
    from pathlib import Path

_LIMIT = 4 * 1024 * 1024
_PRINCIPALS = re.compile(r'(?:"([^"]+)"|([^\s"]+))[ \t]+(?=\S)')
_OPTIONS = re.compile(r'((?:[^\s"]|"(?:\\"|[^"\\]|\\(?!"))*")+)[ \t]+(?=\S)')
_OPTION = re.compile(r'([A-Za-z-]+)(?:="((?:\\"|[^"\\]|\\(?!"))*)")?(?:,(?=.)|$)')
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z|UTC)?")
_VALUED = ("namespaces", "valid-after", "valid-before")


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """One line: these names may sign with this key, in these namespaces (None: all), between these times (UTC)."""

    principals: tuple[str, ...]
    key: KeyText
    namespaces: tuple[str, ...] | None = None
    valid_after: int | None = None
    valid_before: int | None = None
    line: int = field(default=0, compare=False)
    """Where it stands in its file."""

    def permits(self, agent: Agent, at: int, namespace: str) -> bool:
        """Tell whether it lets the agent sign at that time, in that namespace."""
        return matches(self.principals, agent) and self.serves(namespace) and self.is_valid(at)

    def serves(self, namespace: str) -> bool:
        """Tell whether it is for this namespace."""
        return self.namespaces is None or matches(self.namespaces, namespace)

    def is_valid(self, at: int) -> bool:
        """Tell whether it counts at that time."""
        return (self.valid_after is None or at >= self.valid_after) and (
            self.valid_before is None or at <= self.valid_before
        )


@dataclass(frozen=True, slots=True)
class AllowedSigners:
    """The usable lines of a file, and a sentence on each line that was passed over."""

    keys: tuple[TrustedKey, ...]
    skipped: tuple[str, ...]


def load_allowed_signers(path: Path) -> AllowedSigners:
    """Read an allowed-signers file; raises UNTRUSTED naming file and line when it cannot be read to the end."""
    try:
        data, _ = read_small_file(path, _LIMIT)
    except OSError as error:
        raise CoordError(Kind.UNTRUSTED, f"cannot read allowed signers {path}: {error.strerror}") from error
    return parse_allowed_signers(data, str(path))


def parse_allowed_signers(data: bytes, name: str) -> AllowedSigners:
    """Read the bytes of an allowed-signers file called `name`; raises UNTRUSTED naming file and line."""
    keys: list[TrustedKey] = []
    skipped: list[str] = []
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
        text = line.strip(" \t\r")
        if not text or text.startswith("#"):
            continue
        try:
            entry = _parse_line(text)
        except CoordError as error:
            raise CoordError(Kind.UNTRUSTED, f"{name}:{number}: {error.message}") from error
        if entry is None:
            skipped.append(f"{name}:{number}: certificates are not supported, line skipped")
        else:
            keys.append(replace(entry, line=number))
    return AllowedSigners(tuple(keys), tuple(skipped))


def allowed(entries: Iterable[TrustedKey], agent: Agent, key: KeyText, at: int, namespace: str) -> bool:
    """Tell whether one of the entries lets the agent sign with the key, at that time, in that namespace."""
    return any(entry.key == key and entry.permits(agent, at, namespace) for entry in entries)


def _parse_line(line: str) -> TrustedKey | None:
    """Return the entry of a line, None for a certificate authority."""
    found = _PRINCIPALS.match(line)
    if not found:
        raise _malformed("expected principals, then options, then a key")
    principals = tuple((found[1] or found[2]).split(","))
    rest = line[found.end() :]
    key = _key_or_none(rest)
    if key is not None:
        return TrustedKey(principals, key.text)
    split = _OPTIONS.match(rest)
    if not split:
        raise _malformed("expected options and a key, or a key")
    options = _parse_options(split[1])
    if "cert-authority" in options:
        return None
    after, before = _parse_time(options.get("valid-after")), _parse_time(options.get("valid-before"))
    if after is not None and before is not None and before <= after:
        raise _malformed("valid-before is not after valid-after")
    spaces = options.get("namespaces")
    namespaces = None if spaces is None else tuple(spaces.split(","))
    return TrustedKey(principals, parse_public_line(rest[split.end() :]).text, namespaces, after, before)


def _key_or_none(text: str) -> PublicKey | None:
    """Return the key that the text is; None when it starts with options, which hold no base64 after a blank."""
    words = text.split(maxsplit=2)
    return parse_public_line(text) if len(words) > 1 and words[1].startswith("AAAA") else None


def _parse_options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _OPTION.match(text, at)
        if not found:
            raise _malformed(f"cannot read option {text[at : at + 40]!a}")
        name, value = found[1].lower(), found[2]
        if name in options or (name in _VALUED) != (value is not None) or name not in (*_VALUED, "cert-authority"):
            raise _malformed(f"option {name} is unknown, repeated, or has no value in quotes")
        options[name] = (value or "").replace('\\"', '"')
        at = found.end()
    return options


def _parse_time(text: str | None) -> int | None:
    """Read YYYYMMDD[HHMM[SS]][Z]; like ssh-keygen, without the Z it is this machine's local standard time."""
    from datetime import UTC, datetime  # noqa: PLC0415 - only files with times need it

    if text is None:
        return None
    found = _TIME.fullmatch(text)
    if not found:
        raise _not_a_time(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        local = time.mktime((year, month, day, hour, minute, second, 0, 0, 0))
    except (ValueError, OverflowError):
        raise _not_a_time(text) from None
    return int(moment.timestamp() if found[7] else local)


def _not_a_time(text: str) -> CoordError:
    return _malformed(f"{text!a} is not a time of the form YYYYMMDDHHMMSSZ")


def _malformed(message: str) -> CoordError:
    return CoordError(Kind.UNTRUSTED, message)
