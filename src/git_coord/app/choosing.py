"""Which of several remotes has the ledger: looked at before `init`, where nothing says it yet."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from git_coord.domain.team import Team
from git_coord.errors import CoordError, Kind
from git_coord.service.exchange.one_place import known_remote, same_repository
from git_coord.service.files import CoordFiles
from git_coord.service.team import RULES_FILE, load_team
from git_coord.store import refnames
from git_coord.store.git import Config, Git
from git_coord.store.location import discover

from .configured import guess, remote_names, remote_place

LOOK_SECONDS = 5
"""For each remote: one that is silent is not waited for."""


def check_remotes(cwd: str, env: Mapping[str, str]) -> None:
    """Raise CoordError(ERROR) where several remotes exist and none is chosen, with the one to choose and why.

    1. One that has a ledger. 2. The one that the branch checked out, or the default branch, follows. 3. `upstream`,
    then `origin`.
    """
    location = discover(cwd, env)
    git = location.git(env, network=True)
    config = git.config()
    names = remote_names(config)
    folder = os.path.join(location.common_dir, "coord")
    if location.top is not None and not _has_memory(git):
        follow_team(git, config, load_team(location.top)[0])
        config = git.config()
    if config.get("coord.remote") or len(names) < 2 or known_remote(CoordFiles(folder, folder)) in names:
        return
    found = [name for name in names if _has_ledger(git, config, name)]
    name, why = (found[0], "has a ledger") if found else (guess(config, names, _branch(git)), "none has a ledger yet")
    several = f"; so have {', '.join(found[1:])}" if found[1:] else ""
    text = f"several remotes ({', '.join(names)}), and none is chosen for the ledger"
    said = f"{text}: {name} {why}{several}" if found else f"{text}; {why}"
    raise CoordError(Kind.ERROR, said, next=f"git config coord.remote {shlex.quote(name)}")


def _has_memory(git: Git) -> bool:
    """Tell whether this clone has verified a ledger: then a tracked file that names another place is a question."""
    return bool(git.run(["for-each-ref", refnames.SEEN]).out)


def follow_team(git: Git, config: Config, team: Team) -> None:
    """Configure what the tracked `.coord.toml` says of the ledger's place, where nothing else is configured.

    Only a remote that is configured is used: nothing of the file's is given to git. Raises CoordError(ERROR) where no
    remote has that URL, or another place is configured, with the line to type.
    """
    if team.url is not None:
        names = [
            name for name in remote_names(config) if same_repository(remote_place(git, config, name).url, team.url)
        ]
        if not names:
            text = f"{RULES_FILE} says that the ledger is at {team.url}, and no remote of this clone has that URL"
            raise CoordError(Kind.ERROR, text, next=f"git remote add ledger {shlex.quote(team.url)}")
        _set(git, config, "coord.remote", names[0], names)
    if team.prefix is not None:
        _set(git, config, "coord.refPrefix", team.prefix, [team.prefix])


def _set(git: Git, config: Config, key: str, value: str, fitting: Sequence[str]) -> None:
    present = config.get(key)
    if present is None:
        git.run(["config", "--local", key, value])
    elif present not in fitting:
        text = f"{key} is {present} here, and {RULES_FILE} says that the ledger is elsewhere: {value}"
        raise CoordError(Kind.ERROR, text, next=f"git config --replace-all {key} {shlex.quote(value)}")


def _branch(git: Git) -> str | None:
    done = git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], check=False)
    return os.fsdecode(done.out).strip() or None


def _has_ledger(git: Git, config: Config, name: str) -> bool:
    """Ask a remote, at the URL where a ledger would be; silence, and a refusal, is no."""
    from git_coord.store.remote import resolve_url

    try:
        url = resolve_url(git, name)
        prefixes = {config.get("coord.refPrefix") or refnames.DEFAULT_PREFIX, refnames.BRANCH_PREFIX}
        refs = [refnames.on_remote(refnames.LEDGER, prefix) for prefix in sorted(prefixes)]
        line = ["ls-remote", "--refs", "--end-of-options", url, *refs]
        return bool(git.run(line, timeout=LOOK_SECONDS, check=False, env=_quiet(env=git.env)).out.strip())
    except CoordError:
        return False


def _quiet(env: Mapping[str, str]) -> dict[str, str]:
    return {} if "GIT_SSH_COMMAND" in env or "GIT_SSH" in env else {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
