"""`git coord policy`: who may join, break and change policy."""

from __future__ import annotations

import os
from typing import Any

import click

from git_coord.app import App
from git_coord.domain.ids import Agent, KeyText, Oid, is_agent, is_oid
from git_coord.domain.statements import Listed, Policy
from git_coord.errors import CoordError, Kind
from git_coord.service.ledger import open_ledger
from git_coord.service.membership import PolicyChange, set_policy

from . import options


@click.command("policy", context_settings=options.HELP)
@click.option("--open", "join", flag_value="open", help="Any key may join under a name nobody has.")
@click.option("--listed", "listed", metavar="FILE", help="Only keys of this allowed-signers file may join.")
@click.option("--allow", "allowed", metavar="KEY", help="One more: KEY.pub with --as, or the line of whoami --signer.")
@click.option("--disallow", "disallowed", metavar="KEY", help="Take one out: KEY.pub, SHA256:…, or an agent's name.")
@click.option("--as", "name", metavar="NAME", help="The name that the key may join under, or patterns: 'team-*'.")
@click.option("--add-admin", "added", multiple=True, metavar="KEY.pub", help="A key that may break and change policy.")
@click.option(
    "--remove-admin",
    "removed",
    multiple=True,
    metavar="KEY",
    help="Take one out: KEY.pub, SHA256:…, or an agent's name.",
)
@click.option("--max-lease", callback=options.duration, metavar="DUR", help="The longest lease that is granted.")
@click.option(
    "--restore-hold",
    callback=options.duration_or_none,
    metavar="DUR",
    help="For how long nothing is granted after the remote had lost the ledger (0: not at all).",
)
@click.option("--takeover", type=click.Choice(["gated", "never"]), help="Whether stale claims may be taken over.")
@click.option("--void", "void", multiple=True, metavar="COMMIT", help="A ledger head that was dropped on purpose.")
@options.common
def command(
    join: str | None,
    listed: str | None,
    allowed: str | None,
    disallowed: str | None,
    name: str | None,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    max_lease: int | None,
    restore_hold: int | None,
    takeover: str | None,
    void: tuple[str, ...],
    as_json: bool,
    agent: str | None,
) -> int:
    """Show the policy, or change it with a policy key.

    Taking a key or an agent out ends what it may do next, and never makes history invalid.
    """
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    present = app.coord.known.state.policy
    change = PolicyChange(
        join="listed" if listed else join,
        listed=() if join == "open" else _listed(app, present, listed, allowed, disallowed, name),
        admins=_admins(app, present, added, removed),
        max_lease=max_lease,
        restore_hold=restore_hold,
        takeover=takeover,
        void=_void(present, void),
    )
    if change != PolicyChange():
        present = set_policy(app.coord, change)
        app.refresh_snapshot()
        _remember(app, present, added)
    if output.is_json:
        output.object(_object(present))
    else:
        output.lines(_lines(present))
    return 0


def _listed(
    app: App, present: Policy, file: str | None, allowed: str | None, disallowed: str | None, name: str | None
) -> tuple[Listed, ...] | None:
    """Return whom the policy is to list; a line of the file that counts for nothing is said."""
    from git_coord.app.signers import allow, disallow, listed_in

    if file is None and allowed is None and disallowed is None:
        return None
    if file is None and present.join == "open" and not app.coord.known.state.expelled:  # who comes back is listed
        text = "anybody may join: the policy lists nobody yet"
        raise CoordError(Kind.USAGE, text, next="git coord policy --listed FILE")
    found, now = present.listed, app.coord.clock.now()
    if file is not None:
        found, passed = listed_in(file, now)
        for sentence in passed:
            app.coord.notice(sentence)
    if allowed is not None:
        found = allow(found, allowed, name, now)
    return found if disallowed is None else disallow(found, disallowed, name)


def _admins(app: App, present: Policy, added: tuple[str, ...], removed: tuple[str, ...]) -> tuple[KeyText, ...] | None:
    from git_coord.app.setup import public_key

    if not added and not removed:
        return None
    kept = [key for key in present.admins if not any(_is_meant(app, key, one) for one in removed)]
    admins = tuple(dict.fromkeys([*kept, *(public_key(path) for path in added)]))
    if not admins:
        text = "a policy needs at least one key: add another with it"
        raise CoordError(Kind.USAGE, text, next=f"git coord policy --add-admin KEY.pub --remove-admin {removed[0]}")
    return admins


def _is_meant(app: App, key: KeyText, given: str) -> bool:
    """Tell whether a policy key is the one to take out: named as for `--disallow`, or by the agent that has it."""
    from git_coord.app.signers import key_meant

    if is_agent(given) and not os.path.exists(os.path.expanduser(given)):
        return key in app.coord.known.state.keys_of(Agent(given))
    return key_meant(given, "--remove-admin")(key)


def _void(present: Policy, commits: tuple[str, ...]) -> tuple[Oid, ...] | None:
    for commit in commits:
        if not is_oid(commit):
            raise CoordError(Kind.USAGE, f"--void {commit!r} is not a full commit id")
    return tuple(dict.fromkeys([*present.void, *map(Oid, commits)])) if commits else None


def _object(policy: Policy) -> dict[str, Any]:
    return {
        "join": policy.join,
        "listed": [entry._asdict() for entry in policy.listed],
        "admins": list(policy.admins),
        "max_lease": policy.max_lease,
        "restore_hold": policy.restore_hold,
        "takeover": policy.takeover,
        "void": list(policy.void),
        "fold": policy.fold,
        "skew": policy.skew,
    }


def _remember(app: App, present: Policy, added: tuple[str, ...]) -> None:
    """Sign what comes next with a key that was just added, where this clone knows none of the policy's."""
    from git_coord.app.settings import configure

    signer, named = app.coord.signer, app.config.get("coord.policyKey")
    if added and (named is None or signer is None or signer.key not in present.admins):
        path = os.path.abspath(os.path.expanduser(added[0]))
        private = path.removesuffix(".pub")
        configure(app, "--local", "coord.policyKey", private if os.path.exists(private) else path)


def _listed_lines(policy: Policy) -> list[str]:
    from git_coord.app.setup import fingerprint_of

    rows = [f"{fingerprint_of(one.key)}  {one.agent or 'any name'}" for one in policy.listed]
    return [f"{'listed' if at == 0 else '':10} {row}" for at, row in enumerate(rows)]


def _lines(policy: Policy) -> list[str]:
    from git_coord.app.setup import fingerprint_of
    from git_coord.domain.durations import show_age

    listed = f" ({len(policy.listed)} keys)" if policy.join == "listed" else ""
    return [
        f"join       {policy.join}{listed}",
        *_listed_lines(policy),
        *(f"{'policy key' if i == 0 else '':10} {fingerprint_of(key)}" for i, key in enumerate(policy.admins)),
        f"max lease  {show_age(policy.max_lease)}",
        f"takeover   {policy.takeover}",
        f"restored   held for {show_age(policy.restore_hold)}",
        f"names      {'compare as typed' if policy.fold == 'none' else 'compare without case, NFC'}",
        *(f"void       {oid}" for oid in policy.void),
    ]
