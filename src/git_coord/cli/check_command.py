"""`git coord check`: who holds something, and may it be touched."""

from __future__ import annotations

from typing import Any

import click

from git_coord.app import App
from git_coord.domain.durations import show_age
from git_coord.domain.items import Item
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.service import query
from git_coord.service.claiming import hold_error
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import freshen, picture_age
from git_coord.service.tasks import block_object, way_out

from . import options, render, resources
from .output import Output

STATUS = {
    "free": 0,
    "mine": 0,
    "blocked": Kind.BLOCKED.exit_status,
    "held": Kind.CONFLICT.exit_status,
    "stale": Kind.STALE.exit_status,
    "unknown": Kind.UNKNOWN.exit_status,
}
"""Exit status of each answer; of several, the gravest: blocked before held before stale before unknown."""


@click.command("check", context_settings=options.HELP)
@click.argument("resource", nargs=-1)
@resources.glob
@resources.stdin
@resources.nul
@options.local
@options.common
def command(
    resource: tuple[str, ...],
    globs: tuple[str, ...],
    from_stdin: bool,
    is_nul: bool,
    is_local: bool,
    as_json: bool,
    agent: str | None,
) -> int:
    """Say for each path, task or branch: free, mine, held, stale or blocked.

    Exit 0 free or mine, 3 held, 7 stale (the lease is over, it still blocks), 8 blocked (git coord block), 5 unknown:
    the remote cannot be asked, or has lost the ledger and who was ahead may hold it.
    """
    app, output = options.means(as_json, agent)
    names = [*resource, *(resources.read_stdin(is_nul) if from_stdin else ())]
    asked = resources.asked(app, names, globs)
    items = asked.items
    if not items:
        raise CoordError(Kind.USAGE, "name at least one path or task")
    try:
        age = freshen(app.coord, is_local=is_local)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN:
            raise
        return _unknown(app, output, items, trouble)
    now = query.picture(app.coord)
    answers = query.check(app.coord, items, now)
    if not is_local and any(answer.status == "stale" for answer in answers):
        # Whether a lease is over is told by heartbeats, which are fetched only for who asks about that.
        age = freshen(app.coord, is_local=False, families=ROSTER_FAMILIES)
        now = query.picture(app.coord)
        answers = query.check(app.coord, items, now)
    asked = asked.unless({answer.asked for answer in answers if answer.held is not None})
    options.tell_nobody(app, output)
    worst, step = _worst(answers), _step(app, answers)
    held_back = hold_error(now.state, now.now) if any(found.status == "unknown" for found in answers) else None
    if held_back is not None and step is None:
        free = [render.typed(found.asked, app.location.prefix) for found in answers if found.status == "unknown"]
        step = f"git coord claim {' '.join(free)} --wait {held_back.data['wait']}"
    if output.is_json:
        rows = [answer_object(answer, answer.status) for answer in answers]
        found = {"resources": rows, "as_of": render.as_of_stamp(age), "code": _code(worst)}
        found["new"] = asked.new_objects
        told = {"message": held_back.message, **held_back.data} if held_back is not None else {}
        output.object(found | told | ({"next": step} if step else {}), ok=worst == 0)
    else:
        lines = [*answer_lines(answers, now, asked), render.as_of(age, app.remote_name)]
        lines += [held_back.message] if held_back is not None else []
        output.lines([*lines, *([f"next   {step}"] if step else [])])
    return worst


def _step(app: App, answers: list[query.Checked]) -> str | None:
    """Return what to do about the first task that is blocked."""
    me = app.coord.actor
    return next((way_out(found.blocks[0], found.asked.name, me) for found in answers if found.blocks), None)


def _worst(answers: list[query.Checked]) -> int:
    found = {answer.status for answer in answers}
    return next((STATUS[status] for status in ("blocked", "held", "stale", "unknown") if status in found), 0)


def _code(worst: int) -> str:
    return next(
        (kind.code for kind in (Kind.BLOCKED, Kind.CONFLICT, Kind.STALE, Kind.UNKNOWN) if kind.exit_status == worst),
        "ok",
    )


def answer_object(answer: query.Checked, status: str) -> dict[str, Any]:
    """Return what was found of one resource as `--json` shows it."""
    entry = _nobody(answer.asked, status)
    if answer.held is not None and answer.item is not None:
        shown = render.claim_object(answer.held)
        keep = ("token", "purpose", "claimed_at", "lease_until", "holder_stale", "confirmed")
        entry |= {name: shown[name] for name in keep}
        entry |= {"holder": answer.held.claim.holder, "intent": answer.item.intent.value}
        entry["held"] = render.item_object(answer.item)["path"]
    return entry | (block_object(answer.blocks[0]) if answer.blocks else {})


def _nobody(asked: Item, status: str = "unknown") -> dict[str, Any]:
    return {"path": render.item_object(asked)["path"], "status": status, "holder": None}


def answer_lines(
    answers: list[query.Checked], now: query.Picture, asked: resources.Asked = resources.NOTHING
) -> list[str]:
    """Return an aligned line for each resource."""
    width = max(len(render.shown(answer.asked)) for answer in answers)
    wide = max(5, *(len(answer.status) for answer in answers))
    rows = [
        f"{answer.status:{wide}} {render.shown(answer.asked):{width}}{_holder(answer, now)}{asked.remark(answer.asked)}"
        for answer in answers
    ]
    return [row.rstrip() for row in rows]


def _holder(answer: query.Checked, now: query.Picture) -> str:
    if answer.blocks:
        first = answer.blocks[0]
        return f'   by {first.agent} since {render.clock_time(first.at, now.now)}   "{first.reason}"'
    if answer.held is None or answer.item is None:
        return ""
    claim = answer.held.claim
    name = render.whose(claim, is_confirmed=answer.held.is_confirmed)
    what = "" if answer.item.name == answer.asked.name else f" {render.shown(answer.item)}"
    purpose = f'   "{claim.purpose}"' if claim.purpose else ""
    until = render.lease(answer.held, now.now)
    return f"   {name} {answer.item.intent.value}{what}{purpose}   {until}"


def _unknown(app: App, output: Output, items: tuple[Item, ...], trouble: CoordError) -> int:
    """Answer "unknown", with what the old picture said; failing to find out is never "free"."""
    age = picture_age(app.coord)
    step = f"git coord check {' '.join(render.typed(item, app.location.prefix) for item in items)} --local"
    old = query.check(app.coord, items) if app.coord.head is not None else []
    if output.is_json:
        rows = [answer_object(answer, "unknown") for answer in old] or [_nobody(item) for item in items]
        fields = {"code": "unknown", "message": trouble.message, "next": step, "resources": rows}
        output.object({**fields, "as_of": render.as_of_stamp(age)}, ok=False)
        return Kind.UNKNOWN.exit_status
    never = "this clone has no picture yet" if app.coord.head is None else "how old the picture here is cannot be told"
    picture = f"last picture {show_age(age)} old" if age is not None else never
    output.talk(f"unknown: {trouble.message}; {picture}")
    for answer in old:
        if answer.held is not None:
            claim, until = answer.held.claim, format_stamp(answer.held.lease_until)
            name = render.token(claim, is_confirmed=answer.held.is_confirmed)
            output.talk(f"  {render.shown(answer.asked)}   was held by {claim.holder} {name}, until {until}")
    output.talk(f"next   {step}        (answer from the old picture)")
    return Kind.UNKNOWN.exit_status
