"""Whose a worktree is: one name belongs to one worktree, and one agent is at work in one session.

1. `GIT_COORD_AGENT` names an agent explicitly, as `git -c coord.agent=NAME` does. 2. A linked worktree has the name in
its own `config.worktree`. What lies in the configuration that all worktrees share counts for the main one only. Git
from 2.36 copies `config.worktree` into each worktree that is added: `coord.agentWorktree` beside the name says which
one that agent was given to, so that a copy is nobody's. 3. An agent that the ledger has in another session is not at
work here.
"""

import os

from .git import read_file

AGENT, SCOPE, BOUND = "coord.agent", "scope of coord.agent", "coord.agentWorktree".lower()
MAIN = "."
"""What the main worktree is called; linked ones are called like their folder in `worktrees/`."""
SESSION_FILE = "session"
SESSIONS_FILE = "sessions"
"""`coord/sessions` in the common directory: lines `AGENT SESSION`, the current session of every member."""


def parse_settings(text: str) -> dict[str, str]:
    """Read what `git config --show-scope --get-regexp` prints; the last value counts.

    A line without a scope is of a shim that was installed by an older version: git is to be asked again.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        scope, tab, entry = line.partition("\t")
        key, _, value = entry.partition(" ")
        if not tab or (key == BOUND and scope != "worktree"):
            continue
        found[key] = value
        if key == AGENT:
            found[SCOPE] = scope
    return found


def has_scopes(text: str) -> bool:
    """Tell whether settings were listed with their scopes."""
    return all("\t" in line for line in text.splitlines())


def worktree_name(git_dir: str, common: str) -> str:
    """Return what a worktree is called."""
    is_main = os.path.normpath(git_dir) == os.path.normpath(common)
    return MAIN if is_main else os.path.basename(os.path.normpath(git_dir))


def own_agent(settings: dict[str, str], git_dir: str, common: str) -> str | None:
    """Return the name that was given to this worktree, None when it has none of its own."""
    name, scope, here = settings.get(AGENT), settings.get(SCOPE), worktree_name(git_dir, common)
    if scope == "worktree":
        bound, _, place = settings.get(BOUND, "").partition(" ")
        return name if name and (bound != name or place == here) else None
    return name if name and (scope == "command" or here == MAIN) else None


def agent_of(settings: dict[str, str], git_dir: str, common: str) -> str | None:
    """Return who acts; None when nobody was named, and then every claim is somebody else's."""
    return os.environ.get("GIT_COORD_AGENT") or own_agent(settings, git_dir, common)


def session_of(git_dir: str) -> bytes:
    """Return the session of who acts in a worktree, empty when there was none yet."""
    given = os.environ.get("GIT_COORD_SESSION")
    return os.fsencode(given) if given else (read_file(git_dir, "coord", SESSION_FILE) or b"").strip()


def current_session(common: str, agent: str) -> bytes | None:
    """Return the session in which the ledger has an agent, None for who is no member as far as this clone knows."""
    data = read_file(common, "coord", SESSIONS_FILE) or b""
    _, found, rest = (b"\n" + data).partition(b"\n%s " % agent.encode(errors="surrogateescape"))
    return rest.partition(b"\n")[0] if found else None


def is_elsewhere(git_dir: str, common: str, agent: str, session: str = "") -> bool:
    """Tell whether an agent is at work in another session than the one given, or this worktree's."""
    current = current_session(common, agent)
    return current not in (None, session.encode("ascii", "replace") or session_of(git_dir))
