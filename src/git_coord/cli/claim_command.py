"""`git coord claim`: paths or tasks, all or none."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.domain.items import Intent, Item
from git_coord.domain.lease import CLASSES, lease_end
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Stamp
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.service import claims
from git_coord.service.landings import (
    StaleBase,
    refuse_stale,
    stale_bases,
    stale_error,
    stale_object,
    stale_text,
    way_to_fresh,
)
from git_coord.service.ledger import open_ledger, view
from git_coord.service.selection import Selection
from git_coord.service.standstill import check_still_held

from . import options, render, resources
from .output import Output
from .wait_option import WaitingCommand


@click.command("claim", cls=WaitingCommand, context_settings=options.HELP)
@click.argument("resource", nargs=-1)
@resources.glob
@click.option("--read", "is_read", is_flag=True, help="Only keep others from editing; readers share.")
@click.option("-m", "purpose", default="", callback=options.clean_line, help="What for, one line.")
@click.option("--lease", type=click.Choice(list(CLASSES)), help="quick 30 min, standard 2 h, long 4 h (needs -m).")
@click.option("--ttl", callback=options.duration, metavar="DUR", help="Another length: 90s, 30m, 2h.")
@click.option(
    "--wait",
    callback=options.duration,
    metavar="[DUR]",
    help="Queue for it, 10m (at most 1h), then exit 75.",
)
@click.option("--stamp", "stamps", multiple=True, metavar="NAME=VALUE", help="Kept with the claim (repeatable).")
@click.option("--require-fresh", is_flag=True, help="Refuse (exit 7) when HEAD lacks work that was landed on these.")
@resources.stdin
@resources.nul
@options.offline
@options.common
def command(
    resource: tuple[str, ...],
    globs: tuple[str, ...],
    is_read: bool,
    purpose: str,
    lease: str | None,
    ttl: int | None,
    wait: int | None,
    stamps: tuple[str, ...],
    require_fresh: bool,
    from_stdin: bool,
    is_nul: bool,
    offline: bool,
    as_json: bool,
    agent: str | None,
) -> int:
    """Claim paths or tasks: all of them are granted, or none.

    A path covers everything below it. Others' commits that touch what you hold are refused until you release it, or a
    maintainer breaks the claim.

    With --wait a claim that others are in the way of stands in the ledger's queue. Whatever removes the last obstacle
    grants it. Newcomers are kept off what it asks for, for ten minutes; the holders it waits for are not. A wait that
    is interrupted, or over, leaves nothing in the queue. One for holders who are gone ends, exit 7, once they may be
    taken over from.
    """
    app, output = options.means(as_json, agent, offline=offline)
    app.warm()
    open_ledger(app.coord)
    names = [*resource, *(resources.read_stdin(is_nul) if from_stdin else ())]
    asked = resources.items(app, names, globs, Intent.READ if is_read else Intent.EDIT)
    wanted = claims.Wanted(
        items=asked.items,
        purpose=purpose,
        lease=lease_of(lease, purpose),
        ttl=ttl or CLASSES[lease or "standard"],
        stamps=stamps_of(stamps),
        base=app.worktree.base(),
    )
    if require_fresh:
        refuse_stale(app.coord, app.branches, wanted.items)
    result = _claimed(app, output, wanted) if wait is None else _waited(app, output, wanted, wait)
    if isinstance(result, int):
        return result
    app.refresh_snapshot()
    if isinstance(result, claims.ClaimRefused):
        return refused(app, output, result, wanted.items)
    check_still_held(app.coord, result, app.look_again)
    stale = stale_bases(app.coord, app.branches, wanted.items)
    if stale and require_fresh:
        claims.release(app.coord, Selection(((result.claim, None),)), "stale base")
        app.refresh_snapshot()
        raise stale_error(stale, app.remote_name)
    return _granted(app, output, result, stale, asked)


def _claimed(app: App, output: Output, wanted: claims.Wanted) -> claims.ClaimGranted | claims.ClaimRefused:
    """Claim, past what is in the way only because nobody has seen yet that its branch has the work."""
    result = _claim(app, wanted)
    if isinstance(result, claims.ClaimRefused) and any(one.claim.settling for one in result.conflicts):
        from .settling import settle  # hardly ever needed

        if settle(app, output):
            return _claim(app, wanted)
    return result


def _claim(app: App, wanted: claims.Wanted) -> claims.ClaimGranted | claims.ClaimRefused:
    """Claim; while a restored ledger grants nothing, say how to wait in line for it."""
    try:
        return claims.claim(app.coord, wanted)
    except CoordError as trouble:
        if "wait" not in trouble.data:
            raise
        reads = ["--read"] if wanted.items[0].intent is Intent.READ else []
        given = [*reads, *(render.typed(item, app.location.prefix) for item in wanted.items)]
        step = f"git coord claim {' '.join(given)} --wait {trouble.data['wait']}"
        raise CoordError(trouble.kind, trouble.message, next=step, data=trouble.data) from None


def _waited(
    app: App, output: Output, wanted: claims.Wanted, seconds: int
) -> claims.ClaimGranted | claims.ClaimRefused | int:
    from git_coord.service.claiming import known_conflicts

    from .claim_waiting import claim  # only who waits pays for it

    if any(one.claim.settling for one in known_conflicts(app.coord, wanted.items)):
        from .settling import settle

        settle(app, output)
    return claim(app, output, wanted, seconds)


def lease_of(lease: str | None, purpose: str) -> str:
    """Return the lease class, `standard` for none; raises CoordError(USAGE) for a long one without a reason."""
    if lease == "long" and not purpose:
        raise CoordError(Kind.USAGE, "a long lease needs a reason: -m TEXT")
    return lease or "standard"


def stamps_of(texts: tuple[str, ...]) -> tuple[Stamp, ...] | None:
    """Return the stamps of `NAME=VALUE` arguments, None for none; raises CoordError(USAGE) for another form."""
    from git_coord.domain.text import is_clean_line

    stamps = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or len(name) > 64 or not is_clean_line(text):
            raise CoordError(Kind.USAGE, f"--stamp {text!r} is not NAME=VALUE on one line")
        stamps.append(Stamp(name, value))
    if len({stamp.name for stamp in stamps}) != len(stamps) or len(stamps) > 32:
        raise CoordError(Kind.USAGE, "a stamp may be given once, and 32 at most")
    return tuple(stamps) if stamps else None


def _granted(
    app: App, output: Output, result: claims.ClaimGranted, stale: list[StaleBase], asked: resources.Asked
) -> int:
    claim, until = result.claim, lease_end(result.claim, None)
    items = [item for _, item in claim.live()]
    kept = _kept(app, items)
    if output.is_json:
        output.object(
            {
                "token": claim.token if result.is_confirmed else None,
                "agent": claim.holder,
                "confirmed": result.is_confirmed,
                "items": [render.item_object(item) for item in items],
                "lease_until": format_stamp(until),
                "new": asked.new_objects,
                "stamps": [stamp._asdict() for stamp in claim.stamps],
                "warnings": [stale_object(one, app.remote_name) for one in stale],
            }
            | ({"kept": [_kept_object(item, own) for item, own in kept.items()]} if kept else {})
        )
        return 0
    output.lines(
        [_headline(app, result, until), *(_item_line(item, kept.get(item)) + asked.remark(item) for item in items)]
    )
    output.lines([line for one in stale for line in _stale_lines(one, app.remote_name)])
    if not result.is_confirmed:
        output.lines(["next   git coord sync"])
    return 0


class Kept(NamedTuple):
    """An own edit that stays beside what was claimed for reading."""

    claim: LiveClaim
    item: Item
    is_confirmed: bool


def _kept(app: App, items: list[Item]) -> dict[Item, Kept]:
    """Return the own edits that a claim for reading leaves as they are: only a release steps down."""
    reads = [item for item in items if item.intent is Intent.READ]
    if not reads:
        return {}
    state, unconfirmed = view(app.coord)
    found = {item: state.own_edit(app.coord.me.agent, item) for item in reads}
    return {item: Kept(*own, own[0].op not in unconfirmed) for item, own in found.items() if own is not None}


def _kept_object(item: Item, kept: Kept) -> dict[str, object]:
    token = kept.claim.token if kept.is_confirmed else None
    names = {"path": render.item_object(item)["path"], "held": render.item_object(kept.item)["path"]}
    return {**names, "intent": kept.item.intent.value, "token": token}


def _item_line(item: Item, kept: Kept | None) -> str:
    line = f"  {item.intent.value:4}   {render.shown(item)}"
    if kept is None:
        return line
    what = "" if kept.item.name == item.name else f" of {render.shown(kept.item)}"
    return f"{line}   kept your edit claim {render.token(kept.claim, is_confirmed=kept.is_confirmed)}{what}"


def _stale_lines(one: StaleBase, remote: str | None) -> list[str]:
    return [f"warning   {stale_text(one)}", f"          {way_to_fresh(one, remote)}"]


def _headline(app: App, result: claims.ClaimGranted, until: int) -> str:
    shown = render.clock_time(until, app.coord.clock.now())
    if result.is_confirmed:
        return f"#{result.claim.token}  yours until {shown}, longer while you are alive"
    return f"held here only, not confirmed by {app.remote_name}; until {shown}"


def refused(app: App, output: Output, result: claims.ClaimRefused, items: tuple[Item, ...]) -> int:
    """Say who is in the way of a claim of these items; returns the exit status."""
    from . import refusal

    return refusal.tell(app, output, result.conflicts, items, refusal.REFUSED)
