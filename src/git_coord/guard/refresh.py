"""How old this clone's picture is, and the one process beside git that looks at the remote again when it is old.

`synced`: when this clone last agreed with the remote. `refresh.failed`: `AT COUNT`, how often nobody answered since.
`refresh.attempt`: when such a process was started last. All times in seconds since the epoch.
"""

import os
import sys

from .beats import detach, replace
from .git import locate, read_file

SYNCED, FAILED, ATTEMPT = "synced", "refresh.failed", "refresh.attempt"
FETCHED = (SYNCED, "fetch.stamp")
FRESHNESS, COMMIT_WAIT = 60, 2.0
COMMIT_WAIT_KEY = "coord.commitWait".lower()  # as git prints it
ASKED_AGAIN = 3
"""After so many failures in a row no commit waits, until one of them is `FORGIVEN`."""
SPACING = 60
"""Most seconds between two starts while the remote answers; doubled with each time it did not, up to `FORGIVEN`."""
FORGIVEN = 300
"""Seconds after which a remote that gave no answer is asked as if nothing had been."""
HOOKS = ("post-merge", "post-checkout", "post-commit", "post-rewrite")
"""After which the picture is looked at: merge and pull, checkout and new worktrees, commit, rebase and amend."""
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def after(hook: str, args: list[str], settings: dict[str, str], now: int) -> None:
    """Let a hook that decides nothing have an old picture refreshed; raises OSError, which is nobody's trouble."""
    git_dir, common = locate()
    is_step = hook == "post-commit" or (hook == "post-rewrite" and args[:1] == ["amend"])
    if is_step and any(os.path.isdir(os.path.join(git_dir, name)) for name in ("rebase-merge", "rebase-apply")):
        return  # its end is one look; not each of its commits
    start_if_old(os.path.join(common, "coord"), settings, now)


def start_if_old(folder: str, settings: dict[str, str], now: int) -> bool:
    """Start the process that fetches, in the current directory, and do not wait for it; tell whether it was."""
    if not is_old(folder, settings, now):
        return False
    last = (read_file(folder, ATTEMPT) or b"").strip()
    spacing = min(FORGIVEN, min(SPACING, freshness(settings)) << min(failures(folder, now), 8))
    if last.isdigit() and 0 <= now - int(last) < spacing:
        return False
    replace(os.path.join(folder, ATTEMPT), b"%d\n" % now)
    env = dict(os.environ)
    env.pop("GIT_INDEX_FILE", None)  # of one commit; the process outlives it
    # -P: a file of the repository must never be imported because we happen to stand beside it.
    detach([sys.executable, "-P", "-m", "git_coord.hooks", "refresh"], env)
    return True


def is_old(folder: str, settings: dict[str, str], now: int) -> bool:
    """Tell whether there is a remote and the picture is older than `coord.freshness`; one from the future is old."""
    if not has_remote(folder, settings):
        return False
    found = age(folder, now)
    return found is None or found >= freshness(settings)


def commit_wait(folder: str, settings: dict[str, str], now: int) -> float:
    """Return how many seconds a commit may wait for the remote: `coord.commitWait`, half of it after each failure."""
    failed = failures(folder, now)
    return 0.0 if failed >= ASKED_AGAIN else seconds(settings.get(COMMIT_WAIT_KEY), COMMIT_WAIT) / 2**failed


def words(folder: str, now: int, why: str) -> str:
    """Return what is said of a commit that passes by an old picture."""
    found = age(folder, now)
    return f"git coord: {why}; judged by a picture {'of unknown age' if found is None else f'{span(found)} old'}"


def why_not_asked(folder: str, settings: dict[str, str], now: int) -> str:
    """Return why a commit does not wait for the remote."""
    if not seconds(settings.get(COMMIT_WAIT_KEY), COMMIT_WAIT):
        return "the remote is not asked at a commit (coord.commitWait)"
    return f"the remote gave no answer {failures(folder, now)} times, and is not asked for some minutes"


def span(seconds: int) -> str:
    """Return a rounded span, as `domain.durations.show_age` does."""
    for unit, size, end in (("s", 1, 100), ("min", 60, 6000), ("h", 3600, 48 * 3600)):
        if seconds < end:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds / 86400)} d"


def has_remote(folder: str, settings: dict[str, str]) -> bool:
    """Tell whether the ledger is at a remote, as far as is written down here: then something was fetched from it."""
    return settings.get("coord.remote") != "." and any(os.path.exists(f"{folder}/{name}") for name in FETCHED)


def age(folder: str, now: int) -> int | None:
    """Return how many seconds ago this clone agreed with the remote; None for never, or for the future."""
    at = (read_file(folder, SYNCED) or b"").strip()
    return now - int(at) if at.isdigit() and int(at) <= now else None


def freshness(settings: dict[str, str]) -> int:
    """Return `coord.freshness` in seconds."""
    return int(seconds(settings.get("coord.freshness"), FRESHNESS)) or FRESHNESS


def seconds(text: str | None, default: float) -> float:
    """Return a duration like 90s, 30m or 2h; the default for none, and for one that the full program refuses."""
    number, unit = (text or "").strip(), ""
    if number[-1:] in UNITS and number[-1:]:
        number, unit = number[:-1], number[-1]
    return float(int(number) * UNITS[unit]) if number.isdigit() and number.isascii() else default


def failures(folder: str, now: int) -> int:
    """Return how often in a row the remote gave no answer, of late and since it last did."""
    words = (read_file(folder, FAILED) or b"").split()
    if len(words) != 2 or not (words[0].isdigit() and words[1].isdigit()):
        return 0
    at, synced = int(words[0]), (read_file(folder, SYNCED) or b"").strip()
    is_over = synced.isdigit() and at < int(synced) <= now
    return 0 if is_over or not 0 <= now - at < FORGIVEN else int(words[1])


def note_failure(folder: str, now: int) -> None:
    """Remember that the remote gave no answer; raises OSError."""
    replace(os.path.join(folder, FAILED), b"%d %d\n" % (now, failures(folder, now) + 1))
