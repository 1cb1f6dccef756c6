"""RFC 3339 UTC stamps in whole seconds, read and written without the slow date modules."""

from __future__ import annotations

import re
import time

_SHAPE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z", re.ASCII)
MAX_STAMP = 253402300799
"""9999-12-31T23:59:59Z in seconds since the epoch."""


def format_stamp(seconds: int) -> str:
    """Return `YYYY-MM-DDThh:mm:ssZ` for seconds since the epoch, 1970 to 9999."""
    t = time.gmtime(seconds)
    return f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02}T{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}Z"


def parse_stamp(text: str) -> int:
    """Return seconds since the epoch; raises ValueError for any other shape, zone, fraction or impossible date."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = map(int, match.groups())
    seconds = _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    # Formatting again refuses the 31st of February, hour 25 and the like, without a calendar of our own.
    if not 0 <= seconds <= MAX_STAMP or format_stamp(seconds) != text:
        raise ValueError(text)
    return seconds


def _days(year: int, month: int, day: int) -> int:
    """Return days since 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms")."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468
