"""`git coord renew`: lease, pins and stamps of own claims."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.domain.ids import Nonce, Oid
from git_coord.domain.items import ItemKind
from git_coord.domain.lease import CLASSES
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.service import claims, selection
from git_coord.service.leases import own_leases
from git_coord.service.ledger import open_ledger

from . import options, render, resources
from .claim_command import stamps_of
from .release_command import select, tell


@click.command("renew", context_settings=options.HELP)
@click.argument("resource", nargs=-1)
@resources.glob
@click.option("--all", "is_all", is_flag=True, help="Everything this agent holds.")
@click.option("--lease", type=click.Choice(list(CLASSES)), help="Another lease class.")
@click.option("--ttl", callback=options.duration, metavar="DUR", help="Another length: 90s, 30m, 2h.")
@click.option("--stamp", "stamps", multiple=True, metavar="NAME=VALUE", help="Replace the stamps.")
@options.offline
@options.common
def command(
    resource: tuple[str, ...],
    globs: tuple[str, ...],
    is_all: bool,
    lease: str | None,
    ttl: int | None,
    stamps: tuple[str, ...],
    offline: bool,
    as_json: bool,
    agent: str | None,
) -> int:
    """Renew claims: the lease starts again now, and files are pinned to their content of now.

    Without an answer from the remote it is pending, exit 5, and the next sync carries it out; --offline is content with
    that. Renewed again meanwhile, the later one stands.
    """
    app, output = options.means(as_json, agent, offline=offline)
    open_ledger(app.coord)
    chosen = select(app, list(resource), globs, is_all)
    name = None if lease is None and ttl is None else (lease or "standard", ttl or CLASSES[lease or "standard"])
    done = claims.renew(app.coord, chosen, name, pins_of(app, chosen), stamps_of(stamps))
    app.refresh_snapshot()
    if not done.is_confirmed and app.coord.settings.offline != "allow":
        raise _unconfirmed(app, chosen)
    return tell(app, output, "renewed", done)


def _unconfirmed(app: App, chosen: selection.Selection) -> CoordError:
    """Return what there is to say of a renewal that is pending: until when the claims are good without it.

    One that was made offline, and that nobody has confirmed, is good for nothing yet.
    """
    meant = {claim.op for claim, _ in chosen.claims}
    until = [own.until for own in own_leases(app.coord, app.coord.known.state) if own.claim.op in meant]
    data = {"confirmed": False, "lease_until": format_stamp(min(until)) if until else None}
    text = f"the renewal is not confirmed by {app.remote_name}"
    if until:
        text += f"; without it {_tokens(chosen)} good until {render.clock_time(min(until), app.coord.clock.now())}"
    return CoordError(Kind.UNKNOWN, text, next="git coord sync", data=data)


def _tokens(chosen: selection.Selection) -> str:
    first, *others = (f"#{claim.token}" for claim, _ in chosen.claims)
    return f"{first} and {len(others)} more are" if others else f"{first} is"


def pins_of(app: App, chosen: selection.Selection) -> dict[Nonce, tuple[Oid | None, ...]]:
    """Return what the files that claims name contain now."""
    paths = [item.name for claim, _ in chosen.claims for _, item in claim.live() if item.kind is ItemKind.PATH]
    pins = app.worktree.pins(paths)
    return {
        claim.op: tuple(pins.get(item.name) if item.kind is ItemKind.PATH else None for item in claim.items)
        for claim, _ in chosen.claims
    }
