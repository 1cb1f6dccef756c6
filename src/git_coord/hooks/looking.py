"""Before a commit is judged: look at the remote again when the picture is old, and wait for it a bounded time."""

from __future__ import annotations

from contextlib import suppress

from git_coord.app import App
from git_coord.errors import CoordError
from git_coord.guard import refresh
from git_coord.service.ledger import open_ledger
from git_coord.service.remote_ledger import fetch_and_adopt

SETTINGS = ("coord.remote", "coord.freshness", "coord.commitWait")


def look_again(app: App) -> list[str]:
    """Return what is to be said of a commit that passes: nothing by a young picture, else its age, and why.

    A remote that does not answer is no reason to refuse a commit, nor is a ledger there that cannot be believed: what
    was verified is what commits are judged by, and the push asks again.
    """
    coord = app.coord
    folder, now = coord.files.common, coord.clock.now()
    settings = {name.lower(): value for name in SETTINGS if (value := app.config.get(name)) is not None}
    if coord.remote is None or open_ledger(coord) is None or not refresh.is_old(folder, settings, now):
        return []
    wait = refresh.commit_wait(folder, settings, now)
    if not wait:
        return [refresh.words(folder, now, refresh.why_not_asked(folder, settings, now))]
    # Altogether: a ledger that the remote has lost is put back by pushes, and a prune has it fetched twice.
    coord.remote.hurry(wait)
    try:
        fetch_and_adopt(coord)
    except (CoordError, OSError) as trouble:
        with suppress(OSError):
            refresh.note_failure(folder, coord.clock.now())
        why = trouble.message if isinstance(trouble, CoordError) else str(trouble.strerror)
        return [refresh.words(folder, coord.clock.now(), why)]
    finally:
        coord.remote.hurry(None)
    return []
