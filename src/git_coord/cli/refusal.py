"""A claim that others are in the way of, in words and as JSON: who, since when, until when, and what to type next."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from git_coord.app import App
from git_coord.domain.items import Intent, Item
from git_coord.domain.ledger import Conflict
from git_coord.domain.state import LiveClaim
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from . import render
from .output import Output

if TYPE_CHECKING:
    from git_coord.service.query import Picture

LONGEST_STEP = 2000
"""Characters of a command that is advised; who claims thousands of paths has the list at hand."""


class Told(NamedTuple):
    """How it is headed, and what it is."""

    headline: str
    kind: Kind


REFUSED = Told("refused, nothing claimed", Kind.CONFLICT)


def tell(app: App, output: Output, conflicts: tuple[Conflict, ...], items: tuple[Item, ...], told: Told) -> int:
    """Say who is in the way of a claim of these items; returns the exit status."""
    from git_coord.service.query import picture

    now = picture(app.coord)
    if app.coord.remote is not None and any(now.held(c.claim).is_stale for c in conflicts):
        now = _by_heartbeats(app)
    stale = [c.claim for c in conflicts if c.claim.token and now.held(c.claim).is_stale]
    steps = _steps(app, conflicts, items, stale[:1])
    if told.kind is Kind.STALE:
        steps.insert(0, f"git coord takeover {_typed(app, items)}")
    if output.is_json:
        objects = [render.conflict_object(conflict, now) for conflict in conflicts]
        first = objects[0] if objects else {}
        step = steps[0].partition("   (")[0]
        output.object({"code": told.kind.code, **first, "conflicts": objects, "next": step}, ok=False)
    else:
        titles = ["next", *[""] * len(steps)]
        lines = [f"{title:6} {step}" for title, step in zip(titles, steps, strict=False)]
        output.lines([told.headline, *render.conflict_lines(conflicts, now), *lines])
    return told.kind.exit_status


def _by_heartbeats(app: App) -> Picture:
    """Return the picture with the heartbeats of now: they tell whether a lease is over, and no claim fetches them."""
    from git_coord.service.query import picture
    from git_coord.service.remote_ledger import ROSTER_FAMILIES
    from git_coord.service.sync import freshen

    with suppress(CoordError):  # what is known here is said as well
        freshen(app.coord, is_local=False, families=ROSTER_FAMILIES)
    return picture(app.coord)


def _steps(app: App, conflicts: tuple[Conflict, ...], items: tuple[Item, ...], stale: list[LiveClaim]) -> list[str]:
    """Return the commands to go on with: wait, take over what is stale, ask the first holder, claim what is free."""
    taken = {conflict.asked for conflict in conflicts}
    free = _typed(app, [item for item in items if item not in taken])
    steps = [f"git coord claim {_typed(app, items)} --wait 10m"]
    landing = [conflict.claim.settling for conflict in conflicts if conflict.claim.settling is not None]
    if landing and len(landing) == len(conflicts) and app.remote_name:
        again = f"git fetch {render.quoted([app.remote_name])} && git coord claim {_typed(app, items)}"
        steps.insert(0, f"{again}   (done with, once {landing[0].until} has it)")
    steps += [f"git coord takeover '#{claim.token}' --dry-run" for claim in stale]
    for conflict in conflicts[:1]:
        need = render.quoted([f"need {render.shown(conflict.asked)[:400]}"])
        steps.append(f"git coord post --to {conflict.claim.holder} {need}")
    steps += [f"git coord claim {free}   (what is free)"] if free and taken else []
    return [step for step in steps if len(step) <= LONGEST_STEP] or ["git coord status"]


def _typed(app: App, items: tuple[Item, ...] | list[Item]) -> str:
    reads = ["--read"] if items and items[0].intent is Intent.READ else []
    return " ".join([*reads, *(render.typed(item, app.location.prefix) for item in items)])
