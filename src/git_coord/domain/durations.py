"""Durations as people type them (`90s`, `30m`, `2h`, `1d`) and as they are shown."""

from __future__ import annotations

import re

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SHAPE = re.compile(r"(\d{1,9})([smhd]?)", re.ASCII)


def parse_duration(text: str) -> int:
    """Return seconds; raises ValueError for anything else, zero included."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError(text)
    return int(match[1]) * _UNITS[match[2]]


def show_age(seconds: int) -> str:
    """Return a rounded span such as `40 s`, `12 min`, `3 h`, `2 d`."""
    if seconds < 100:
        return f"{max(0, seconds)} s"
    if seconds < 100 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"{round(seconds / 3600)} h"
    return f"{round(seconds / 86400)} d"
