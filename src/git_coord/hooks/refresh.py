"""The process beside git that looks at the remote when the picture is old: `python -m git_coord.hooks refresh`."""

from __future__ import annotations

import os
from contextlib import suppress

from git_coord.errors import CoordError, Kind
from git_coord.guard import refresh

from .beat import end_after

LOCK = "refresh.lock"
LONGEST = 60
"""Seconds after which the process ends, whatever it waits for; `coord.fetchTimeout` is shorter."""


def run_refresh() -> int:
    """Fetch, verify, adopt, and let the guard see it; one at a time in a clone. Nobody looks at the exit status."""
    end_after(LONGEST)
    from filelock import FileLock, Timeout

    from git_coord.app import open_app
    from git_coord.service.ledger import open_ledger
    from git_coord.service.remote_ledger import fetch_and_adopt

    app = open_app(os.getcwd(), os.environ)
    coord = app.coord
    if coord.remote is None or open_ledger(coord) is None:
        return 0
    # The lock only saves work: two fetches at once would be correct, and one of them in vain.
    try:
        with FileLock(os.path.join(coord.files.common, LOCK), timeout=0):
            fetch_and_adopt(coord)
    except Timeout:
        return 0
    except CoordError as trouble:
        if trouble.kind is Kind.UNKNOWN:
            with suppress(OSError):
                refresh.note_failure(coord.files.common, coord.clock.now())
        return trouble.kind.exit_status
    finally:
        app.refresh_snapshot()
    return 0
