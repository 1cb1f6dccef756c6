"""`git coord revoke`: put out whoever has or had a key that was stolen, with a policy key."""

from __future__ import annotations

import click

from git_coord.service.members.expel import owners

from . import options
from .expel_command import look, put_out


@click.command("revoke", context_settings=options.HELP)
@click.argument("key")
@click.option("-m", "--reason", "reason", required=True, callback=options.clean_line, help="Why, one line.")
@options.common
def command(key: str, reason: str, as_json: bool, agent: str | None) -> int:
    """End a stolen KEY (KEY.pub, its line, or SHA256:…): whoever has or had it is put out as by git coord expel.

    Also when it was rotated away since, as a thief would.
    """
    from git_coord.app.signers import key_meant

    app, output = options.means(as_json, agent)
    look(app)
    return put_out(app, output, owners(app.coord, key_meant(key, "KEY")), reason)
