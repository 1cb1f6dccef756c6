"""What happened some time ago: an agent at work by a clock that is late, in this process."""

from __future__ import annotations

from git_coord.app import open_app
from git_coord.clock import SystemClock
from git_coord.domain.items import Intent, Item, parse_argument
from git_coord.service import claims
from git_coord.service.beat import note_beat
from git_coord.service.claiming import ClaimGranted, Wanted
from git_coord.service.ledger import open_ledger
from git_coord.service.presence import Wish, set_presence
from tests.helpers import Repo


class Late(SystemClock):
    """A clock that is some seconds behind."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def now(self) -> int:
        return super().now() - self.seconds


def claim_long_ago(repo: Repo, *names: str, ago: int = 7200, ttl: int = 300, purpose: str = "") -> None:
    """Claim paths, as the repository's agent did that many seconds ago, and was not seen since."""
    app = open_app(str(repo.path), repo.env, clock=Late(ago))
    assert open_ledger(app.coord) is not None
    note_beat(app.coord)
    set_presence(app.coord, Wish("busy"))
    items = tuple(Item(*parse_argument(name), Intent.EDIT) for name in names)
    wanted = Wanted(items, purpose, "standard", ttl, None, app.worktree.base())
    assert isinstance(claims.claim(app.coord, wanted), ClaimGranted)
    app.refresh_snapshot()


def watched_long_ago(repo: Repo, seconds: float = 7200) -> None:
    """Let a clone have begun to watch, what it watches, that many seconds earlier."""
    path = repo.path / ".git/coord/watched"
    boot, *rows = path.read_text().splitlines()
    moved = [f"{row.rpartition(' ')[0]} {float(row.rpartition(' ')[2]) - seconds}" for row in rows]
    path.write_text("\n".join([boot, *moved, ""]))
