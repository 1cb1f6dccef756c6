"""`git coord presence`: the roster, and one's own state."""

from __future__ import annotations

import click

from git_coord.domain.announcements import STATES
from git_coord.domain.durations import show_age
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.service.exchange.send import send
from git_coord.service.leases import remember
from git_coord.service.ledger import open_ledger, view
from git_coord.service.operations import require_membership
from git_coord.service.presence import ALIASES, LEAST_TTL, Seen, Wish, roster, set_presence
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import freshen

from . import options, render
from .shared import Group
from .status_command import agent_line, agent_object


@click.group("presence", cls=Group, invoke_without_command=True, context_settings=options.HELP)
@options.local
@options.common
@click.pass_context
def command(ctx: click.Context, is_local: bool, as_json: bool, agent: str | None) -> int:
    """Show who is here, and how to reach each: send, queue, or hold; `presence set STATE` says how one is oneself."""
    if ctx.invoked_subcommand is not None:
        return 0
    app, output = options.means(as_json, agent)
    age = freshen(app.coord, is_local=is_local, families=ROSTER_FAMILIES)
    now = app.coord.clock.now()
    shown = roster(app.coord)
    if output.is_json:
        output.object({"agents": [agent_object(seen, now) for seen in shown], "as_of": render.as_of_stamp(age)})
    else:
        rows = render.table([(agent_line(seen, now), _advice(seen, now)) for seen in shown]) if shown else []
        output.lines([*rows, render.as_of(age, app.remote_name)])
    return 0


def _advice(seen: Seen, now: int) -> str:
    word, timeout = seen.advice(now)
    waiting = f", {seen.record.queue} waiting" if seen.record is not None and seen.record.queue else ""
    until = "" if timeout is None else f" for {show_age(timeout)}"
    return f" {word}{until}{waiting}"


@command.command("set", context_settings=options.HELP)
@click.argument("state", metavar="STATE", type=click.Choice(sorted({*STATES, *ALIASES})))
@click.option("-m", "note", callback=options.clean_line, help="One line for others.")
@click.option("--task", callback=options.clean_line, help="What is being worked on.")
@click.option("--queue", type=click.IntRange(min=0), help="How much waits for this agent.")
@click.option("--ttl", callback=options.duration, metavar="DUR", help="How long this may be believed.")
@click.option("--will", callback=options.clean_line, help="What others are told should this agent fall silent.")
@options.common
def set_(
    state: str,
    note: str | None,
    task: str | None,
    queue: int | None,
    ttl: int | None,
    will: str | None,
    as_json: bool,
    agent: str | None,
) -> int:
    """Say how this agent is. It is pushed at once.

    STATE: online, busy, draining (finishes, takes nothing new), dormant, offline; or start, ready, standby, pause, end.
    coord.presence.share says how much of it others are told.
    """
    app, output = options.means(as_json, agent)
    open_ledger(app.coord)
    options.require_here(app)
    require_membership(app.coord)
    if ttl is not None and ttl < LEAST_TTL and app.coord.remote is not None:
        text = f"presence for {ttl} s needs a push every {max(1, ttl // 3)} s; at least {LEAST_TTL}s"
        raise CoordError(Kind.USAGE, text, next=f"git coord presence set {state} --ttl {LEAST_TTL}s")
    wish = Wish(ALIASES.get(state, state), note, task, queue, ttl, app.branch(), will)
    made = set_presence(app.coord, wish)
    remember(app.coord, view(app.coord)[0], shows=made.state != "offline")
    why = send(app.coord)
    if output.is_json:
        shown = {"agent": made.agent, "state": made.state, "since": format_stamp(made.since)}
        output.object({**shown, **render.sent_object(why)})
    else:
        output.lines([f"{made.agent} is {made.state}", *render.not_sent(why)])
    return 0
