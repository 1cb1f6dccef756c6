"""Replacing an agent's key: the ledger first, then the files; a kill in between leaves both keys on disk."""

from __future__ import annotations

import os
from pathlib import Path

from git_coord.crypto.keys import generate_key
from git_coord.domain.ids import KeyText
from git_coord.errors import CoordError, Kind
from git_coord.service.membership import PolicyChange, rotate, set_policy
from git_coord.service.operations import put_out

from .root import App, file_signer, key_path

NEXT_KEY = ".next"
"""What the files of a key on its way in end with."""


def rotate_key(app: App) -> tuple[KeyText, KeyText]:
    """Replace the agent's generated key: make a new one, place the rotation, then put its files in place.

    A kill in between leaves both keys on disk; `init` or the next `rotate` then takes the one that the ledger names.
    Where the old key is a policy key, the new one takes its place there too.
    Raises CoordError(ERROR) for a key that is not ours to replace.
    """
    if app.config.get("coord.key") is not None:
        raise CoordError(Kind.ERROR, "coord.key names a key of your own", next="git config --unset coord.key")
    finish_rotation(app)
    path = key_path(app, app.coord.known.state.repo, app.coord.me.agent)
    old = app.coord.own_signer.key
    fresh = path + NEXT_KEY
    generate_key(Path(fresh), f"git-coord {app.coord.me.agent}")
    new = file_signer(app, fresh, uses_agent=False)
    is_policy_key = old in app.coord.known.state.policy.admins
    if is_policy_key:
        _set_admins(app, add=new.key)
    rotate(app.coord, new)
    install_next_key(path)
    app.coord.signer = file_signer(app, path, uses_agent=False)
    if is_policy_key:
        _set_admins(app, remove=old)
    return old, new.key


def put_key_away(app: App) -> None:
    """Keep the key of an agent that was put out as `.old`: it comes back with another, if at all.

    Raises CoordError(LOST) for a key that is not ours to replace.
    """
    path, agent = key_path(app, app.coord.known.state.repo, app.coord.me.agent), app.coord.me.agent
    state = app.coord.known.state
    if agent not in state.expelled or not os.path.exists(path):
        return
    if file_signer(app, path, uses_agent=False).key not in state.keys_of(agent):
        return
    if app.config.get("coord.key") is not None:
        text = f"{put_out(app.coord)}, with the key that coord.key names"
        raise CoordError(Kind.LOST, text, next="git config --unset coord.key")
    os.replace(path + ".pub", path + ".old.pub")
    os.replace(path, path + ".old")


def _set_admins(app: App, add: KeyText | None = None, remove: KeyText | None = None) -> None:
    """Change the policy's keys: an agent's own key that is one hands that on, else nobody might hold it any more."""
    kept = tuple(key for key in app.coord.known.state.policy.admins if key not in (add, remove))
    set_policy(app.coord, PolicyChange(admins=kept if add is None else (*kept, add)))


def install_next_key(path: str) -> None:
    """Move the next key's files over the present one's, keeping that as `.old`; the private half goes last."""
    os.replace(path + ".pub", path + ".old.pub")
    os.replace(path, path + ".old")
    os.replace(path + NEXT_KEY + ".pub", path + ".pub")
    os.replace(path + NEXT_KEY, path)


def finish_rotation(app: App) -> None:
    """Put the next key in place when the ledger names it already: a rotation was cut off after it was placed."""
    path = key_path(app, app.coord.known.state.repo, app.coord.me.agent)
    member = app.coord.known.state.agents.get(app.coord.me.agent)
    if member is None or not os.path.exists(path + NEXT_KEY):
        return
    if file_signer(app, path + NEXT_KEY, uses_agent=False).key == member.key:
        install_next_key(path)
        app.coord.signer = file_signer(app, path, uses_agent=False)
