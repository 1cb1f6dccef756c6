"""`git coord init`: begin or join the ledger of this repository."""

from __future__ import annotations

import os
import sys

import click

from git_coord.app import App
from git_coord.app.choosing import check_remotes
from git_coord.app.naming import check_name
from git_coord.app.setup import SetUp, set_up
from git_coord.service.membership import Founding

from . import options


@click.command("init", context_settings=options.HELP)
@click.option("--policy-key", metavar="PATH", help="A person's SSH key that may break claims and change policy.")
@click.option("--hand-over", "hands_over", is_flag=True, help="To --agent, what the worktree's agent before it holds.")
@options.common
def command(policy_key: str | None, hands_over: bool, as_json: bool, agent: str | None) -> int:
    """Make this clone, and this worktree, ready: agent name, key, ledger. Doing it again changes nothing.

    Each worktree has its own agent. Without --agent it gets a free name, made of the main worktree's agent's (or the
    person's) and the worktree's own. With another name than before the agent is replaced.
    """
    check_name(agent)
    check_remotes(options.here(), os.environ)
    app, output = options.means(as_json, agent)
    done = set_up(app, agent, policy_key, hands_over=hands_over, ask=lambda: _ask(is_quiet=as_json))
    app.refresh_snapshot()
    if output.is_json:
        output.object(
            {
                "agent": None if done.read_only else done.agent,
                "session": None if done.read_only else app.coord.me.session,
                "key": done.fingerprint or None,
                "repo": app.coord.known.state.repo,
                "remote": app.remote_name,
                "ledger": done.founding.value,
                "joined": done.joined,
                **_more(app, done),
                **({"read_only": done.read_only} if done.read_only else {}),
            }
        )
    else:
        output.lines([*_lines(done, app.remote_name), *_installed(app)])
    if done.is_only_policy_key:
        output.talk(
            "git coord: the policy key is this agent's own; a person's is better: git coord policy --add-admin KEY.pub"
        )
    return 0


def _ask(*, is_quiet: bool) -> str | None:
    """Ask, once in the life of a ledger, for a person's key; never where nobody sits at a terminal."""
    if is_quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    text = "A person's SSH key to break claims and change the policy with (its file; enter for none)"
    return str(click.prompt(text, default="", show_default=False, err=True)).strip() or None


def _lines(done: SetUp, remote: str | None) -> list[str]:
    where = f", at {remote}" if remote else ", local (no remote)"
    if done.read_only:
        return [
            "read-only, in this worktree: it checks, verifies and judges commits, and claims nothing",
            f"  why      {done.read_only}",
            f"  ledger   {'kept' if done.founding is Founding.KEPT else 'adopted'}{where}",
            "  later    once you may write there: git coord init",
        ]
    ledger = {Founding.NEW: "new", Founding.ADOPTED: "adopted", Founding.KEPT: "kept"}[done.founding]
    return [
        f"{done.agent}, in this worktree",
        f"  key      {done.fingerprint}  {'new' if done.key_is_new else 'kept'}",
        f"  ledger   {ledger}{where}",
        f"  member   {'joined' if done.joined else 'already'}",
        *_was(done),
    ]


def _was(done: SetUp) -> list[str]:
    tokens = " ".join(f"#{token}" for token in done.handed)
    had = f", and handed over what is {tokens} now" if tokens else ""
    return [f"  before   {done.was}, which has said goodbye{had}"] if done.was is not None else []


def _installed(app: App) -> list[str]:
    """Return what is installed for this worktree already, and what to type where that is nothing."""
    missing = "not installed          git coord hooks install"
    tools = adapters(app)
    rows = [f"  adapters {', '.join(tools)}"] if tools else []
    return [f"  hooks    {'installed' if _are_hooks_installed(app) else missing}", *rows]


def _are_hooks_installed(app: App) -> bool:
    from git_coord.hooks.install import status

    return all(hook.is_firing for hook in status(app))


def adapters(app: App) -> list[str]:
    """Return the tools whose sessions in this worktree reach our hooks."""
    from git_coord.adapters import entries, install

    return [
        name
        for name in entries.NAMES
        if any(
            (is_user or app.location.top) and install.is_installed(app, name, is_user=is_user)
            for is_user in (False, True)
        )
    ]


def _more(app: App, done: SetUp) -> dict[str, object]:
    """Return what only some answers have: what is installed already, and whom this agent replaced."""
    installed = [*(["hooks"] if _are_hooks_installed(app) else []), *adapters(app)]
    found: dict[str, object] = {"installed": installed} if installed else {}
    return found | ({"was": done.was, "handed": list(done.handed)} if done.was is not None else {})
