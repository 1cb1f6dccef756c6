"""How a command waits in this repository: what shows that something moved, and how often the remote is asked."""

from __future__ import annotations

import os
from collections.abc import Callable

from git_coord.service.waiting import Patience
from git_coord.store.git import Config
from git_coord.store.refnames import LEDGER

from .root import App

ASK_SECONDS = 10.0
"""Between questions to a host, which advise about six a minute."""
ASK_NEAR_SECONDS = 1.0
"""Between questions to a repository on this machine."""


def patience(app: App, seconds: int, is_over: Callable[[], bool], tell: Callable[..., None]) -> Patience:
    """Return how to wait for so many seconds."""
    return Patience(
        seconds=seconds,
        interval=ASK_NEAR_SECONDS if is_near(app.config, app.remote_name) else ASK_SECONDS,
        moved=lambda: _stamps(app.location.common_dir),
        look_again=app.look_again,
        refresh=app.refresh_snapshot,
        is_over=is_over,
        tell=tell,
    )


def is_near(config: Config, name: str | None) -> bool:
    """Tell whether the remote is a path of this machine (or there is none), so that no host is asked too often."""
    urls = config.get_all(f"remote.{name}.pushurl") or config.get_all(f"remote.{name}.url")
    paths = [url for url in urls if url.startswith("file://") or ":" not in url.split("/")[0]]
    return name is None or (len(urls) == len(paths) and not config.under("url"))


def _stamps(common_dir: str) -> list[tuple[int, int] | None]:
    """Return what differs when the ledger has moved here, whichever way git keeps refs: a hint, and no more."""
    return [_stamp(os.path.join(common_dir, name)) for name in (LEDGER, "packed-refs", "reftable/tables.list")]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
