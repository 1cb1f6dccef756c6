"""Moving the ledger of the whole team to another place, and following one that was moved."""

from __future__ import annotations

import os

from git_coord.domain.statements import Cancel, Move
from git_coord.errors import CoordError, Kind
from git_coord.service.exchange.moved import goes_to, is_plain_url, moved_away
from git_coord.service.exchange.one_place import remember_place, same_repository
from git_coord.service.exchange.refusal import host_refusal
from git_coord.service.ledger import fetched_ledger, open_ledger
from git_coord.service.lineage import lineage
from git_coord.service.operations import operation, policy_signer, require_membership
from git_coord.service.place import submit
from git_coord.service.remote_ledger import LEDGER_FAMILIES, fetch_and_adopt
from git_coord.service.sync import sync
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, Place, PushStatus, RefUpdate, Remote

from .configured import remote_names, remote_place
from .root import App, open_app
from .settings import configure


def move_ledger(app: App, remote: str | None, prefix: str | None, reason: str) -> Place:
    """Carry the ledger to another remote or prefix: copied there first, then said in the old one, then gone on with.

    Cut off anywhere it can be typed again. Raises CoordError: USAGE for a prefix that is none, LOST without a policy
    key, UNKNOWN when either place gives no answer, or the new one takes nothing, or has another ledger.
    """
    there = _target(app, remote, prefix)
    coord = app.coord
    _look(app)
    signer = policy_signer(coord)
    assert coord.remote is not None
    other = coord.remote.at(there)
    _copy(app, other)
    if coord.known.state.moved is None or not goes_to(coord.known.state.moved, there):
        coord.remote.fetch(LEDGER_FAMILIES)  # what is known of the place where it still is
        same = same_repository(there.url, coord.remote.place.url)
        url = None if same else _public(there.url)
        submit(coord, lambda seq: operation(coord, Move, seq, prefix=there.prefix, reason=reason, url=url), signer)
    _copy(app, other)
    _go_on(app, there, places=True)
    return there


def follow(app: App) -> Place:
    """Configure this clone for the place to which its ledger was moved, and exchange with it.

    Only a remote that is configured here is ever asked. Raises CoordError(ERROR) when nothing moved, or no remote has
    that URL: then `next` is the line that adds it.
    """
    coord, here = app.coord, _here(app)
    _look(app)
    move = moved_away(coord)
    if move is None:
        raise CoordError(Kind.ERROR, f"the ledger is where this clone looks, at {here.shown()}")
    if not refnames.is_prefix(move.prefix) or (move.url is not None and not is_plain_url(move.url)):
        text = f"{move.agent} moved the ledger to {move.url or ''} {move.prefix}, which is no place to follow to"
        raise CoordError(Kind.UNTRUSTED, text, next="git coord log")
    there = _known_as(app, move)
    _go_on(app, there, places=False)
    return there


def _here(app: App) -> Place:
    if app.coord.remote is None:
        open_ledger(app.coord)
        _ = app.coord.known  # where no ledger was begun, that is what there is to say
        raise CoordError(Kind.ERROR, "this ledger is local, it has no place at a remote", next="git remote")
    return app.coord.remote.place


def _look(app: App) -> None:
    """Ask the place where the ledger is, or was: that it moved is what is to be known here."""
    if moved_away(app.coord) is None:
        try:
            fetch_and_adopt(app.coord, LEDGER_FAMILIES)
        except CoordError:
            if moved_away(app.coord) is None:
                raise


def _target(app: App, remote: str | None, prefix: str | None) -> Place:
    here = _here(app)
    if prefix is not None and not refnames.is_prefix(prefix):
        raise CoordError(Kind.USAGE, f"{prefix!r} is no prefix of refs, like {refnames.BRANCH_PREFIX}")
    name = remote or here.name
    there = remote_place(app.git, app.config, name)._replace(prefix=prefix or here.prefix)
    moved = app.coord.head.state.moved if app.coord.head is not None else None
    if (there.url, there.prefix) == (here.url, here.prefix) and (moved is None or not goes_to(moved, there)):
        raise CoordError(Kind.USAGE, f"the ledger is at {here.shown()} already", next="git coord move -h")
    return there


def _copy(app: App, other: Remote) -> None:
    """Bring the other place's ledger up to ours: nothing is there, or an older part of the same."""
    coord, known = app.coord, app.coord.known.oid
    other.fetch(LEDGER_FAMILIES)
    tip = fetched_ledger(coord)
    if tip == known or (tip is not None and known in lineage(coord.store, tip, None)):
        return
    if tip is not None and tip not in lineage(coord.store, known, None):
        text = f"{other.place.shown()} has another ledger"
        raise CoordError(Kind.UNKNOWN, text, next=f"git ls-remote {other.name}")
    updates = [RefUpdate(refnames.LEDGER, known, ABSENT if tip is None else tip)]
    epoch, kept = coord.known.state.epoch, coord.store.refs(refnames.BEFORE).get(refnames.BEFORE)
    if epoch is not None and kept == epoch.old:
        ref = refnames.epoch(epoch.number)
        old = coord.store.refs(refnames.fetched(ref)).get(refnames.fetched(ref))
        updates += [RefUpdate(ref, kept, ABSENT if old is None else old)] if old != kept else []
    for update in updates:
        result = other.push([update])[0]
        if result.status is PushStatus.REJECTED:
            raise host_refusal(coord, result)


def _go_on(app: App, there: Place, *, places: bool) -> None:
    """Configure the place, and exchange there; `places` an operation of no effect, by which others know it again."""
    here = app.coord.remote.place if app.coord.remote is not None else None
    if here is None or here.name != there.name or app.config.get("coord.remote"):
        configure(app, "--local", "--replace-all", "coord.remote", there.name)
    if here is None or here.prefix != there.prefix or app.config.get("coord.refPrefix"):
        configure(app, "--local", "--replace-all", "coord.refPrefix", there.prefix)
    again = open_app(app.location.top or app.location.git_dir, app.env, notice=app.coord.notice)
    coord = again.coord
    sync(coord) if coord.identity is not None else fetch_and_adopt(coord)
    if places:
        require_membership(coord)
        nothing = coord.nonce()
        submit(coord, lambda seq: operation(coord, Cancel, seq, op=nothing))
    remember_place(coord)
    again.refresh_snapshot()
    app.look_again()
    open_ledger(app.coord)  # what follows the command is told by the ledger as it is now


def _known_as(app: App, move: Move) -> Place:
    """Return the place under a remote of this clone; URLs are spelled as each clone likes."""
    assert app.coord.remote is not None
    here = app.coord.remote.place
    if move.url is None:
        return here._replace(prefix=move.prefix)
    names = sorted(remote_names(app.config), key=lambda name: name != here.name)
    for name in names:
        place = remote_place(app.git, app.config, name)
        if same_repository(place.url, move.url):
            return place._replace(prefix=move.prefix)
    from shlex import quote

    free = next(name for name in ("ledger", *(f"ledger{n}" for n in range(2, 99))) if name not in names)
    raise CoordError(
        Kind.ERROR,
        f"the ledger was moved to {move.url}, and no remote of this clone has that URL: add it, under any name, then "
        "git coord move --follow",
        next=f"git remote add {free} {quote(move.url)}",
    )


def _public(url: str) -> str:
    """Return a URL as others may see it: without a user and password, absolute where it is a path here."""
    scheme, found, rest = url.partition("://")
    if not found:
        return url if ":" in url.partition("/")[0] else os.path.abspath(url)
    host, slash, path = rest.partition("/")
    user = host.rpartition("@")[0]
    is_secret = ":" in user or (user and scheme.startswith("http"))
    return f"{scheme}://{host.rpartition('@')[2] if is_secret else host}{slash}{path}"
