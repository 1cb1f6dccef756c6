"""`git coord rejoin`: go on here as this agent, and hear what became of its claims."""

from __future__ import annotations

from typing import Any

import click

from git_coord.app import App
from git_coord.domain.timestamps import format_stamp
from git_coord.service.leases import Gone
from git_coord.service.rejoin import Found, Rejoined, Risk, rejoin

from . import options, render
from .renew_command import pins_of
from .status_command import post_line, post_object


@click.command("rejoin", context_settings=options.HELP)
@click.option("--force", "by_force", is_flag=True, help="Even while another session of the agent lives elsewhere.")
@options.offline
@options.common
def command(by_force: bool, offline: bool, as_json: bool, agent: str | None) -> int:
    """Go on here as this agent: its claims are held by this session from now on.

    Not while another session of the agent lives in another worktree or clone: that one would lose them (--force).
    They are renewed, with the content that files have here. What was wrong with them is told, what others ended, and
    which posts of the agent and for it are not over.
    """
    app, output = options.means(as_json, agent, offline=offline)
    done = rejoin(app.coord, lambda chosen: pins_of(app, chosen), unless_alive=not by_force)
    app.refresh_snapshot()
    if output.is_json:
        output.object(_object(app, done))
        return 0
    rows = [line for found in done.found for line in _lines(app, found)] or ["  holds nothing"]
    rows += [f"  {'lost':7}  {_lost(app, gone)}" for gone in done.lost]
    rows += [f"  {'post':7}  {post_line(posted, app.coord.clock.now())}" for posted in done.posts]
    output.lines([f"{app.coord.me.agent} is here now", *rows])
    return 0


def _lines(app: App, found: Found) -> list[str]:
    claim, now = found.held.claim, app.coord.clock.now()
    names = "  ".join(render.shown(item) for _, item in claim.live())
    head = f"  {_state(found):7}  #{claim.token}  {render.lease(found.held, now)}   {names}"
    return [head, *(f"  {'':7}  {_risk(risk, now)}" for risk in found.risks)]


def _state(found: Found) -> str:
    return "at risk" if found.risks else "intact"


def _risk(risk: Risk, now: int) -> str:
    return f"{risk.text} {render.clock_time(risk.at, now)}" if risk.at is not None else risk.text


def _lost(app: App, gone: Gone) -> str:
    names = "  ".join(render.shown(item) for item in gone.items)
    return f"#{gone.token}  {names}   {gone.ended.words(app.coord.clock.now())}"


def _object(app: App, done: Rejoined) -> dict[str, Any]:
    return {
        "agent": app.coord.me.agent,
        "session": app.coord.me.session,
        "confirmed": done.is_confirmed,
        "claims": [
            render.claim_object(found.held)
            | {
                "state": _state(found),
                "risks": [
                    {"kind": risk.kind, "text": risk.text, "at": None if risk.at is None else format_stamp(risk.at)}
                    for risk in found.risks
                ],
            }
            for found in done.found
        ],
        "lost": [
            {
                "token": gone.token,
                "items": [render.item_object(item) for item in gone.items],
                "how": gone.ended.kind,
                "by": gone.ended.by,
                "at": None if gone.ended.at is None else format_stamp(gone.ended.at),
                "reason": gone.ended.reason,
            }
            for gone in done.lost
        ],
        "posts": [post_object(posted) for posted in done.posts],
    }
