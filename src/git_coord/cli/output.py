"""Stdout is data, stderr is talk; nothing that another agent wrote reaches either unescaped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from git_coord.domain.canonical import dumps
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError

if TYPE_CHECKING:
    from git_coord.app import App


class Host(Protocol):
    """A long-lived program that asks commands in its own process: the MCP server."""

    def open(self, agent: str | None, notice: Callable[[str], None]) -> App:
        """Return the repository a command is to work in."""

    def after(self, app: App) -> None:
        """Do what follows a command; raises CoordError or OSError, which are no trouble of what the command did."""

    def said(self, text: str) -> None:
        """Hear what a command says while it works."""

    def is_over(self) -> bool:
        """Tell whether whoever asked has given up."""


class Output:
    """Where a command's answer goes: aligned lines for people, or one JSON object."""

    def __init__(self, *, is_json: bool, host: Host | None = None) -> None:
        """Remember the form, and who asks: None for a process of the command's own."""
        self.is_json = is_json
        self.host = host
        self.notices: Callable[[], list[str]] = list
        """What else the agent is to be told with this answer."""
        self.told: Callable[[bool], None] = lambda _is_heard: None
        """Called when the answer, and what was told with it, is out, or when nobody has heard it."""
        self._told = time.monotonic()

    def object(self, fields: Mapping[str, Any], *, ok: bool = True) -> None:
        """Print the one object of `--json`, with `notices` when there are any."""
        also = {"notices": [clean(line) for line in notices]} if (notices := self.notices()) else {}
        print(dumps({"ok": ok, **fields, **also}).decode("ascii"))

    def lines(self, lines: list[str]) -> None:
        """Print an answer for people."""
        for line in lines:
            print(clean(line))

    def talk(self, text: str) -> None:
        """Say something beside the answer."""
        print("\n".join(clean(line) for line in text.split("\n")), file=sys.stderr)

    def progress(self, text: str) -> None:
        """Say how far long work has come: not in its first second, and not more than once a second."""
        now = time.monotonic()
        if now - self._told >= 1:
            self._told = now
            self.talk(f"git coord: {text}")

    def error(self, trouble: CoordError, otherwise: str | None = None) -> int:
        """Say what went wrong and what to do next (`otherwise`: when the error names nothing); returns the status."""
        message, advice = _first_line(trouble.message)
        step = trouble.next or advice or otherwise
        if self.is_json:
            fields = {"code": trouble.kind.code, "message": clean(message), "next": clean(step) if step else None}
            self.object({**fields, **trouble.data}, ok=False)
        else:
            self.talk(f"git coord: {message}")
            if step:
                self.talk(f"next   {step}")
        return trouble.kind.exit_status


def _first_line(message: str) -> tuple[str, str | None]:
    """Split git's own longer complaints (dubious ownership) into what is wrong and the command they advise."""
    first, *rest = message.split("\n")
    return first, next((line.strip() for line in rest if line.startswith("\tgit ")), None)


def clean(line: str) -> str:
    """Return the line with every control, bidi and zero-width code point escaped."""
    return escape_for_display(line)
