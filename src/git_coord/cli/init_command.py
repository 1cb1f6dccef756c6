"""`git coord init`: begin or join the ledger of this repository."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.app.setup import SetUp, check_name, set_up
from git_coord.service.membership import Founding

from . import options


@click.command("init", context_settings=options.HELP)
@click.option("--policy-key", metavar="PATH", help="A person's SSH key that may break claims and change policy.")
@options.common
def command(policy_key: str | None, as_json: bool, agent: str | None) -> int:
    """Make this clone ready: agent name, key, ledger. Doing it again changes nothing.

    Without --agent a free name is suggested and taken. Each worktree has its own agent.
    """
    check_name(agent)
    app, output = options.means(as_json, agent)
    done = set_up(app, agent, policy_key)
    app.refresh_snapshot()
    if output.is_json:
        output.object(
            {
                "agent": done.agent,
                "session": app.coord.me.session,
                "key": done.fingerprint,
                "repo": app.coord.known.state.repo,
                "remote": app.remote_name,
                "ledger": done.founding.value,
                "joined": done.joined,
            }
        )
    else:
        output.lines([*_lines(done, app.remote_name), _hooks(app)])
    if done.is_only_policy_key:
        output.talk(
            "git coord: the policy key is this agent's own; a person's is better: git coord policy --add-admin KEY.pub"
        )
    return 0


def _lines(done: SetUp, remote: str | None) -> list[str]:
    where = f", at {remote}" if remote else ", local (no remote)"
    ledger = {Founding.NEW: "new", Founding.ADOPTED: "adopted", Founding.KEPT: "kept"}[done.founding]
    return [
        f"{done.agent}, in this worktree",
        f"  key      {done.fingerprint}  {'new' if done.key_is_new else 'kept'}",
        f"  ledger   {ledger}{where}",
        f"  member   {'joined' if done.joined else 'already'}",
    ]


def _hooks(app: App) -> str:
    from git_coord.hooks.install import status

    if all(hook.is_firing for hook in status(app)):
        return "  hooks    installed"
    return "  hooks    not installed          git coord hooks install"
