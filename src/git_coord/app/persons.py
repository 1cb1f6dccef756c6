"""A person's SSH key as policy key: where git knows one, what it can do here, and the reminder while there is none."""

from __future__ import annotations

import os
from collections.abc import Callable

from git_coord.crypto.keys import NAMESPACE, Signer
from git_coord.crypto.sshsig import parse_public_line
from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError

from .root import App, file_signer, key_path
from .settings import configure

Ask = Callable[[], str | None]
"""Asks whoever sits at the terminal for the path of a key; None where nobody does, or there is none to name."""
LITERAL = "policy-key.pub"
"""The file of a key that git's configuration has in so many words; its private half is in an ssh-agent."""
_ALGORITHMS = ("ssh-", "ecdsa-", "sk-")


def named_key(app: App, path: str) -> Signer:
    """Return the signer of a key that was named on purpose, and remember it; raises CoordError when it is none."""
    full = os.path.abspath(os.path.expanduser(path))
    configure(app, "--local", "coord.policyKey", full)
    return file_signer(app, full, uses_agent=True)


def remember_persons_key(app: App) -> None:
    """Let a clone in which the ledger is there already sign with the key that git signs with."""
    path = _configured(app)
    if path is not None and app.config.get("coord.policyKey") is None:
        configure(app, "--local", "coord.policyKey", path)


def persons_key(app: App, ask: Ask) -> Signer | None:
    """Return the signer of `user.signingKey`, where that is an SSH key that can sign here, else of the one asked for.

    Nothing waits: a key with a passphrase and no ssh-agent cannot sign, which is said, and then it is not used.
    """
    for path in (_configured(app), ask):
        found = path() if callable(path) else path
        if found and (signer := _able(app, os.path.abspath(os.path.expanduser(found)))) is not None:
            return signer
    return None


def _able(app: App, path: str) -> Signer | None:
    try:
        signer = file_signer(app, path, uses_agent=True)
        signer.sign(b"git coord: can this key sign here?\n", NAMESPACE)
    except CoordError as trouble:
        app.coord.notice(f"{path} is no policy key: {trouble.message}")
        return None
    configure(app, "--local", "coord.policyKey", path)
    return signer


def _configured(app: App) -> str | None:
    """Return the file of the key that git signs with, None when that is no SSH key or nobody has it here."""
    value = app.config.get("user.signingkey")
    if app.config.get("gpg.format") != "ssh" or not value:
        return None
    text = value.removeprefix("key::")
    if value.startswith("key::") or text.startswith(_ALGORITHMS):
        try:
            key = parse_public_line(text).text
        except CoordError:
            return None
        app.coord.files.write(LITERAL, f"{key}\n".encode("ascii"))
        return app.coord.files.path(LITERAL)
    path = os.path.abspath(os.path.expanduser(value))
    for found in (path.removesuffix(".pub"), path, f"{path}.pub"):
        if os.path.isfile(found):
            return found
    return None


def reminder(app: App) -> tuple[str, str] | None:
    """Return what a maintainer is reminded of, and the command that ends it: its agent's own key is policy key.

    None for everybody else: who has no such key cannot change it.
    """
    signer, head = app.coord.signer, app.coord.head
    if app.coord.identity is None or signer is None or head is None or signer.key not in head.state.policy.admins:
        return None
    own = key_path(app, head.state.repo, app.coord.me.agent)
    persons = _configured(app) or "KEY"
    names = [name if name.endswith(".pub") else f"{name}.pub" for name in (persons, own)]
    step = f"git coord policy --add-admin {_quoted(names[0])} --remove-admin {_quoted(names[1])}"
    return "this agent's own key is policy key: it may break everybody's claims; a person's is better", step


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(escape_for_display(path))
