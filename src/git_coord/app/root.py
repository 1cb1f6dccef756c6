"""The composition root: which store, remote, keys, clock and identity a command works with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_coord.clock import Clock, SystemClock, boot_id
from git_coord.crypto.keys import InProcessSigner, Signer, SshKeygenSigner, load_public_key
from git_coord.domain.ids import Agent, Nonce, Session, is_agent, is_nonce, is_session
from git_coord.errors import CoordError, Kind
from git_coord.guard import whose
from git_coord.service.context import Coord, Identity
from git_coord.service.exchange.one_place import known_remote
from git_coord.service.failpoints import failpoint
from git_coord.service.files import CoordFiles
from git_coord.service.members.read_only import limits, read_only
from git_coord.store import ahead
from git_coord.store.git import Config, Git
from git_coord.store.gitcli import GitStore
from git_coord.store.interface import Store
from git_coord.store.location import Location, discover
from git_coord.store.loose import loose_objects
from git_coord.store.refcache import RefCache
from git_coord.store.reffiles import ref_files
from git_coord.store.worktree import Worktree

from .configured import open_remote, remote_name, settings

if TYPE_CHECKING:
    from git_coord.domain.commits import Delta
    from git_coord.service.commits import UserHistory
    from git_coord.service.landing import Branches
    from git_coord.service.leases import Gone

SIGN_SECONDS = 20


@dataclass(slots=True, eq=False, repr=False)
class App:
    """One command's means; front ends take what they need from here and nowhere else."""

    coord: Coord
    git: Git
    location: Location
    config: Config
    env: Mapping[str, str]
    worktree: Worktree
    remote_name: str | None
    is_long_lived: bool = False

    def warm(self) -> None:
        """Start ahead the processes that a command which writes will need, all of them at once."""
        # The longest first.
        if isinstance(self.coord.signer, SshKeygenSigner):
            self.coord.signer.warm()
            self.coord.signer.meanwhile = _load_snapshot
        self.worktree.warm()
        if isinstance(self.coord.store, RefCache) and isinstance(self.coord.store.below, GitStore):
            self.coord.store.below.warm()

    def refresh_snapshot(self) -> list[Gone]:
        """Let the guard see what this command saw: whoever moves ledger or request refs writes its snapshot.

        Returns what was taken from the agent since the last time, which is also said.
        """
        from git_coord.service.snapshot import write_snapshot

        self.coord.reach("before snapshot")
        gone: list[Gone] = []
        try:
            gone = write_snapshot(self.coord)
        except OSError as error:
            if limits(self.coord.files):
                return gone  # which `status` says
            # What this command did is done, and a guard with an old picture asks the ledger.
            self.coord.notice(f"no picture for the hooks could be written ({error.strerror}); they ask the ledger")
        self.coord.reach("after snapshot")
        return gone

    def look_again(self) -> None:
        """Ask git for our refs at the next question, whatever this command has read of them."""
        if isinstance(self.coord.store, RefCache):
            self.coord.store.forget()

    def begin_again(self, notice: Callable[[str], None]) -> None:
        """Begin another piece of work in a long life: nothing counts any more that only the one before had seen."""
        self.look_again()
        coord = self.coord
        coord.notice, coord.progress = notice, lambda _text: None
        coord.drafted = coord.fetched_at = None
        for kept in (coord.learned, coord.settled):
            kept.clear()
        for seen in (coord.opened, coord.outcomes, coord.given_up, coord.answering, coord.stored):
            seen.clear()

    def rest(self) -> None:
        """End the processes that stay for the next question: who lives long and asks seldom needs none meanwhile."""
        if isinstance(self.coord.store, RefCache) and isinstance(self.coord.store.below, GitStore):
            self.coord.store.below.close()

    def history(self) -> UserHistory:
        """Return the user's commits."""
        from git_coord.store.userhistory import GitHistory

        return GitHistory(self.git, self.remote_name)

    def deltas(self, raw: bytes) -> list[Delta]:
        """Read what git's `--raw -z` says of two trees, or of one and the index."""
        from git_coord.store.userhistory import deltas

        return deltas(raw)

    def branches(self) -> Branches:
        """Return the user's branches, as they are here."""
        from git_coord.store.branches import GitBranches

        return GitBranches(self.git, self.remote_name)

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
    long_lived: bool = False,
) -> App:
    """Find the repository around `cwd` and put together what works in it.

    A `long_lived` program reads objects and signs in process where that can be, which costs it 0.2 s at its start; it
    calls `look_again` before each piece of work.

    Raises CoordError(ERROR) without a repository or with a configuration that cannot be used; USAGE for a bad name.
    """
    begun = ahead.take()
    location = discover(cwd, env, begun)
    git = location.git(env, begun=begun)
    config = git.config()
    clock = clock or SystemClock()
    store = RefCache(_store(git, location, config, clock, long_lived=long_lived))
    files = CoordFiles(os.path.join(location.common_dir, "coord"), os.path.join(location.git_dir, "coord"))
    name = remote_name(config, known_remote(files))
    reach = failpoint(env)
    coord = Coord(
        store=store,
        remote=open_remote(git, store, config, name, lock_dir=files.common, clock=clock, reach=reach),
        files=files,
        clock=clock,
        nonce=new_nonce,
        jitter=lambda: int.from_bytes(os.urandom(4), "big") / 2**32,
        settings=settings(config, offline=offline, place=location.top),
        notice=notice or (lambda _text: None),
        reach=reach,
    )
    run = env.get("GIT_COORD_RUN") or ""
    coord.run = run if is_nonce(run) else None
    coord.boot = boot_id
    worktree = Worktree(git, store, location, remote=name, asks_again=long_lived)
    app = App(coord, git, location, config, env, worktree, name, long_lived)
    identify(app, agent)
    return app


def _store(git: Git, location: Location, config: Config, clock: Clock, *, long_lived: bool) -> Store:
    """Return the store: by git processes, and for who lives long with objects read in process."""
    loose = loose_objects(location.common_dir, config)
    plain = GitStore(
        git,
        location.object_format,
        loose=loose,
        ref_files=ref_files(location.common_dir, location.object_format, config),
        sleep=clock.sleep,
        common_dir=location.common_dir,
    )
    # In a partial clone only git knows which objects are promised and which are missing.
    if not long_lived or config.get("extensions.partialClone") is not None:
        return plain
    from git_coord.store.libgit2 import open_libgit2

    return open_libgit2(git, plain, location.common_dir, loose) or plain


def _load_snapshot() -> None:
    """Import what follows every write."""
    import git_coord.service.snapshot  # noqa: F401


def identify(app: App, agent: str | None = None) -> None:
    """Set who acts: the name asked for, else `GIT_COORD_AGENT`, else the worktree's own; with session and signer."""
    name = agent or app.env.get("GIT_COORD_AGENT") or worktrees_own(app.config, app.location)
    if name is None or (agent is None and read_only(app.coord.files)):
        return
    if not is_agent(name):
        raise CoordError(
            Kind.USAGE,
            f"{name!r} cannot be an agent's name: lower-case letters, digits, '.', '_', '-', at most 63, "
            "beginning with a letter or digit",
        )
    sources = {app.env.get("GIT_COORD_AGENT"): "GIT_COORD_AGENT"}
    if name not in sources and name == worktrees_own(app.config, app.location):
        sources[name] = whose.AGENT
    app.coord.identity = Identity(Agent(name), session(app), sources.get(name))
    repo = app.config.get("coord.repo")
    if repo is not None:
        app.coord.signer = agent_signer(app, repo, name)
    app.coord.policy_signer = policy_signer(app)


def worktrees_own(config: Config, location: Location) -> str | None:
    """Return the name that was given to this worktree, None when it has none of its own."""
    found = {key: rows[-1] for key in (whose.AGENT, whose.BOUND) if (rows := config.scoped(key))}
    settings = {key: value for key, (scope, value) in found.items() if key == whose.AGENT or scope == "worktree"}
    if whose.AGENT in found:
        settings[whose.SCOPE] = found[whose.AGENT][0]
    return whose.own_agent(settings, location.git_dir, location.common_dir)


def session(app: App) -> Session:
    """Return `GIT_COORD_SESSION`, else the id kept in this worktree's git directory (made on first use)."""
    given = app.env.get("GIT_COORD_SESSION")
    if given:
        if not is_session(given):
            raise CoordError(Kind.USAGE, "GIT_COORD_SESSION is not a plain word of at most 128 characters")
        return Session(given)
    kept = (app.coord.files.read(whose.SESSION_FILE, local=True) or b"").decode("ascii", "replace").strip()
    if not is_session(kept):
        kept = os.urandom(8).hex()
        app.coord.files.note(whose.SESSION_FILE, f"{kept}\n".encode("ascii"), local=True)
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
    if not os.path.exists(path):  # nor does a public half that was left behind sign anything
        return None
    uses_agent = app.config.get("coord.key") is not None
    return (None if uses_agent else _in_process(app, path)) or file_signer(app, path, uses_agent=uses_agent)


def _in_process(app: App, path: str) -> Signer | None:
    """Return the signer that needs no process; None for a one-shot command, and for a key that only others can use."""
    if not app.is_long_lived:
        return None
    try:
        return InProcessSigner(path)
    except CoordError:  # it may have a passphrase; ssh-keygen says so when it is asked
        return None


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
