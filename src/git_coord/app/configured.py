"""What git's configuration says to us: the `coord.*` values, and which remote has the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from git_coord.clock import Clock
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Settings
from git_coord.store import refnames
from git_coord.store.git import Config, Git
from git_coord.store.interface import Place, Remote
from git_coord.store.refcache import ForgettingRemote, RefCache

LOCAL_ONLY = "."
"""The value of `coord.remote` that says: this repository only, whatever remotes it has."""


def remote_names(config: Config) -> list[str]:
    """Return the names of all remotes."""
    return sorted({key[len("remote.") : -len(".url")] for key in config.under("remote") if key.endswith(".url")})


def remote_name(config: Config, known: str | None = None) -> str | None:
    """Return the remote to use: `coord.remote`, else where the ledger is `known` to be, else the only one; or None.

    Raises CoordError(ERROR) when several exist and none is chosen, or the only one fetches and pushes elsewhere.
    """
    chosen = config.get("coord.remote")
    if chosen:
        return None if chosen == LOCAL_ONLY else chosen
    names = remote_names(config)
    if not names:
        return None
    if len(names) > 1 and known in names:
        return known
    if len(names) > 1:
        is_set_up = config.get("coord.repo") is not None  # else `init` looks: configuration alone does not tell
        raise CoordError(
            Kind.ERROR,
            f"several remotes ({', '.join(names)}), and none is chosen for the ledger",
            next=f"git config coord.remote {guess(config, names)}" if is_set_up else "git coord init",
        )
    push = config.get(f"remote.{names[0]}.pushurl")
    if push is not None and push != config.get(f"remote.{names[0]}.url"):
        raise CoordError(
            Kind.ERROR,
            f"{names[0]} fetches from one URL and pushes to another; the ledger is read and written at the push URL",
            next=f"git config coord.remote {names[0]}",
        )
    return names[0]


def guess(config: Config, names: Sequence[str], branch: str | None = None) -> str:
    """Return the remote that work most likely goes to: in a fork that is not the clone's `origin`."""
    for followed in (branch, "main", "master"):
        name = config.get(f"branch.{followed}.remote") if followed else None
        if name in names and (name != "origin" or "upstream" not in names):
            return str(name)
    return next((name for name in ("upstream", "origin") if name in names), names[0])


def open_remote(
    git: Git,
    store: RefCache,
    config: Config,
    name: str | None,
    *,
    lock_dir: str,
    clock: Clock,
    reach: Callable[[str], None],
) -> Remote | None:
    """Return the remote of this name, None without one; `lock_dir` is our folder in the common git directory."""
    if name is None:
        return None
    from git_coord.store.remote import GitRemote, Timeouts

    timeouts = Timeouts(seconds(config, "coord.fetchTimeout", 10), seconds(config, "coord.pushTimeout", 30))
    place = remote_place(git, config, name)
    return ForgettingRemote(
        GitRemote(git, store.below, place, lock_dir=lock_dir, clock=clock, timeouts=timeouts, reach=reach), store
    )


def remote_place(git: Git, config: Config, name: str) -> Place:
    """Return where a configured remote would have the ledger."""
    setting = "pushurl" if config.get(f"remote.{name}.pushurl") else "url"
    return Place(name, setting, _url(git, config, name), config.get("coord.refPrefix") or refnames.DEFAULT_PREFIX)


def _url(git: Git, config: Config, name: str) -> str:
    """Return the remote's push URL; only where git would rewrite or count URLs is git asked, which costs a process."""
    urls = config.get_all(f"remote.{name}.pushurl") or config.get_all(f"remote.{name}.url")
    if len(urls) == 1 and not config.under("url") and not name.startswith("-"):
        return urls[0]
    from git_coord.store.remote import resolve_url

    return resolve_url(git, name)


def settings(config: Config, *, offline: bool, place: str | None = None) -> Settings:
    """Return the `coord.*` values; raises CoordError(ERROR) naming a key whose value cannot be used."""
    rule = config.get("coord.offline") or "deny"
    if rule not in ("deny", "allow"):
        raise _unusable("coord.offline", rule, "not deny or allow", "deny")
    share = config.get("coord.presence.share") or "basic"
    if share not in ("none", "basic", "full"):
        raise _unusable("coord.presence.share", share, "not none, basic or full", "basic")
    commit_wait(config)
    prefix = config.get("coord.refPrefix") or refnames.DEFAULT_PREFIX
    return Settings(
        freshness=int(seconds(config, "coord.freshness", 60)),
        min_ttl_remote=int(seconds(config, "coord.minTtl", 300)),
        min_ttl_local=int(seconds(config, "coord.minTtl", 1)),
        clock_skew=int(seconds(config, "coord.clockSkew", 60)),
        offline="allow" if offline else rule,
        keeps_history=prefix.startswith(refnames.BRANCHES),
        pinned_repo=config.get("coord.repo"),
        share=share,
        host=_clean(os.uname().nodename) if share == "full" else None,
        place=_clean(place) if share == "full" else None,
    )


def _clean(text: str | None) -> str | None:
    from git_coord.domain.text import is_clean_line

    return text if text is not None and is_clean_line(text) else None


def seconds(config: Config, key: str, default: float) -> float:
    """Return a `coord.*` duration in seconds (`90s`, `30m`, `2h`, or a bare number)."""
    from git_coord.domain.durations import parse_duration

    text = config.get(key)
    if text is None:
        return default
    try:
        return parse_duration(text)
    except ValueError:
        raise _unusable(key, text, "not a duration like 90s, 30m or 2h", f"{default:g}s") from None


def commit_wait(config: Config) -> float:
    """Return how long a commit may wait for the remote, 0 for never (`coord.commitWait`)."""
    text = (config.get("coord.commitWait") or "").strip()
    if text in ("0", "0s"):
        return 0
    return seconds(config, "coord.commitWait", 2)


def _unusable(key: str, value: str, why: str, default: str) -> CoordError:
    # Set in this clone, it also puts right what comes from the user's or the system's configuration.
    return CoordError(Kind.ERROR, f"{key} is {value!r}, {why}", next=f"git config --replace-all {key} {default}")
