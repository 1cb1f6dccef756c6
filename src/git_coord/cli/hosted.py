"""The commands asked by a program in its own process: the same code, the same answers as `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from git_coord.errors import CoordError, Kind

from .main import ask
from .output import Host, Output, clean


class Hosted(Output):
    """Keeps the answer, and what is said beside it, instead of printing them."""

    def __init__(self, host: Host) -> None:
        """Nothing is answered yet."""
        super().__init__(is_json=True, host=host)
        self.caller = host
        self.answer: dict[str, Any] = {}
        self.said: list[str] = []

    def object(self, fields: Mapping[str, Any], *, ok: bool = True) -> None:
        """Take the answer."""
        self.answer = {"ok": ok, **fields}

    def talk(self, text: str) -> None:
        """Take what is said beside it: of a process that goes on nobody sees the standard error."""
        lines = [line.removeprefix("git coord: ") for line in map(clean, text.split("\n"))]
        self.said += lines
        self.caller.said(lines[0])

    def progress(self, text: str) -> None:
        """Pass on how far long work has come."""
        self.caller.said(clean(text))


def answer(words: Sequence[str], host: Host) -> dict[str, Any]:
    """Return the object that a command answers with, and as `notices` whatever else is to be told."""
    output = Hosted(host)
    if any("\0" in word for word in words):  # which no command line can have
        output.error(CoordError(Kind.USAGE, "there is a NUL character in what was given"))
    else:
        ask([*words], output)
    told = list(dict.fromkeys([*map(clean, output.notices()), *output.said]))
    output.told(not host.is_over())
    return output.answer | ({"notices": told} if told else {})
