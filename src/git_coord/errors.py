"""The one error of the project: a kind (which fixes the exit code), a sentence, data, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any


class Kind(Enum):
    """What went wrong, as a caller must react to it; the value is `(code, exit status)` of section 10 of the design."""

    ERROR = ("error", 1)
    USAGE = ("usage", 2)
    CONFLICT = ("conflict", 3)
    LOST = ("lost", 4)
    UNKNOWN = ("unknown", 5)
    UNTRUSTED = ("untrusted", 6)
    STALE = ("stale", 7)
    BLOCKED = ("blocked", 8)
    TIMEOUT = ("timeout", 75)

    @property
    def code(self) -> str:
        """The word used in `--json` output."""
        return self.value[0]

    @property
    def exit_status(self) -> int:
        """The process exit status."""
        return self.value[1]


class CoordError(Exception):
    """Expected trouble. `next` is a command the user can type; `data` is merged into the `--json` object."""

    def __init__(self, kind: Kind, message: str, *, next: str | None = None, data: Mapping[str, Any] | None = None):  # noqa: A002
        """Keep the parts apart; only the boundary in `cli` joins them into words."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.next = next
        self.data: Mapping[str, Any] = data or {}
