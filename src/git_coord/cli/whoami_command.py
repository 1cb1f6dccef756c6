"""`git coord whoami`: agent, session, key, repository, remote."""

from __future__ import annotations

import click

from git_coord.app import App, key_path
from git_coord.service.ledger import open_ledger
from git_coord.service.operations import free_name
from git_coord.service.sessions import elsewhere, step

from . import options
from .output import Output


@click.command("whoami", context_settings=options.HELP)
@click.option("--signer", "is_signer", is_flag=True, help="Print the line that lets a maintainer admit this key.")
@options.common
def command(is_signer: bool, as_json: bool, agent: str | None) -> int:
    """Show who acts here, with which key, in which ledger.

    With --signer only the line of an allowed-signers file, for a maintainer: git coord policy --allow 'LINE'.
    """
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    if is_signer:
        return _signer(app, output)
    me, head = app.coord.me, app.coord.known
    member = head.state.agents.get(me.agent)
    from git_coord.app.setup import fingerprint_of

    signer = app.coord.signer  # without it one learns here where the key belongs
    fields = {
        "agent": me.agent,
        "session": me.session,
        "key": fingerprint_of(signer.key) if signer else None,
        "repo": head.state.repo,
        "remote": app.remote_name,
        "member": member is not None and signer is not None and member.key == signer.key,
        "current_session": member.session if member else None,
    }
    if output.is_json:
        output.object(fields)
        return 0
    found = elsewhere(app.coord)
    where = [] if found is None else [f"  at work  {found.words(app.coord.clock.now())}"]
    where += [] if found is None else [f"next       {step(app.coord, found, free_name(app.coord))}"]
    output.lines(
        [
            me.agent,
            f"  session  {me.session}{'' if found is None else '   (not the current one)'}",
            f"  key      {fields['key'] or 'not here, but expected in'}   {key_path(app, head.state.repo, me.agent)}",
            f"  ledger   {head.state.repo}, {head.state.counters.ops} operations",
            f"  remote   {app.remote_name or 'none'}",
            *where,
        ]
    )
    return 0


def _signer(app: App, output: Output) -> int:
    from git_coord.app.signers import signer_line

    agent, key = app.coord.me.agent, app.coord.own_signer.key
    if output.is_json:
        output.object({"agent": agent, "key": key, "signer": signer_line(agent, key)})
    else:
        output.lines([signer_line(agent, key)])
    return 0
