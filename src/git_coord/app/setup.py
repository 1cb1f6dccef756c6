"""First set-up of a clone: name, key, ledger, membership, configuration; and taking all of it out again."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from git_coord.crypto.keys import Signer, generate_key, load_public_key
from git_coord.crypto.sshsig import parse_public_key
from git_coord.domain.ids import Agent, KeyText
from git_coord.errors import CoordError, Kind
from git_coord.guard import whose
from git_coord.service.ledger import open_ledger
from git_coord.service.members.read_only import ReadOnly, read_only, require_writable
from git_coord.service.membership import Birth, Founding, found_or_adopt, join, rejoin
from git_coord.service.operations import SIGNER
from git_coord.service.presence import Wish, set_presence
from git_coord.service.remote_ledger import LEDGER_FAMILIES, fetch_and_adopt
from git_coord.service.sessions import REJOIN
from git_coord.service.sync import sync
from git_coord.service.team import load_team
from git_coord.store import refnames

from .naming import own_name, suggestion
from .outside import join_or_look
from .persons import Ask, named_key, persons_key, remember_persons_key
from .replaced import leaving_agent, replace_agent
from .root import App, file_signer, identify, key_path, worktrees_own
from .rotation import finish_rotation, put_key_away
from .settings import configure

NAMES_TRIED = 5
SPLIT_BY_US = "coord.worktreeConfig"
"""The setting that says that `extensions.worktreeConfig` is our doing, for `deinit` to undo."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """What `init` did, for the front end to tell."""

    agent: str
    fingerprint: str
    key_is_new: bool
    founding: Founding
    joined: bool
    is_only_policy_key: bool
    was: Agent | None = None
    """The agent that the worktree had before."""
    handed: tuple[int, ...] = ()
    """The tokens that this one has now of what that one held."""
    read_only: str | None = None
    """Why nothing can be written at the remote: then nobody was set up."""


def set_up(
    app: App, wanted: str | None, policy_key: str | None, *, hands_over: bool = False, ask: Ask = lambda: None
) -> SetUp:
    """Make this clone (and worktree) ready; doing it again changes nothing.

    Without a name the worktree keeps its own, else it gets a free one. Raises CoordError(UNKNOWN) when the remote gives
    no answer, CoordError(LOST) when the name is taken, CoordError(CONFLICT) when it is another one than the worktree's,
    whose agent holds something, unless `hands_over`.
    """
    require_writable(app.coord.files)
    pin(app)
    had = open_ledger(app.coord) is not None
    if app.coord.remote is not None:
        fetch_and_adopt(app.coord, LEDGER_FAMILIES)
    leaver = leaving_agent(app, wanted, hands_over=hands_over)
    kept = read_only(app.coord.files)
    own = wanted or own_name(app) or (kept.agent if kept else None)
    name, is_suggested = own or suggestion(app), own is None
    for _ in range(NAMES_TRIED):
        try:
            done = _become(app, name, (policy_key, ask), leaver, had=had)
        except CoordError as trouble:
            if not is_suggested or trouble.kind is not Kind.LOST or trouble.next == SIGNER or _is_own(app, name):
                raise
            name = suggestion(app)  # somebody else was first with that one
            continue
        return done
    raise CoordError(Kind.LOST, "every free name was taken before it was joined", next="git coord init --agent NAME")


def _become(app: App, name: str, policy_key: tuple[str | None, Ask], leaver: Agent | None, *, had: bool) -> SetUp:
    """Make this worktree that agent's: ledger, key, membership; then its name is written down."""
    identify(app, name)
    repo, founding, warned = _ledger(app, name, *policy_key)
    founding = founding if had or founding is Founding.NEW else Founding.ADOPTED
    finish_rotation(app)
    put_key_away(app)
    signer, is_new = _key(app, repo, name)
    app.coord.signer = signer
    _remember_repo(app, repo)
    try:
        joined = join_or_look(app, may_look=leaver is None)
    except CoordError as trouble:
        if trouble.kind is Kind.UNKNOWN or trouble.next == SIGNER or (trouble.next == REJOIN and _is_own(app, name)):
            _remember_name(app, name)
        elif is_new:
            _drop_key(app, repo, name)
        raise
    if isinstance(joined, ReadOnly):
        if is_new:
            _drop_key(app, repo, name)
        return SetUp(name, "", False, founding, False, False, read_only=joined.why)
    handed = replace_agent(app, leaver, Agent(name)) if leaver is not None else ()
    _remember_name(app, name)
    if joined or leaver is not None:
        set_presence(app.coord, Wish("online", branch=app.branch()))
        sync(app.coord)
    is_new = is_new or founding is Founding.NEW
    return SetUp(name, fingerprint_of(signer.key), is_new, founding, joined, warned, leaver, handed)


def enlist(app: App, name: str) -> None:
    """Let an agent of this name act here beside the worktree's own: its key, and its current session is this one.

    Nothing is configured. Raises CoordError as `join` and `rejoin` do.
    """
    identify(app, name)
    app.coord.signer = _key(app, app.coord.known.state.repo, name)[0]
    member = app.coord.known.state.agents.get(Agent(name))
    if member is not None and member.session != app.coord.me.session:
        rejoin(app.coord)
    else:
        join(app.coord)


def _ledger(app: App, name: str, policy_key: str | None, ask: Ask) -> tuple[str, Founding, bool]:
    """Found or adopt the ledger; the policy key of a new one is the person's, else the agent's own (then warned)."""
    drafted: list[str] = []
    named = named_key(app, policy_key) if policy_key is not None else None
    persons: list[Signer] = []

    def birth() -> Birth:
        if app.coord.settings.pinned_root or pinned_by_team(app):
            raise CoordError(
                Kind.UNTRUSTED,
                f"{app.remote_name or 'this clone'} has no ledger, but [ledger] of .coord.toml pins one:"
                " ask who removed it, or take that out",
                next="git log -- :/.coord.toml",
            )
        drafted.append(_new_uuid())
        person = named or persons_key(app, ask)
        persons.extend([person] if person is not None else [])
        return Birth(drafted[0], _fold(app), person or _key(app, drafted[0], name)[0])

    founding = found_or_adopt(app.coord, birth)
    repo = app.coord.known.state.repo
    if drafted and drafted[0] != repo:
        shutil.rmtree(os.path.dirname(key_path(app, drafted[0], name)), ignore_errors=True)
    if founding is not Founding.NEW and policy_key is None:
        remember_persons_key(app)
    return repo, founding, founding is Founding.NEW and not persons


def pinned_by_team(app: App) -> str | None:
    """Return the UUID of the ledger that this worktree's `.coord.toml` pins."""
    return load_team(app.location.top)[0].repo if app.location.top else None


def pin(app: App) -> None:
    """Let a clone without a ledger adopt only the one that its `.coord.toml` pins, when it does."""
    if app.location.top is None or app.coord.store.refs(refnames.SEEN):
        return
    team = load_team(app.location.top)[0]
    kept = app.coord.settings.pinned_repo
    app.coord.settings = app.coord.settings._replace(pinned_repo=team.repo or kept, pinned_root=team.root)


def _new_uuid() -> str:
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80  # RFC 9562, version 4
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _fold(app: App) -> str:
    """Return how names compare in a ledger born here."""
    is_folding = "true" in (app.config.get("core.ignorecase"), app.config.get("core.precomposeunicode"))
    return "case+nfc" if is_folding else "none"


def _key(app: App, repo: str, name: str) -> tuple[Signer, bool]:
    path = key_path(app, repo, name)
    is_new = not os.path.exists(path) and app.config.get("coord.key") is None
    if is_new:
        generate_key(Path(path), f"git-coord {name}")
    return file_signer(app, path, uses_agent=app.config.get("coord.key") is not None), is_new


def _drop_key(app: App, repo: str, name: str) -> None:
    path = key_path(app, repo, name)
    for file in (path, path + ".pub"):
        os.unlink(file)


def _is_own(app: App, name: str) -> bool:
    """Tell whether the name is this key's in the ledger; under another's name, hooks would let pass what it holds."""
    member = app.coord.known.state.agents.get(Agent(name))
    return member is not None and member.key == app.coord.own_signer.key


def _remember_repo(app: App, repo: str) -> None:
    if app.config.get("coord.repo") != repo:
        configure(app, "--local", "coord.repo", repo)


def _remember_name(app: App, name: str) -> None:
    """Write the name for this worktree only."""
    if app.env.get("GIT_COORD_AGENT"):
        return
    scope = _identity_scope(app)
    bound = f"{name} {whose.worktree_name(app.location.git_dir, app.location.common_dir)}"
    scopes = [where for where, _ in app.config.scoped(whose.AGENT)]
    if worktrees_own(app.config, app.location) != name:
        configure(app, scope, whose.AGENT, name)
        scopes.append(scope.removeprefix("--"))
    if scopes[-1:] == ["worktree"] and app.config.get(whose.BOUND) != bound:
        # Git from 2.36 copies this file into each worktree that is added.
        configure(app, scope, "coord.agentWorktree", bound)


def _identity_scope(app: App) -> str:
    """Return where this worktree's own settings go; a linked worktree needs a config file of its own.

    `git config --local` is shared by all worktrees: identity stored there makes two agents one.
    """
    is_linked = app.location.git_dir != app.location.common_dir
    if app.config.get("extensions.worktreeconfig") == "true":
        return "--worktree"
    if not is_linked:
        return "--local"
    if app.config.get("core.bare") == "true":
        main = os.path.join(app.location.common_dir, "config.worktree")
        configure(app, "--file", main, "core.bare", "true")
        configure(app, "--local", "--unset", "core.bare")
    configure(app, "--local", "extensions.worktreeConfig", "true")
    configure(app, "--local", SPLIT_BY_US, "true")
    return "--worktree"


def fingerprint_of(key: KeyText) -> str:
    """Return `SHA256:…` of a public key."""
    return parse_public_key(key).fingerprint


def public_key(path: str) -> KeyText:
    """Return the key of a `.pub` or private key file; raises CoordError(ERROR) when it cannot be read."""
    return load_public_key(Path(os.path.expanduser(path)))
