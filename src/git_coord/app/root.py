"""The composition root: which store, remote, keys, clock and identity a command works with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_coord.clock import Clock, SystemClock
from git_coord.crypto.keys import Signer, SshKeygenSigner, load_public_key
from git_coord.domain.ids import Agent, Nonce, Session, is_agent, is_session
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Coord, Identity, Settings
from git_coord.service.failpoints import failpoint
from git_coord.service.files import CoordFiles
from git_coord.store import ahead, refnames
from git_coord.store.git import Config, Git, Location, discover
from git_coord.store.gitcli import GitStore
from git_coord.store.interface import Remote
from git_coord.store.refcache import ForgettingRemote, RefCache
from git_coord.store.worktree import Worktree

if TYPE_CHECKING:
    from git_coord.service.commits import UserHistory

SIGN_SECONDS = 20
SESSION_FILE = "session"
LOCAL_ONLY = "."
"""The value of `coord.remote` that says: this repository only, whatever remotes it has."""


@dataclass(slots=True)
class App:
    """One command's means; front ends take what they need from here and nowhere else."""

    coord: Coord
    git: Git
    location: Location
    config: Config
    env: Mapping[str, str]
    worktree: Worktree
    remote_name: str | None

    def warm(self) -> None:
        """Start ahead the processes that a command which writes will need, all of them at once."""
        if isinstance(self.coord.store, RefCache) and isinstance(self.coord.store.below, GitStore):
            self.coord.store.below.warm()
        self.worktree.warm()
        if isinstance(self.coord.signer, SshKeygenSigner):
            self.coord.signer.warm()

    def refresh_snapshot(self) -> None:
        """Let the guard see what this command saw: whoever moves ledger or request refs writes its snapshot."""
        from git_coord.service.snapshot import write_snapshot

        self.coord.reach("before snapshot")
        write_snapshot(self.coord)
        self.coord.reach("after snapshot")

    def look_again(self) -> None:
        """Ask git for our refs at the next question, whatever this command has read of them."""
        if isinstance(self.coord.store, RefCache):
            self.coord.store.forget()

    def history(self) -> UserHistory:
        """Return the user's commits."""
        from git_coord.store.userhistory import GitHistory

        return GitHistory(self.git, self.remote_name)

    def branch(self) -> str | None:
        """Return the branch checked out, unless its name has characters that no record may hold."""
        from git_coord.domain.text import is_clean_line

        name = self.worktree.branch()
        return name if name is not None and is_clean_line(name) else None

    def settle_receipts(self) -> None:
        """Turn what the hooks noted of commits into signed receipts, ready for the next push."""
        from git_coord.service.receipts import settle

        settle(self.coord, self.history)


def open_app(
    cwd: str,
    env: Mapping[str, str],
    *,
    agent: str | None = None,
    offline: bool = False,
    notice: Callable[[str], None] | None = None,
    clock: Clock | None = None,
) -> App:
    """Find the repository around `cwd` and put together what works in it.

    Raises CoordError(ERROR) without a repository or with a configuration that cannot be used; USAGE for a bad name.
    """
    begun = ahead.take()
    location = discover(cwd, env, begun)
    git = location.git(env, begun=begun)
    config = git.config()
    clock = clock or SystemClock()
    plain = GitStore(git, location.object_format, sleep=clock.sleep, common_dir=location.common_dir)
    store = RefCache(plain)
    files = CoordFiles(os.path.join(location.common_dir, "coord"), os.path.join(location.git_dir, "coord"))
    name = remote_name(config)
    reach = failpoint(env)
    coord = Coord(
        store=store,
        remote=_remote(git, store, config, name, lock_dir=files.common, clock=clock, reach=reach),
        files=files,
        clock=clock,
        nonce=new_nonce,
        jitter=lambda: int.from_bytes(os.urandom(4), "big") / 2**32,
        settings=settings(config, offline=offline, place=location.top),
        notice=notice or (lambda _text: None),
        reach=reach,
    )
    worktree = Worktree(git, store, location.top, remote=name, has_upstreams=bool(config.under("branch")))
    app = App(coord, git, location, config, env, worktree, name)
    identify(app, agent)
    return app


def identify(app: App, agent: str | None = None) -> None:
    """Set who acts: the name asked for, else `GIT_COORD_AGENT`, else git's `coord.agent`; with session and signer."""
    name = agent or app.env.get("GIT_COORD_AGENT") or app.config.get("coord.agent") or None
    if name is None:
        return
    if not is_agent(name):
        raise CoordError(
            Kind.USAGE,
            f"{name!r} cannot be an agent's name: lower-case letters, digits, '.', '_', '-', at most 63, "
            "beginning with a letter or digit",
        )
    app.coord.identity = Identity(Agent(name), session(app))
    repo = app.config.get("coord.repo")
    if repo is not None:
        app.coord.signer = agent_signer(app, repo, name)
    app.coord.policy_signer = policy_signer(app)


def session(app: App) -> Session:
    """Return `GIT_COORD_SESSION`, else the id kept in this worktree's git directory (made on first use)."""
    given = app.env.get("GIT_COORD_SESSION")
    if given:
        if not is_session(given):
            raise CoordError(Kind.USAGE, "GIT_COORD_SESSION is not a plain word of at most 128 characters")
        return Session(given)
    kept = (app.coord.files.read(SESSION_FILE, local=True) or b"").decode("ascii", "replace").strip()
    if not is_session(kept):
        kept = os.urandom(8).hex()
        app.coord.files.write(SESSION_FILE, f"{kept}\n".encode("ascii"), local=True)
    return Session(kept)


def new_nonce() -> Nonce:
    """Return 128 random bits."""
    return Nonce(os.urandom(16).hex())


def key_path(app: App, repo: str, agent: str) -> str:
    """Return where an agent's private key lies: `coord.key`, else the state directory."""
    chosen = app.config.get("coord.key")
    if chosen:
        return os.path.expanduser(chosen)
    home = app.env.get("HOME") or os.path.expanduser("~")
    state = app.env.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(state, "git-coord", repo, agent)


def agent_signer(app: App, repo: str, agent: str) -> Signer | None:
    """Return the signer of an agent's key, None when that key is not on this machine."""
    path = key_path(app, repo, agent)
    if not os.path.exists(path) and not os.path.exists(path + ".pub"):
        return None
    return file_signer(app, path, uses_agent=app.config.get("coord.key") is not None)


def file_signer(app: App, path: str, *, uses_agent: bool) -> Signer:
    """Return a signer for a key file; an ssh-agent is only asked for keys that are not ours."""
    env = dict(app.env)
    if not uses_agent:
        env.pop("SSH_AUTH_SOCK", None)
    return SshKeygenSigner(path, load_public_key(path), SIGN_SECONDS, env)


def policy_signer(app: App) -> Callable[[], Signer] | None:
    """Return how to get the signer of the configured policy key (`coord.policyKey`), None without one."""
    path = app.config.get("coord.policyKey")
    return None if not path else lambda: file_signer(app, os.path.expanduser(path), uses_agent=True)


def remote_name(config: Config) -> str | None:
    """Return the remote to use: `coord.remote`, else the only one there is; None without any.

    Raises CoordError(ERROR) when several exist and none is chosen, or the only one fetches and pushes elsewhere.
    """
    chosen = config.get("coord.remote")
    if chosen:
        return None if chosen == LOCAL_ONLY else chosen
    names = sorted({key[len("remote.") : -len(".url")] for key in config.under("remote") if key.endswith(".url")})
    if not names:
        return None
    if len(names) > 1:
        raise CoordError(
            Kind.ERROR,
            f"several remotes ({', '.join(names)}), and none is chosen for the ledger",
            next=f"git config coord.remote {'origin' if 'origin' in names else names[0]}",
        )
    push = config.get(f"remote.{names[0]}.pushurl")
    if push is not None and push != config.get(f"remote.{names[0]}.url"):
        raise CoordError(
            Kind.ERROR,
            f"{names[0]} fetches from one URL and pushes to another; the ledger is read and written at the push URL",
            next=f"git config coord.remote {names[0]}",
        )
    return names[0]


def _remote(
    git: Git,
    store: RefCache,
    config: Config,
    name: str | None,
    *,
    lock_dir: str,
    clock: Clock,
    reach: Callable[[str], None],
) -> Remote | None:
    if name is None:
        return None
    from git_coord.store.remote import GitRemote, Place, Timeouts

    timeouts = Timeouts(seconds(config, "coord.fetchTimeout", 10), seconds(config, "coord.pushTimeout", 30))
    place = Place(name, _url(git, config, name), config.get("coord.refPrefix") or refnames.DEFAULT_PREFIX)
    return ForgettingRemote(
        GitRemote(git, store.below, place, lock_dir=lock_dir, clock=clock, timeouts=timeouts, reach=reach), store
    )


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
        raise CoordError(Kind.ERROR, f"coord.offline is {rule!r}, not deny or allow")
    share = config.get("coord.presence.share") or "basic"
    if share not in ("none", "basic", "full"):
        raise CoordError(Kind.ERROR, f"coord.presence.share is {share!r}, not none, basic or full")
    prefix = config.get("coord.refPrefix") or refnames.DEFAULT_PREFIX
    return Settings(
        freshness=int(seconds(config, "coord.freshness", 60)),
        min_ttl_remote=int(seconds(config, "coord.minTtl", 300)),
        min_ttl_local=int(seconds(config, "coord.minTtl", 1)),
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
        raise CoordError(Kind.ERROR, f"{key} is {text!r}, not a duration like 90s, 30m or 2h") from None
